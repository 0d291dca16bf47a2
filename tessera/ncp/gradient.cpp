#include "tessera/ncp/gradient.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/internal/cfc_gradient.h"
#include "tessera/ncp/internal/ltc_gradient.h"

#include <algorithm>
#include <numeric>
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
  std::optional<LtcGradient> ltc;
  std::string kernel = "reference";
  Precision precision = Precision::float32;
  std::optional<ParameterSet<float>> parameters;
  GradientExchange* exchange = nullptr;
  bool ran = false;
  bool each_unit = false;  // units had times of their own, which the reference knows alone
  // What was run; its spans are into the copies, and only where the reference has to see them again.
  Sequence<float> sequence{};
  std::vector<float> input, timespans, state, memory;
  std::vector<std::int32_t> lengths;
};

namespace {

// The reference, sample by sample where they end at steps of their own.
struct ReferencePart {
  std::vector<float> input, timespans, state, memory, d_output, d_state, d_memory;
  Sequence<float> sequence;
};

class ReferenceParts {
 public:
  ReferenceParts(const LayerSizes& size, const Sequence<float>& all, std::span<const std::int32_t> lengths)
      : size_(size), all_(all), lengths_(lengths) {}

  std::int64_t steps(std::int64_t sample) const {
    return lengths_.empty() ? all_.steps : lengths_[static_cast<std::size_t>(sample)];
  }
  std::int64_t row(std::int64_t sample, std::int64_t step) const {
    return size_.batch_first ? sample * all_.steps + step : step * all_.batch + sample;
  }
  // Rows of one sample from a sequence of this width, and back.
  std::vector<float> rows(std::span<const float> from, std::int64_t sample, std::int64_t width) const {
    std::vector<float> out;
    for (std::int64_t t = 0; t < steps(sample); ++t) {
      const auto part = from.subspan(static_cast<std::size_t>(row(sample, t) * width), static_cast<std::size_t>(width));
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }
  void put_rows(const std::vector<float>& from, std::int64_t sample, std::int64_t width, std::vector<float>& to) const {
    for (std::int64_t t = 0; t < steps(sample); ++t)
      std::copy_n(from.begin() + t * width, width, to.begin() + row(sample, t) * width);
  }
  // One time for all steps comes as the sum over a sample, which is left to its first step.
  void put_times(const std::vector<float>& from, std::int64_t sample, std::vector<float>& to) const {
    if (all_.timespans.size() > 1) return put_rows(from, sample, times_of_row(), to);
    to[static_cast<std::size_t>(row(sample, 0))] = from[0];
  }
  static std::vector<float> one(std::span<const float> from, std::int64_t sample, std::int64_t width) {
    if (from.empty()) return {};
    const auto part = from.subspan(static_cast<std::size_t>(sample * width), static_cast<std::size_t>(width));
    return {part.begin(), part.end()};
  }

  ReferencePart part(std::int64_t sample) const {
    ReferencePart out;
    out.input = rows(all_.input, sample, size_.inputs);
    if (all_.timespans.size() == 1)
      out.timespans = {all_.timespans[0]};
    else if (!all_.timespans.empty())
      out.timespans = rows(all_.timespans, sample, times_of_row());
    out.state = one(all_.state, sample, size_.state);
    out.memory = one(all_.memory, sample, size_.state);
    out.sequence = {1,         steps(sample), out.input, out.timespans,
                    out.state, out.memory,    {},        all_.differentiate_timespans};
    return out;
  }

 private:
  std::int64_t times_of_row() const {
    const auto count = static_cast<std::int64_t>(all_.timespans.size());
    return count > all_.batch * all_.steps ? count / (all_.batch * all_.steps) : 1;
  }

  LayerSizes size_;
  const Sequence<float>& all_;
  std::span<const std::int32_t> lengths_;
};

}  // namespace

Gradient::Gradient(Layer layer, Precision precision) : state_(std::make_unique<State>()) {
  state_->layer = std::move(layer);
  if (const auto* cfc = std::get_if<CfcLayer>(&state_->layer)) {
    const DenseKernel& kernel = dense_kernel(precision);
    state_->cfc.emplace(*cfc, precision, kernel, backward_kernel());
    state_->kernel = fmt::format("cfc_{}_{}", name(precision), kernel.name);
  } else if (const auto& ltc = std::get<LtcLayer>(state_->layer); LtcGradient::takes(ltc)) {
    const LtcGradientKernel& kernel = ltc_gradient_kernel();
    state_->ltc.emplace(ltc, precision, kernel, backward_kernel());
    state_->kernel = fmt::format("ltc_{}_{}", name(precision), kernel.name);
  }
  state_->precision = precision;
  check(precision == Precision::float32 || state_->cfc || state_->ltc, Code::unsupported,
        Hint{"take the semi-implicit solver, or float32"},
        "an LTC layer with mixed memory or another solver is not computed in {}", name(precision));
}

Gradient::~Gradient() = default;
Gradient::Gradient(Gradient&&) noexcept = default;
Gradient& Gradient::operator=(Gradient&&) noexcept = default;

const Layer& Gradient::layer() const { return state_->layer; }
std::string_view Gradient::kernel() const { return state_->kernel; }

void Gradient::set_parameters(const ParameterSet<float>& parameters) {
  check_parameters(state_->layer, parameters);
  if (state_->cfc) state_->cfc->set_parameters(parameters);
  if (state_->ltc) state_->ltc->set_parameters(parameters);
  state_->parameters = parameters;
  state_->ran = false;
}

void Gradient::set_exchange(GradientExchange* exchange) { state_->exchange = exchange; }

BatchShare Gradient::share(std::int64_t batch, std::int64_t steps, std::span<const std::int32_t> lengths) const {
  BatchShare out;
  const GradientExchange* exchange = state_->exchange;
  if (exchange != nullptr && exchange->in_order()) {
    const bool by_sample = !state_->cfc && !state_->ltc;  // the reference, which adds samples up as they come
    std::vector<BatchChunk> chunks;
    cut_batch(batch, steps, by_sample ? std::span<const std::int32_t>() : lengths,
              state_->cfc   ? state_->cfc->rows_of_chunk(batch)
              : state_->ltc ? state_->ltc->rows_of_chunk(batch)
                            : 1,
              chunks);
    out.whole = batch;
    out.samples = samples_of_share(chunks, exchange->rank(), exchange->size());
    return out;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(batch));
  std::iota(order.begin(), order.end(), 0);
  // As many long ones for each.
  if (exchange != nullptr && !lengths.empty())
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)]; });
  const auto from = static_cast<std::size_t>(exchange != nullptr ? exchange->rank() : 0),
             every = static_cast<std::size_t>(exchange != nullptr ? exchange->size() : 1);
  for (std::size_t i = from; i < order.size(); i += every) out.samples.push_back(order[i]);
  return out;
}

void Gradient::forward(const Sequence<float>& given, SequenceResult<float>& result,
                       std::span<const std::int32_t> lengths, const BatchShare& share) {
  check(state_->parameters.has_value(), Code::invalid_argument, "a layer has to be given parameters before it runs");
  check_sequence(state_->layer, given);
  Sequence<float> sequence = given;
  const LayerSizes size = sizes(state_->layer);
  std::vector<float> timespans;
  if (static_cast<std::int64_t>(given.timespans.size()) > std::max<std::int64_t>(1, given.batch * given.steps)) {
    // A gradient for each unit is more than the kernels add up.
    if (!given.differentiate_timespans) timespans = timespans_of_steps(given, size.state);
    if (!timespans.empty()) sequence.timespans = timespans;
  }
  state_->each_unit = sequence.timespans.size() > 1 && timespans.empty() && given.batch > 0 &&
                      static_cast<std::int64_t>(given.timespans.size()) > given.batch * given.steps;
  check(!state_->each_unit || !given.dropout_seed, Code::unsupported,
        "units with elapsed times of their own are not trained with dropout");
  check(!state_->each_unit || state_->precision == Precision::float32, Code::unsupported,
        "units with elapsed times of their own are computed in float32, not in {}", name(state_->precision));
  check(lengths.empty() || static_cast<std::int64_t>(lengths.size()) == sequence.batch, Code::invalid_argument,
        "{} lengths were given for {} samples", lengths.size(), sequence.batch);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    check(1 <= lengths[i] && lengths[i] <= sequence.steps, Code::invalid_argument,
          "sample {} is said to have {} steps, of {} in the sequence", i, lengths[i], sequence.steps);
  check(share.samples.empty() || static_cast<std::int64_t>(share.samples.size()) == sequence.batch,
        Code::invalid_argument, "a share of {} samples of a batch came with {}", share.samples.size(), sequence.batch);
  if (sequence.timespans.empty()) sequence.differentiate_timespans = false;
  state_->sequence = sequence;
  const auto count = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  result.output.assign(count(sequence.batch * (size.return_sequences ? sequence.steps : 1), size.outputs), 0.0f);
  result.state.assign(count(sequence.batch, size.state), 0.0f);
  result.memory.assign(size.mixed_memory ? result.state.size() : 0, 0.0f);
  result.states.clear();
  state_->ran = true;
  if (state_->cfc && !state_->each_unit) return state_->cfc->forward(sequence, lengths, result, share);
  if (state_->ltc && !state_->each_unit) return state_->ltc->forward(sequence, lengths, result, share);
  const auto keep = [](std::span<const float>& span, std::vector<float>& copy) {
    copy.assign(span.begin(), span.end());
    span = copy;
  };
  keep(state_->sequence.input, state_->input);
  keep(state_->sequence.timespans, state_->timespans);
  keep(state_->sequence.state, state_->state);
  keep(state_->sequence.memory, state_->memory);
  state_->lengths.assign(lengths.begin(), lengths.end());
  const ReferenceParts parts(size, state_->sequence, state_->lengths);
  parallel_for(sequence.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const ReferencePart part = parts.part(b);
      const auto found = run_reference(state_->layer, *state_->parameters, part.sequence);
      if (size.return_sequences)
        parts.put_rows(found.output, b, size.outputs, result.output);
      else
        std::copy(found.output.begin(), found.output.end(), result.output.begin() + b * size.outputs);
      std::copy(found.state.begin(), found.state.end(), result.state.begin() + b * size.state);
      std::copy(found.memory.begin(), found.memory.end(), result.memory.begin() + b * size.state);
    }
  });
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
  const bool one_time = sequence.timespans.size() == 1;
  const auto rows = batch * static_cast<std::size_t>(sequence.steps);
  gradients.timespans.assign(!sequence.differentiate_timespans ? 0
                             : state_->each_unit               ? sequence.timespans.size()
                                                               : rows,
                             0.0f);
  differentiate(d_output, gradients, d_state, d_memory);
  if (!sequence.differentiate_timespans || !one_time) return;
  const double sum = std::accumulate(gradients.timespans.begin(), gradients.timespans.end(), 0.0);
  gradients.timespans.assign(1, static_cast<float>(sum));
}

void Gradient::differentiate(std::span<const float> d_output, SequenceGradients<float>& gradients,
                             std::span<const float> d_state, std::span<const float> d_memory) {
  const LayerSizes size = sizes(state_->layer);
  const Sequence<float>& sequence = state_->sequence;
  if (state_->cfc && !state_->each_unit)
    return state_->cfc->backward(d_output, d_state, d_memory, gradients, state_->exchange);
  if (state_->ltc && !state_->each_unit) return state_->ltc->backward(d_output, d_state, gradients, state_->exchange);
  const auto batch = static_cast<std::size_t>(sequence.batch);
  const ReferenceParts parts(size, sequence, state_->lengths);
  std::vector<SequenceGradients<float>> found(batch);
  parallel_for(sequence.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const ReferencePart part = parts.part(b);
      const auto d = size.return_sequences ? parts.rows(d_output, b, size.outputs)
                                           : ReferenceParts::one(d_output, b, size.outputs);
      auto& one = found[static_cast<std::size_t>(b)];
      one = differentiate_reference<float>(state_->layer, *state_->parameters, part.sequence, d,
                                           ReferenceParts::one(d_state, b, size.state),
                                           ReferenceParts::one(d_memory, b, size.state));
      parts.put_rows(one.input, b, size.inputs, gradients.input);
      std::copy(one.state.begin(), one.state.end(), gradients.state.begin() + b * size.state);
      if (sequence.differentiate_timespans) parts.put_times(one.timespans, b, gradients.timespans);
      std::copy(one.memory.begin(), one.memory.end(), gradients.memory.begin() + b * size.state);
    }
  });
  // In the order of samples, whoever computed them.
  std::vector<const float*> rows(batch);
  for (std::size_t i = 0; i < gradients.parameters.items.size(); ++i) {
    std::vector<float>& to = gradients.parameters.items[i].values;
    for (std::size_t b = 0; b < batch; ++b) rows[b] = found[b].parameters.items[i].values.data();
    if (state_->exchange != nullptr) {
      begin_buckets(*state_->exchange, rows, 0, static_cast<std::int64_t>(to.size()), to);
      continue;
    }
    std::fill(to.begin(), to.end(), 0.0f);
    add_parts(rows, to);
  }
  if (state_->exchange != nullptr) state_->exchange->wait();
}

}  // namespace tessera::ncp
