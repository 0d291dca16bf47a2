#include "tessera/ncp/internal/packed_ltc.h"

#include "tessera/ncp/internal/cells.h"

#include <algorithm>
#include <numbers>
#include <numeric>

namespace tessera::ncp {
namespace {

struct Ordered {
  std::vector<std::int32_t> neuron;  // in each place; -1: padding
  int lanes = 1;
};

PackedSynapses pack(const Synapses<float>& synapses, const ParameterSet<float>& p, const Ordered& order,
                    const std::vector<std::int32_t>* source_place) {
  PackedSynapses out;
  out.first_slot.push_back(0);
  const std::size_t lanes = static_cast<std::size_t>(order.lanes);
  for (std::size_t group = 0; group * lanes < order.neuron.size(); ++group) {
    std::vector<std::vector<std::size_t>> from(lanes);
    std::size_t slots = 0;
    for (std::size_t l = 0; l < lanes; ++l) {
      const std::int32_t neuron = order.neuron[group * lanes + l];
      for (std::size_t i = 0; neuron >= 0 && i < synapses.sources; ++i)
        if (p.at(synapses.mask)[i * synapses.destinations + static_cast<std::size_t>(neuron)] != 0)
          from[l].push_back(i);
      out.fan_in.push_back(static_cast<std::int32_t>(from[l].size()));
      slots = std::max(slots, from[l].size());
    }
    for (std::size_t s = 0; s < slots; ++s) {
      for (std::size_t l = 0; l < lanes; ++l) {
        if (s >= from[l].size()) {
          // From itself, so that a NaN elsewhere does not get in by 0 times NaN. Inputs have no such place: a shared
          // source would do as well as any, and the first is as good.
          out.source.push_back(source_place != nullptr ? static_cast<std::int32_t>(group * lanes + l) : 0);
          for (auto* list : {&out.slope, &out.shift, &out.weight, &out.current}) list->push_back(0);
          continue;
        }
        const std::size_t i = from[l][s];
        const std::size_t at = i * synapses.destinations + static_cast<std::size_t>(order.neuron[group * lanes + l]);
        const double sigma = p.at(synapses.sigma)[at], raw = p.at(synapses.w)[at];
        const double weight = (synapses.softplus ? softplus(raw) : raw) * p.at(synapses.mask)[at];
        out.source.push_back(source_place != nullptr ? (*source_place)[i] : static_cast<std::int32_t>(i));
        out.slope.push_back(static_cast<float>(-sigma * std::numbers::log2e));
        out.shift.push_back(static_cast<float>(sigma * p.at(synapses.mu)[at] * std::numbers::log2e));
        out.weight.push_back(static_cast<float>(weight));
        out.current.push_back(static_cast<float>(weight * p.at(synapses.erev)[at]));
      }
      const std::int32_t* sources = out.source.data() + out.source.size() - lanes;
      const bool same = std::all_of(sources, sources + lanes, [&](std::int32_t s2) { return s2 == sources[0]; });
      out.shared.push_back(same ? sources[0] : -1);
    }
    out.first_slot.push_back(out.first_slot.back() + static_cast<std::int32_t>(slots));
  }
  return out;
}
}  // namespace

SynapseTable PackedSynapses::table() const {
  return {.first_slot = first_slot.data(),
          .shared = shared.data(),
          .source = source.data(),
          .slope = slope.data(),
          .shift = shift.data(),
          .weight = weight.data(),
          .current = current.data(),
          .fan_in = fan_in.data()};
}

bool PackedLtc::takes(const LtcLayer& layer) { return layer.solver == OdeSolver::semi_implicit && !layer.mixed_memory; }

PackedLtc::PackedLtc(const LtcLayer& layer, const ParameterSet<float>& p, const LtcKernel& kernel)
    : sizes_(sizes(layer)), unfolds_(layer.ode_unfolds), epsilon_(static_cast<float>(layer.epsilon)), kernel_(&kernel) {
  const LtcCell<float> cell(layer, p);
  // Destinations with about as many synapses share a group, so that there is little padding.
  std::vector<int> fan_in(cell.units);
  for (std::size_t i = 0; i < cell.units; ++i)
    for (std::size_t j = 0; j < cell.units; ++j) fan_in[j] += p.at(cell.recurrent.mask)[i * cell.units + j] != 0;
  std::vector<std::int32_t> order(cell.units);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return fan_in[static_cast<std::size_t>(a)] > fan_in[static_cast<std::size_t>(b)];
  });
  place_.resize(cell.units);
  for (std::size_t at = 0; at < order.size(); ++at)
    place_[static_cast<std::size_t>(order[at])] = static_cast<std::int32_t>(at);
  const auto lanes = static_cast<std::size_t>(kernel.lanes);
  order.resize((order.size() + lanes - 1) / lanes * lanes, -1);
  groups_ = static_cast<std::int64_t>(order.size() / lanes);
  const Ordered ordered{order, kernel.lanes};
  sensory_ = pack(cell.sensory, p, ordered, nullptr);
  recurrent_ = pack(cell.recurrent, p, ordered, &place_);
  for (const std::int32_t neuron : order) {
    // Padding has a capacity, so that it stays 0 and is not 0 / 0.
    const auto at = static_cast<std::size_t>(std::max(neuron, 0));
    const auto positive = [&](float x) { return layer.implicit_constraints ? softplus(x) : x; };
    const float leak = neuron < 0 ? 0 : positive(p.at(cell.gleak)[at]);
    leak_.push_back(leak);
    leak_current_.push_back(neuron < 0 ? 0 : leak * p.at(cell.vleak)[at]);
    capacity_.push_back(neuron < 0 ? 1 : positive(p.at(cell.cm)[at]));
  }
  input_w_ = values_or(p, cell.input_w, sizes_.inputs, 1);
  input_b_ = values_or(p, cell.input_b, sizes_.inputs, 0);
  output_w_ = values_or(p, cell.output_w, sizes_.outputs, 1);
  output_b_ = values_or(p, cell.output_b, sizes_.outputs, 0);
}

PackedLtc::Workspace PackedLtc::make_workspace(std::int64_t width) const {
  const std::int64_t units = groups_ * kernel_->lanes;
  // The kernel may read four vectors of whatever it looks values up in.
  const auto zeros_of = [&](std::int64_t n) {
    return CountedFloats(static_cast<std::size_t>(n * width + 4 * kernel_->lanes));
  };
  return {zeros_of(units), zeros_of(sizes_.inputs), zeros_of(3 * units), zeros_of(1)};
}

LtcStep PackedLtc::step_of(Workspace& work) const {
  return {.groups = groups_,
          .inputs = sizes_.inputs,
          .unfolds = unfolds_,
          .epsilon = epsilon_,
          .sensory = sensory_.table(),
          .recurrent = recurrent_.table(),
          .leak = leak_.data(),
          .leak_current = leak_current_.data(),
          .capacity = capacity_.data(),
          .elapsed = work.elapsed.data(),
          .input = work.input.data(),
          .state = work.state.data(),
          .scratch = work.scratch.data()};
}

void PackedLtc::map_input(Workspace& work, const float* x, std::int64_t width, std::int64_t row) const {
  for (std::int64_t i = 0; i < sizes_.inputs; ++i)
    work.input[static_cast<std::size_t>(i * width + row)] =
        x[i] * input_w_[static_cast<std::size_t>(i)] + input_b_[static_cast<std::size_t>(i)];
}

void PackedLtc::map_output(const Workspace& work, float* out, std::int64_t width, std::int64_t row) const {
  for (std::int64_t i = 0; i < sizes_.outputs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out[i] = work.state[static_cast<std::size_t>(place_[at] * width + row)] * output_w_[at] + output_b_[at];
  }
}

void PackedLtc::step_once(Workspace& work, const float* x, float elapsed, float* output) const {
  map_input(work, x, 1, 0);
  work.elapsed[0] = elapsed / static_cast<float>(unfolds_);
  kernel_->run_one(step_of(work));
  map_output(work, output, 1, 0);
}

void PackedLtc::set_state(Workspace& work, const float* state) const {
  for (std::size_t i = 0; i < place_.size(); ++i) work.state[static_cast<std::size_t>(place_[i])] = state[i];
}

void PackedLtc::get_state(const Workspace& work, float* state) const {
  for (std::size_t i = 0; i < place_.size(); ++i) state[i] = work.state[static_cast<std::size_t>(place_[i])];
}

void PackedLtc::run_some(const Sequence<float>& sequence, std::int64_t begin, std::int64_t rows, std::int64_t width,
                         SequenceResult<float>& result) const {
  const std::int64_t steps = sequence.steps;
  const std::int64_t by_sample = sizes_.batch_first ? steps : 1, by_step = sizes_.batch_first ? 1 : sequence.batch;
  Workspace work = make_workspace(width);
  const auto at = [&](std::int64_t neuron, std::int64_t r) -> float& {
    return work.state[static_cast<std::size_t>(place_[static_cast<std::size_t>(neuron)] * width + r)];
  };
  if (!sequence.state.empty())
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < sizes_.state; ++i)
        at(i, r) = sequence.state[static_cast<std::size_t>((begin + r) * sizes_.state + i)];
  const LtcStep step = step_of(work);
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t place = (begin + r) * by_sample + t * by_step;
      map_input(work, sequence.input.data() + place * sizes_.inputs, width, r);
      const float whole =
          sequence.timespans.empty()
              ? 1.0f
              : sequence.timespans[sequence.timespans.size() == 1 ? 0 : static_cast<std::size_t>(place)];
      work.elapsed[static_cast<std::size_t>(r)] = whole / static_cast<float>(unfolds_);
    }
    (width == 1 ? kernel_->run_one : kernel_->run_lanes)(step);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t place = (begin + r) * by_sample + t * by_step;
      if (!result.states.empty())
        for (std::int64_t i = 0; i < sizes_.state; ++i)
          result.states[static_cast<std::size_t>(place * sizes_.state + i)] = at(i, r);
      if (sizes_.return_sequences || t + 1 == steps)
        map_output(work, result.output.data() + (sizes_.return_sequences ? place : begin + r) * sizes_.outputs, width,
                   r);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < sizes_.state; ++i)
      result.state[static_cast<std::size_t>((begin + r) * sizes_.state + i)] = at(i, r);
}

void PackedLtc::run(const Sequence<float>& sequence, std::int64_t begin, std::int64_t end,
                    SequenceResult<float>& result) const {
  while (begin < end) {
    // Half-empty vectors of samples still beat samples one by one.
    const std::int64_t rows = std::min<std::int64_t>(end - begin, kernel_->lanes);
    const bool together = rows * 4 > kernel_->lanes;
    run_some(sequence, begin, together ? rows : 1, together ? kernel_->lanes : 1, result);
    begin += together ? rows : 1;
  }
}

}  // namespace tessera::ncp
