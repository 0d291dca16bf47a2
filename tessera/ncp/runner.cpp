#include "tessera/ncp/runner.h"

#include "tessera/core/parallel_for.h"
#include "tessera/ncp/internal/runner_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tessera::ncp {
namespace {

// Fewer samples than these are not worth another thread.
constexpr std::int64_t kFewest = 4;
constexpr std::int64_t kMost = 96;

}  // namespace

Runner::Runner(Layer layer, ParameterSet<float> parameters, Isa isa) : state_(std::make_unique<State>()) {
  check_parameters(layer, parameters);
  state_->layer = std::move(layer);
  state_->parameters = std::move(parameters);
  if (const auto* cfc = std::get_if<CfcLayer>(&state_->layer)) {
    const DenseKernel& kernel = dense_kernel(Precision::float32, isa);
    state_->cfc.emplace(*cfc, state_->parameters, kernel);
    state_->kernel = fmt::format("cfc_f32_{}", kernel.name);
  } else if (const auto& ltc = std::get<LtcLayer>(state_->layer); PackedLtc::takes(ltc)) {
    const LtcKernel& kernel = ltc_kernel(isa);
    state_->ltc.emplace(ltc, state_->parameters, kernel);
    state_->kernel = fmt::format("ltc_f32_{}", kernel.name);
  }
}

Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

const Layer& Runner::layer() const { return state_->layer; }
std::string_view Runner::kernel() const { return state_->kernel; }

bool Runner::is_fast() const { return state_->cfc || state_->ltc; }

SequenceResult<float> Runner::run(const Sequence<float>& sequence, KeepStates keep) const {
  SequenceResult<float> result;
  run(sequence, result, keep);
  return result;
}

void Runner::run(const Sequence<float>& given, SequenceResult<float>& result, KeepStates keep) const {
  check_sequence(state_->layer, given);
  const LayerSizes size = sizes(state_->layer);
  Sequence<float> sequence = given;
  std::vector<float> timespans;
  if (static_cast<std::int64_t>(given.timespans.size()) > std::max<std::int64_t>(1, given.batch * given.steps))
    sequence.timespans = timespans = timespans_of_steps(given, size.state);
  const bool each_unit = sequence.timespans.empty() && !given.timespans.empty();
  // Dropout is for training, and times that differ from unit to unit are rare; the reference knows both.
  if ((!state_->cfc && !state_->ltc) || given.dropout_seed || each_unit) {
    result = run_reference(state_->layer, state_->parameters, given, keep);
    return;
  }
  const auto count = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  result.output.resize(count(sequence.batch * (size.return_sequences ? sequence.steps : 1), size.outputs));
  result.state.resize(count(sequence.batch, size.state));
  result.memory.resize(size.mixed_memory ? result.state.size() : 0);
  result.states.resize(keep == KeepStates::yes ? count(sequence.batch * sequence.steps, size.state) : 0);
  const std::int64_t threads = max_threads();
  // A thread's samples share weights, or stand side by side in vectors.
  const std::int64_t grain =
      std::max(state_->cfc ? kFewest : std::int64_t{state_->ltc->lanes()}, (sequence.batch + threads - 1) / threads);
  parallel_for(sequence.batch, grain, [&](std::int64_t begin, std::int64_t end) {
    if (state_->ltc) return state_->ltc->run(sequence, begin, end, result);
    // What a thread works on at a time has to stay small enough for its cache; equal parts leave no small rest.
    const std::int64_t parts = (end - begin + kMost - 1) / kMost, rows = (end - begin + parts - 1) / parts;
    for (std::int64_t b = begin; b < end; b += rows) state_->cfc->run(sequence, b, std::min(end, b + rows), result);
  });
}

}  // namespace tessera::ncp
