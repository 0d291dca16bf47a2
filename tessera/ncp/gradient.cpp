#include "tessera/ncp/gradient.h"

#include "tessera/core/error.h"
#include "tessera/ncp/internal/cfc_gradient.h"

#include <algorithm>
#include <string>

namespace tessera::ncp {

std::string_view name(Precision precision) {
  return precision == Precision::bfloat16 ? "bf16" : precision == Precision::float16 ? "f16" : "f32";
}

std::optional<Precision> parse_precision(std::string_view text) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::float16})
    if (name(precision) == text) return precision;
  return std::nullopt;
}

struct Gradient::State {
  Layer layer;
  std::optional<CfcGradient> cfc;
  std::string kernel = "reference";
  // Of the reference, and to check the way back.
  std::optional<ParameterSet<float>> parameters;
  std::vector<float> input, timespans, state, memory;
  Sequence<float> sequence{};
  bool ran = false;
};

Gradient::Gradient(Layer layer, Precision precision) : state_(std::make_unique<State>()) {
  state_->layer = std::move(layer);
  if (const auto* cfc = std::get_if<CfcLayer>(&state_->layer)) {
    const DenseKernel& kernel = dense_kernel();
    state_->cfc.emplace(*cfc, precision, kernel, backward_kernel());
    state_->kernel = fmt::format("cfc_{}_{}", name(precision), kernel.name);
  }
  check(precision == Precision::float32 || state_->cfc, Code::unsupported,
        Hint{"only CfC layers have products that a shorter type makes faster"}, "an LTC layer is not computed in {}",
        name(precision));
}

Gradient::~Gradient() = default;
Gradient::Gradient(Gradient&&) noexcept = default;
Gradient& Gradient::operator=(Gradient&&) noexcept = default;

const Layer& Gradient::layer() const { return state_->layer; }
std::string_view Gradient::kernel() const { return state_->kernel; }

void Gradient::set_parameters(const ParameterSet<float>& parameters) {
  check_parameters(state_->layer, parameters);
  if (state_->cfc) state_->cfc->set_parameters(parameters);
  state_->parameters = parameters;
  state_->ran = false;
}

void Gradient::forward(const Sequence<float>& sequence, SequenceResult<float>& result,
                       std::span<const std::int32_t> lengths) {
  check(state_->parameters.has_value(), Code::invalid_argument, "a layer has to be given parameters before it runs");
  check_sequence(state_->layer, sequence);
  check(lengths.empty() || static_cast<std::int64_t>(lengths.size()) == sequence.batch, Code::invalid_argument,
        "{} lengths were given for {} samples", lengths.size(), sequence.batch);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    check(1 <= lengths[i] && lengths[i] <= sequence.steps, Code::invalid_argument,
          "sample {} is said to have {} steps, of {} in the sequence", i, lengths[i], sequence.steps);
  state_->sequence = sequence;
  const LayerSizes size = sizes(state_->layer);
  const auto count = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  result.output.assign(count(sequence.batch * (size.return_sequences ? sequence.steps : 1), size.outputs), 0.0f);
  result.state.assign(count(sequence.batch, size.state), 0.0f);
  result.memory.assign(size.mixed_memory ? result.state.size() : 0, 0.0f);
  result.states.clear();
  state_->cfc->forward(sequence, lengths, result);
  state_->ran = true;
}

void Gradient::backward(std::span<const float> d_output, SequenceGradients<float>& gradients,
                        std::span<const float> d_state, std::span<const float> d_memory) {
  check(state_->ran, Code::invalid_argument, "there is nothing to go back over: forward() comes first, once for each");
  state_->ran = false;
  const LayerSizes size = sizes(state_->layer);
  const Sequence<float>& sequence = state_->sequence;
  const auto check_size = [](std::string_view what, std::size_t found, std::int64_t wanted) {
    check(static_cast<std::int64_t>(found) == wanted, Code::invalid_argument,
          "the gradient of {} has {} values, not {}", what, found, wanted);
  };
  check_size("the output", d_output.size(),
             sequence.batch * (size.return_sequences ? sequence.steps : 1) * size.outputs);
  if (!d_state.empty()) check_size("the state", d_state.size(), sequence.batch * size.state);
  if (!d_memory.empty()) check_size("the memory", d_memory.size(), size.mixed_memory ? sequence.batch * size.state : 0);
  if (gradients.parameters.items.size() != state_->parameters->items.size())
    gradients.parameters = zeros<float>(parameter_list(state_->layer));
  const auto batch = static_cast<std::size_t>(sequence.batch);
  gradients.input.assign(batch * static_cast<std::size_t>(sequence.steps * size.inputs), 0.0f);
  gradients.state.assign(batch * static_cast<std::size_t>(size.state), 0.0f);
  gradients.memory.assign(size.mixed_memory ? gradients.state.size() : 0, 0.0f);
  state_->cfc->backward(d_output, d_state, d_memory, gradients);
}

}  // namespace tessera::ncp
