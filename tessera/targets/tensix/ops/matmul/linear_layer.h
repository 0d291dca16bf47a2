#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

// A dense layer of a network.
struct LinearLayer {
  Constant weights, bias;   // weights are inputs x outputs
  bool transposed = false;  // outputs x inputs
  // The input was an image of so many pixels and channels: on the card its columns go pixel by pixel, in the weights
  // channel by channel.
  std::int64_t pixels = 1;

  const CardOp* op() const;
};

// Its weights as [k, n], the pixels of a flattened image before its channels.
TSR_API std::vector<float> linear_matrix(const LinearLayer& layer, std::int64_t n);

}  // namespace tessera::tensix
