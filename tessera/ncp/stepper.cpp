#include "tessera/core/error.h"
#include "tessera/ncp/internal/runner_state.h"

#include <algorithm>
#include <cmath>

namespace tessera::ncp {

struct Stepper::Work {
  LayerSizes size{};
  std::vector<float> output{};
  std::shared_ptr<PackedCfc::Workspace> cfc{};
  PackedLtc::Workspace ltc{};
  std::vector<float> state{}, memory{};  // of the reference
};

Stepper::Stepper(const Runner& runner) : runner_(runner), work_(std::make_unique<Work>()) {
  work_->size = sizes(runner.layer());
  work_->output.resize(static_cast<std::size_t>(work_->size.outputs));
  reset();
}

Stepper::~Stepper() = default;

void Stepper::reset() {
  const auto& layer = *runner_.state_;
  if (layer.cfc) work_->cfc = layer.cfc->make_workspace(1);
  if (layer.ltc) work_->ltc = layer.ltc->make_workspace(1);
  work_->state.assign(static_cast<std::size_t>(work_->size.state), 0);
  work_->memory.assign(work_->size.mixed_memory ? work_->state.size() : 0, 0);
}

std::span<const float> Stepper::step(std::span<const float> input) { return advance(input, nullptr); }

std::span<const float> Stepper::step(std::span<const float> input, float elapsed) {
  check(std::isfinite(elapsed), Code::invalid_argument, "the elapsed time is {}", elapsed);
  return advance(input, &elapsed);
}

std::span<const float> Stepper::advance(std::span<const float> input, const float* elapsed) {
  const auto& layer = *runner_.state_;
  check(static_cast<std::int64_t>(input.size()) == work_->size.inputs, Code::invalid_argument,
        "a step of {} inputs for a layer of {}", input.size(), work_->size.inputs);
  if (layer.cfc) {
    layer.cfc->step_once(*work_->cfc, input.data(), elapsed, work_->output.data());
  } else if (layer.ltc) {
    layer.ltc->step_once(work_->ltc, input.data(), elapsed == nullptr ? 1.0f : *elapsed, work_->output.data());
  } else {
    const auto result =
        runner_.run({1, 1, input, {elapsed, elapsed == nullptr ? 0u : 1u}, work_->state, work_->memory, {}});
    work_->state = result.state;
    work_->memory = result.memory;
    work_->output = result.output;
  }
  return work_->output;
}

std::vector<float> Stepper::state() const {
  std::vector<float> out = work_->state, memory = work_->memory;
  if (runner_.state_->cfc) runner_.state_->cfc->get_state(*work_->cfc, out.data(), memory.data());
  if (runner_.state_->ltc) runner_.state_->ltc->get_state(work_->ltc, out.data());
  return out;
}

std::vector<float> Stepper::memory() const {
  std::vector<float> state = work_->state, out = work_->memory;
  if (runner_.state_->cfc) runner_.state_->cfc->get_state(*work_->cfc, state.data(), out.data());
  return out;
}

void Stepper::set_state(std::span<const float> state, std::span<const float> memory) {
  check(state.size() == work_->state.size() && memory.size() == work_->memory.size(), Code::invalid_argument,
        "a state of {} and a memory of {} values for a layer that has {} and {}", state.size(), memory.size(),
        work_->state.size(), work_->memory.size());
  std::copy(state.begin(), state.end(), work_->state.begin());
  std::copy(memory.begin(), memory.end(), work_->memory.begin());
  if (runner_.state_->cfc) runner_.state_->cfc->set_state(*work_->cfc, state.data(), memory.data());
  if (runner_.state_->ltc) runner_.state_->ltc->set_state(work_->ltc, state.data());
}

}  // namespace tessera::ncp
