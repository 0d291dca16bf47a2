#pragma once

// Inputs x, starts, ends, and optional axes and steps; negative positions count from the end and are clamped.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Slice {
  static constexpr std::string_view kName = "Slice";

  bool operator==(const Slice&) const = default;
};

TSR_API std::vector<TensorType> infer(const Slice& op, const Knowns& inputs);
TSR_API Work work(const Slice& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Slice& op, const Arrays& inputs);

}  // namespace tessera
