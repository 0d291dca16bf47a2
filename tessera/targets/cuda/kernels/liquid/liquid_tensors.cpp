#include "tessera/targets/cuda/kernels/liquid/liquid_tensors.h"

#include "tessera/core/error.h"

namespace tessera::cuda {

LiquidSequence sequence_of(const LiquidTensors& tensors, const LiquidExtents& e) {
  const bool empty = e.batch == 0;
  check(empty || tensors.x != nullptr, Code::invalid_argument, "a liquid layer was given no input");
  check(empty || tensors.states != nullptr || tensors.last != nullptr || tensors.output != nullptr,
        Code::invalid_argument, "a liquid layer was given no place for a result");
  check((tensors.output != nullptr) == (e.outputs > 0) || empty, Code::invalid_argument,
        "a place for the projection was {}, the layer {} one", tensors.output != nullptr ? "given" : "left out",
        e.outputs > 0 ? "has" : "has not");
  LiquidSequence s{};
  s.batch = e.batch, s.steps = e.steps;
  s.x = tensors.x, s.times = tensors.times, s.first = tensors.first;
  s.states = tensors.states, s.last = tensors.last, s.output = tensors.output;
  const auto strides = [&](std::int64_t width, std::int64_t& sample, std::int64_t& step) {
    sample = e.batch_first ? width * e.steps : width;
    step = e.batch_first ? width : width * e.batch;
  };
  strides(e.inputs, s.x_sample, s.x_step);
  strides(e.units, s.state_sample, s.state_step);
  if (tensors.times != nullptr && !tensors.one_time) {
    strides(e.unit_times ? e.units : 1, s.time_sample, s.time_step);
    s.time_unit = e.unit_times ? 1 : 0;
  }
  if (e.last_output_only)
    s.output_sample = e.outputs;
  else
    strides(e.outputs, s.output_sample, s.output_step);
  return s;
}

}  // namespace tessera::cuda
