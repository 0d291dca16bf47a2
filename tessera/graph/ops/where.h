#pragma once

// Inputs condition (bool), x, y with broadcasting.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Where {
  static constexpr std::string_view kName = "Where";

  bool operator==(const Where&) const = default;
};

TSR_API std::vector<TensorType> infer(const Where& op, const Knowns& inputs);
TSR_API Work work(const Where& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Where& op, const Arrays& inputs);

}  // namespace tessera
