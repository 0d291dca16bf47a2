#pragma once

// Inputs x, and optional scalars low and high.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Clip {
  static constexpr std::string_view kName = "Clip";

  bool operator==(const Clip&) const = default;
};

TSR_API std::vector<TensorType> infer(const Clip& op, const Knowns& inputs);
TSR_API Work work(const Clip& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Clip& op, const Arrays& inputs);

}  // namespace tessera
