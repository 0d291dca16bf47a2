#pragma once

// Inference: the input as it is, and a mask of true if a second output is asked for.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Dropout {
  static constexpr std::string_view kName = "Dropout";

  int outputs = 1;

  bool operator==(const Dropout&) const = default;
};

TSR_API std::vector<TensorType> infer(const Dropout& op, const Knowns& inputs);
TSR_API Work work(const Dropout& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Dropout& op, const Arrays& inputs);

}  // namespace tessera
