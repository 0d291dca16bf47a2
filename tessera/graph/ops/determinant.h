#pragma once

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <string_view>
#include <vector>

namespace tessera {

// Of the square matrices in the last two dimensions.
struct Determinant {
  static constexpr std::string_view kName = "Determinant";

  bool operator==(const Determinant&) const = default;
};

TSR_API std::vector<TensorType> infer(const Determinant& op, const Knowns& inputs);
TSR_API Work work(const Determinant& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Determinant& op, const Arrays& inputs);

}  // namespace tessera
