#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::tensix {

// A convolution of a network.
struct TSR_API ConvLayer {
  Conv2dProblem problem;  // shape, groups and window; what runs it is left open
  Constant weights, bias;
  std::optional<std::string> activation;
  // The transpose of such a convolution; weights are in_channels x out_channels / groups x kernel.
  bool transposed = false;
  std::int64_t output_pad_h = 0, output_pad_w = 0;

  std::int64_t out_h() const;
  std::int64_t out_w() const;

  const CardOp* op() const;
};

}  // namespace tessera::tensix
