#pragma once

// Sizes are an attribute or the second input; neither: equal parts, the last smaller.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Split {
  static constexpr std::string_view kName = "Split";

  std::int64_t axis = 0;
  std::vector<std::int64_t> sizes;
  int outputs = 1;

  bool operator==(const Split&) const = default;
};

TSR_API std::vector<TensorType> infer(const Split& op, const Knowns& inputs);
TSR_API Work work(const Split& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Split& op, const Arrays& inputs);

}  // namespace tessera
