#pragma once

// The transpose of a convolution: weights C M/groups k1 ..., optional bias.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"
#include "tessera/graph/ops/window.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ConvTranspose {
  static constexpr std::string_view kName = "ConvTranspose";

  Window window = {};
  std::int64_t groups = 1;
  std::vector<std::int64_t> output_padding = {};  // empty: all 0
  std::vector<std::int64_t> output_shape = {};    // spatial; empty: follows from the rest

  bool operator==(const ConvTranspose&) const = default;
};

TSR_API std::vector<TensorType> infer(const ConvTranspose& op, const Knowns& inputs);
TSR_API Work work(const ConvTranspose& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ConvTranspose& op, const Arrays& inputs);

}  // namespace tessera
