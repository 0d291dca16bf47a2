#pragma once

// y = scale * (x - mean) / sqrt(variance + epsilon) + bias per channel; inputs x scale bias mean variance. In training
// mode the statistics are those of the batch, and the running mean and variance come out too.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct BatchNorm {
  static constexpr std::string_view kName = "BatchNorm";

  float epsilon = 1e-5f;
  float momentum = 0.9f;
  bool training = false;

  bool operator==(const BatchNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const BatchNorm& op, const Knowns& inputs);
TSR_API Work work(const BatchNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const BatchNorm& op, const Arrays& inputs);

}  // namespace tessera
