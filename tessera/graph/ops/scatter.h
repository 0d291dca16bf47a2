#pragma once

// A copy of the first input with updates written at indices; on a clash the later update counts, or they are combined.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ScatterND {
  static constexpr std::string_view kName = "ScatterND";

  enum class Reduction : std::uint8_t { none, add, mul, max, min };
  Reduction reduction = Reduction::none;

  bool operator==(const ScatterND&) const = default;
};

TSR_API std::vector<TensorType> infer(const ScatterND& op, const Knowns& inputs);
TSR_API Work work(const ScatterND& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ScatterND& op, const Arrays& inputs);

struct ScatterElements {
  static constexpr std::string_view kName = "ScatterElements";

  std::int64_t axis = 0;
  ScatterND::Reduction reduction = ScatterND::Reduction::none;

  bool operator==(const ScatterElements&) const = default;
};

TSR_API std::vector<TensorType> infer(const ScatterElements& op, const Knowns& inputs);
TSR_API Work work(const ScatterElements& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const ScatterElements& op, const Arrays& inputs);

}  // namespace tessera
