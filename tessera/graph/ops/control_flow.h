#pragma once

// Graphs inside operators. What a body uses of the outer graph is an input of the operator like any other: `captures`
// of them come after the operator's own inputs, and are the last inputs of the body.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tessera {

struct Graph;

// Inputs: condition, then captures, which both branches take as their inputs.
struct If {
  static constexpr std::string_view kName = "If";

  std::shared_ptr<const Graph> then_branch, else_branch;
  int captures = 0;

  bool operator==(const If&) const = default;
};
TSR_API std::vector<TensorType> infer(const If& op, const Knowns& inputs);
TSR_API Work work(const If& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const If& op, const Arrays& inputs);

// Inputs: trip count (optional), condition (optional), the carried values, captures. The body takes iteration,
// condition, the carried values and captures, and gives condition, the carried values, and one slice for each scan
// output.
struct Loop {
  static constexpr std::string_view kName = "Loop";

  std::shared_ptr<const Graph> body;
  int carried = 0;
  int captures = 0;

  bool operator==(const Loop&) const = default;
};
TSR_API std::vector<TensorType> infer(const Loop& op, const Knowns& inputs);
TSR_API Work work(const Loop& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Loop& op, const Arrays& inputs);

// What a loop may do to us before it is an Error, with the loops inside it: a model can ask for anything.
struct LoopLimits {
  std::int64_t iterations = 10'000'000;
  std::int64_t bytes = std::int64_t{1} << 33;  // carried and collected
};
TSR_API LoopLimits& loop_limits();  // of this thread

}  // namespace tessera
