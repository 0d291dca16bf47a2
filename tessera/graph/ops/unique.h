#pragma once

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera {

// What is different in x: its elements, or without flattening its slices along an axis. Outputs: each once, the
// position of its first occurrence, for every element the position among the first output, and how often each occurs
// (all int64). In rising order, or in the order of first occurrence. Every NaN is different from every other.
struct Unique {
  static constexpr std::string_view kName = "Unique";

  std::optional<std::int64_t> axis;  // without: x is flattened
  bool sorted = true;

  bool operator==(const Unique&) const = default;
};

TSR_API std::vector<TensorType> infer(const Unique& op, const Knowns& inputs);
TSR_API Work work(const Unique& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Unique& op, const Arrays& inputs);

}  // namespace tessera
