#include "tessera/graph/ops/internal/liquid.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/agreed.h"
#include "tessera/graph/ops/internal/rounded.h"

#include <algorithm>

namespace tessera {
namespace {

using Dims = std::vector<std::int64_t>;

Dims sequence_dims(bool batch_first, std::int64_t batch, std::int64_t steps, std::int64_t width) {
  return batch_first ? Dims{batch, steps, width} : Dims{steps, batch, width};
}

// One time for all (any rank), one for each step, or one for each step and unit.
void check_times(const Knowns& inputs, bool batch_first, Agreed& batch, Agreed& steps, std::int64_t units) {
  const TensorType& times = inputs[kLiquidTimes];
  if (!times.dims) return;
  if (times.rank() < 3) {
    check(std::ranges::all_of(*times.dims, [](std::int64_t e) { return e == 1 || e == TensorType::kUnknown; }),
          Code::invalid_argument, "{}: times are {}: one for all, or a sequence of them", inputs.op(),
          times.to_string());
    return;
  }
  inputs.expect_rank(kLiquidTimes, 3, 3);
  batch.see(inputs, kLiquidTimes, batch_first ? 0 : 1);
  steps.see(inputs, kLiquidTimes, batch_first ? 1 : 0);
  const std::int64_t width = times.dims->back();
  check(width == 1 || width == units || width == TensorType::kUnknown || units == TensorType::kUnknown,
        Code::invalid_argument, "{}: times are {}: a step has 1, or one for each of {} units", inputs.op(),
        times.to_string(), units);
}

}  // namespace

LiquidSizes liquid_sizes(const Knowns& inputs, bool batch_first, std::int64_t units) {
  visit_floating_type(inputs[kLiquidX].type, inputs.op(), [](auto) {});
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs.has(i)) inputs.expect_same_type(kLiquidX, i);
  inputs.expect_rank(kLiquidX, 3, 3);
  Agreed batch("the batch"), steps("steps"), width("the input size"), state("units", units);
  batch.see(inputs, kLiquidX, batch_first ? 0 : 1);
  steps.see(inputs, kLiquidX, batch_first ? 1 : 0);
  width.see(inputs, kLiquidX, 2);
  if (inputs.has(kLiquidTimes)) check_times(inputs, batch_first, batch, steps, units);
  if (inputs.has(kLiquidState)) {
    inputs.expect_rank(kLiquidState, 2, 2);
    batch.see(inputs, kLiquidState, 0);
    state.see(inputs, kLiquidState, 1);
  }
  return {batch.value(), steps.value(), width.value(), state.value()};
}

std::vector<TensorType> liquid_outputs(const Knowns& inputs, bool batch_first, const LiquidSizes& s) {
  const ElementType type = inputs[kLiquidX].type;
  const TensorType states(type, sequence_dims(batch_first, s.batch, s.steps, s.units));
  if (states.is_static()) states.shape();  // refuses more elements than can be counted
  return {states, TensorType(type, Dims{s.batch, s.units})};
}

std::vector<Array> run_liquid(const Arrays& inputs, bool batch_first, std::int64_t units, const LiquidStep& step) {
  const Shape& shape = inputs[kLiquidX].shape();
  const std::int64_t batch = shape[batch_first ? 0 : 1], steps = shape[batch_first ? 1 : 0], width = shape[2];
  const auto doubles = [&](std::size_t i) { return inputs.has(i) ? inputs[i].to_double() : std::vector<double>{}; };
  const std::vector<double> x = doubles(kLiquidX), first = doubles(kLiquidState);
  std::vector<double> times = doubles(kLiquidTimes);
  if (times.empty()) times = {1};
  const bool one_time = times.size() == 1;
  const std::int64_t time_width = one_time ? 1 : inputs[kLiquidTimes].shape()[2];

  std::vector<double> states(static_cast<std::size_t>(batch * steps * units)), last;
  std::vector<double> elapsed(static_cast<std::size_t>(units));
  for (std::int64_t n = 0; n < batch; ++n) {
    std::vector<double> state(static_cast<std::size_t>(units));
    if (!first.empty()) std::copy_n(first.begin() + n * units, units, state.begin());
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t row = batch_first ? n * steps + t : t * batch + n;
      for (std::int64_t u = 0; u < units; ++u)
        elapsed[static_cast<std::size_t>(u)] =
            times[one_time ? 0 : static_cast<std::size_t>(row * time_width + (time_width == 1 ? 0 : u))];
      step(std::span(x).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width)), elapsed,
           state);
      std::copy(state.begin(), state.end(), states.begin() + row * units);
    }
    last.insert(last.end(), state.begin(), state.end());
  }
  const ElementType type = inputs[kLiquidX].type();
  std::vector<Array> outputs;
  outputs.push_back(
      rounded(type, states, batch_first ? Shape{batch, steps, units} : Shape{steps, batch, units}, inputs.op()));
  outputs.push_back(rounded(type, last, Shape{batch, units}, inputs.op()));
  return outputs;
}

}  // namespace tessera
