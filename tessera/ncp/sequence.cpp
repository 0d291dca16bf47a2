#include "tessera/ncp/sequence.h"

#include "tessera/core/error.h"
#include "tessera/ncp/internal/network.h"
#include "tessera/ncp/internal/places.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera::ncp {
namespace {

template <class Real>
Elapsed<Real> elapsed(const Sequence<Real>& sequence, std::size_t place, std::size_t units) {
  const std::span<const Real> all = sequence.timespans;
  if (all.empty()) return {};
  if (all.size() == 1) return {all[0], {}};
  if (all.size() == static_cast<std::size_t>(sequence.batch * sequence.steps)) return {all[place], {}};
  return {1, all.subspan(place * units, units)};
}

DropoutKey key_of(const std::optional<std::uint64_t>& seed, std::size_t sample, std::size_t step) {
  return {.active = seed.has_value(),
          .seed = seed.value_or(0),
          .sample = static_cast<std::int64_t>(sample),
          .step = static_cast<std::int64_t>(step)};
}

// What the units of a step ask of its time, into the gradient of timespans of whichever form.
template <class Real>
void add_elapsed(const std::vector<Real>& units, std::size_t place, std::size_t places, std::vector<Real>& to) {
  if (to.empty()) return;
  if (to.size() > 1 && to.size() != places) return put(to, place, units);
  Real& sum = to[to.size() == 1 ? 0 : place];
  for (const Real d : units) sum += d;
}

void check_size(std::string_view what, std::size_t found, std::int64_t wanted, std::string_view why) {
  check(static_cast<std::int64_t>(found) == wanted, Code::invalid_argument, "{} has {} values, {} make {}", what, found,
        why, wanted);
}

}  // namespace

template <class Real>
void check_sequence(const Layer& layer, const Sequence<Real>& sequence) {
  const LayerSizes size = sizes(layer);
  const auto& [batch, steps, input, timespans, state, memory, seed, differentiate_timespans] = sequence;
  check(batch >= 0 && steps >= 1, Code::invalid_argument, "a sequence of {} samples and {} steps: at least one step",
        batch, steps);
  check_size("the input", input.size(), batch * steps * size.inputs,
             fmt::format("{} samples x {} steps x {} inputs", batch, steps, size.inputs));
  const bool each_unit = static_cast<std::int64_t>(timespans.size()) == batch * steps * size.state;
  if (timespans.size() > 1 && !each_unit)
    check_size("timespans", timespans.size(), batch * steps,
               fmt::format("{} samples x {} steps (or x {} units as well)", batch, steps, size.state));
  for (std::size_t i = 0; i < timespans.size(); ++i)
    check(std::isfinite(timespans[i]), Code::invalid_argument,
          Hint{"elapsed times have to be finite; 0 leaves an LTC as it is"}, "timespan {} is {}", i, timespans[i]);
  const std::string why = fmt::format("{} samples x {} units", batch, size.state);
  if (!state.empty()) check_size("the initial state", state.size(), batch * size.state, why);
  if (!memory.empty()) check_size("the initial memory", memory.size(), batch * size.state, why);
  check(size.mixed_memory || memory.empty(), Code::invalid_argument,
        "an initial memory was given to a layer without mixed memory");
  check(!size.mixed_memory || state.empty() == memory.empty(), Code::invalid_argument,
        "a layer with mixed memory starts from a state and a memory, or from neither");
}

template <class Real>
SequenceResult<Real> run_reference(const Layer& layer, const ParameterSet<Real>& parameters,
                                   const Sequence<Real>& sequence, KeepStates keep) {
  check_sequence(layer, sequence);
  check_parameters(layer, parameters);
  const LayerSizes size = sizes(layer);
  const Network<Real> network(layer, parameters);
  const Places places(size.batch_first, sequence.batch, sequence.steps);
  const auto batch = static_cast<std::size_t>(sequence.batch), steps = static_cast<std::size_t>(sequence.steps);
  const auto states = static_cast<std::size_t>(size.state);
  SequenceResult<Real> result;
  result.output.resize(batch * (size.return_sequences ? steps : 1) * static_cast<std::size_t>(size.outputs));
  result.state.resize(batch * states);
  if (size.mixed_memory) result.memory.resize(batch * states);
  if (keep == KeepStates::yes) result.states.resize(batch * steps * states);
  for (std::size_t b = 0; b < batch; ++b) {
    StepState<Real> now{row(sequence.state, b, states), {}};
    if (size.mixed_memory) now.memory = row(sequence.memory, b, states);
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t place = places.row(b, t);
      const std::vector<Real> x = row(sequence.input, place, static_cast<std::size_t>(size.inputs));
      network.step(x, now, elapsed(sequence, place, states), key_of(sequence.dropout_seed, b, t));
      if (keep == KeepStates::yes) put(result.states, place, now.state);
      if (size.return_sequences)
        put(result.output, place, network.output(now.state));
      else if (t + 1 == steps)
        put(result.output, b, network.output(now.state));
    }
    put(result.state, b, now.state);
    if (size.mixed_memory) put(result.memory, b, now.memory);
  }
  return result;
}

template <class Real>
SequenceGradients<Real> differentiate_reference(const Layer& layer, const ParameterSet<Real>& parameters,
                                                const Sequence<Real>& sequence, std::span<const Real> d_output,
                                                std::span<const Real> d_state, std::span<const Real> d_memory) {
  check_sequence(layer, sequence);
  check_parameters(layer, parameters);
  const LayerSizes size = sizes(layer);
  const auto batch = static_cast<std::size_t>(sequence.batch), steps = static_cast<std::size_t>(sequence.steps);
  const auto states = static_cast<std::size_t>(size.state), inputs = static_cast<std::size_t>(size.inputs),
             outputs = static_cast<std::size_t>(size.outputs);
  check_size("the gradient of the output", d_output.size(),
             static_cast<std::int64_t>(batch * (size.return_sequences ? steps : 1) * outputs), "the outputs");
  if (!d_state.empty())
    check_size("the gradient of the state", d_state.size(), sequence.batch * size.state, "the states");
  if (!d_memory.empty())
    check_size("the gradient of the memory", d_memory.size(), sequence.batch * size.state * (size.mixed_memory ? 1 : 0),
               "the memories");
  const Network<Real> network(layer, parameters);
  const Places places(size.batch_first, sequence.batch, sequence.steps);
  SequenceGradients<Real> out;
  out.parameters = zeros<Real>(parameter_list(layer));
  out.input.resize(sequence.input.size());
  out.state.resize(batch * states);
  if (size.mixed_memory) out.memory.resize(batch * states);
  if (sequence.differentiate_timespans) out.timespans.resize(sequence.timespans.size());
  for (std::size_t b = 0; b < batch; ++b) {
    std::vector<StepState<Real>> before(steps + 1);
    before[0].state = row(sequence.state, b, states);
    if (size.mixed_memory) before[0].memory = row(sequence.memory, b, states);
    const auto x_of = [&](std::size_t t) { return row(sequence.input, places.row(b, t), inputs); };
    for (std::size_t t = 0; t < steps; ++t) {
      before[t + 1] = before[t];
      network.step(x_of(t), before[t + 1], elapsed(sequence, places.row(b, t), states),
                   key_of(sequence.dropout_seed, b, t));
    }
    StepState<Real> d{row(d_state, b, states), {}};
    if (size.mixed_memory) d.memory = row(d_memory, b, states);
    for (std::size_t t = steps; t-- > 0;) {
      const std::size_t place = places.row(b, t);
      if (size.return_sequences || t + 1 == steps)
        network.output_backward(before[t + 1].state, row(d_output, size.return_sequences ? place : b, outputs), d.state,
                                out.parameters);
      std::vector<Real> dx(inputs), d_elapsed(states);
      network.step_backward(x_of(t), before[t], elapsed(sequence, place, states), key_of(sequence.dropout_seed, b, t),
                            d, dx, d_elapsed, out.parameters);
      put(out.input, place, dx);
      add_elapsed(d_elapsed, place, batch * steps, out.timespans);
    }
    put(out.state, b, d.state);
    if (size.mixed_memory) put(out.memory, b, d.memory);
  }
  // A frozen parameter has no gradient.
  for (Parameter<Real>& item : out.parameters.items)
    if (!item.info.trainable) std::fill(item.values.begin(), item.values.end(), Real{0});
  return out;
}

template <class Real>
std::vector<Real> timespans_of_steps(const Sequence<Real>& sequence, int units) {
  const auto width = static_cast<std::size_t>(units), rows = static_cast<std::size_t>(sequence.batch * sequence.steps);
  const std::span<const Real> all = sequence.timespans;
  if (all.size() <= 1 || all.size() == rows) return {all.begin(), all.end()};
  std::vector<Real> out(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = all.subspan(r * width, width);
    if (std::ranges::adjacent_find(row, std::ranges::not_equal_to{}) != row.end()) return {};
    out[r] = row[0];
  }
  return out;
}

#define TSR_INSTANTIATE(Real)                                                                                         \
  template TSR_API void check_sequence(const Layer&, const Sequence<Real>&);                                          \
  template TSR_API SequenceResult<Real> run_reference(const Layer&, const ParameterSet<Real>&, const Sequence<Real>&, \
                                                      KeepStates);                                                    \
  template TSR_API SequenceGradients<Real> differentiate_reference(const Layer&, const ParameterSet<Real>&,           \
                                                                   const Sequence<Real>&, std::span<const Real>,      \
                                                                   std::span<const Real>, std::span<const Real>);     \
  template TSR_API std::vector<Real> timespans_of_steps(const Sequence<Real>&, int);
TSR_INSTANTIATE(float)
TSR_INSTANTIATE(double)
#undef TSR_INSTANTIATE

}  // namespace tessera::ncp
