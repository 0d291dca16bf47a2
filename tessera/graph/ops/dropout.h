#pragma once

// Inference: the input as it is, and a mask of true if a second output is asked for.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Inputs x, optional share to drop (0.5 without), optional training mode (bool). In training, elements whose draw from
// [0, 1) is below the share become 0 and the others are divided by what is left. The draws are those of the ONNX
// reference: a Mersenne twister with this seed, two words to a double. Second output: what was kept.
struct Dropout {
  static constexpr std::string_view kName = "Dropout";

  int outputs = 1;
  std::int64_t seed = 0;

  bool operator==(const Dropout&) const = default;
};

TSR_API std::vector<TensorType> infer(const Dropout& op, const Knowns& inputs);
TSR_API Work work(const Dropout& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Dropout& op, const Arrays& inputs);

}  // namespace tessera
