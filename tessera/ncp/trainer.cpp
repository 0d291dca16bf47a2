#include "tessera/ncp/trainer.h"

#include "tessera/core/error.h"
#include "tessera/ncp/internal/shared_losses.h"
#include "tessera/ncp/random_generator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace tessera::ncp {
namespace {

constexpr double kGrowEvery = 2000;  // good steps after which the scale of the loss is doubled
constexpr double kLargestScale = 0x1p24;

// What the trainer sees of outputs needs every step, whatever the layer returns to others.
Layer returning_sequences(Layer layer) {
  std::visit([](auto& l) { l.return_sequences = l.batch_first = true; }, layer);
  return layer;
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t what, std::uint64_t index) {
  std::uint64_t x = seed;
  for (const std::uint64_t part : {what, index}) {  // splitmix64
    x = (x ^ part) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return x;
}

// One batch, or this process's share of it, in and out of a layer: rows of the loss are those of each sample's readout.
class BatchRun {
 public:
  // `samples` are those of the whole batch.
  void load(const Gradient& gradient, const Dataset& data, std::span<const std::int64_t> samples, Readout readout) {
    lengths_.clear();
    rows_ = steps_ = 0;
    for (const std::int64_t s : samples) {
      if (!data.lengths.empty()) lengths_.push_back(data.lengths[static_cast<std::size_t>(s)]);
      steps_ = std::max(steps_, data.length(s));
      rows_ += readout == Readout::every_step ? data.length(s) : 1;
    }
    share_ = gradient.share(static_cast<std::int64_t>(samples.size()), steps_, lengths_);
    samples_.clear();
    input_.clear();
    timespans_.clear();
    lengths_.clear();
    for (const std::int64_t place : share_.samples) {
      const std::int64_t s = samples[static_cast<std::size_t>(place)];
      samples_.push_back(s);
      // Padded to the longest of this batch, not of all.
      const auto add = [&](std::vector<float>& to, const std::vector<float>& from, std::int64_t width, float padding) {
        if (from.empty()) return;
        const auto first = from.begin() + data.begin(s) * width;
        to.insert(to.end(), first, first + data.length(s) * width);
        to.resize(samples_.size() * static_cast<std::size_t>(steps_ * width), padding);
      };
      add(input_, data.input, data.inputs, 0);
      add(timespans_, data.timespans, 1, 1);
      if (!data.lengths.empty()) lengths_.push_back(data.lengths[static_cast<std::size_t>(s)]);
    }
    sequence_ = {static_cast<std::int64_t>(samples_.size()), steps_, input_, timespans_, {}, {}, {}};
  }

  // The losses of samples, added to `losses`; gradients of the whole batch's mean times `scale` if the way back
  // follows.
  void forward(Gradient& gradient, const Dataset& data, Loss loss, Readout readout,
               std::optional<std::uint64_t> dropout_seed, double scale, bool backward, SampleLosses& losses) {
    sequence_.dropout_seed = dropout_seed;
    gradient.forward(sequence_, result_, lengths_, share_);
    const LayerSizes size = sizes(gradient.layer());
    const auto outputs = static_cast<std::size_t>(size.outputs);
    const auto targets = static_cast<std::size_t>(targets_per_row(loss, size.outputs));
    const auto each = static_cast<float>(scale / static_cast<double>(rows_));
    if (backward) d_output_.assign(result_.output.size(), 0.0f);
    for (std::size_t b = 0; b < samples_.size(); ++b) {
      const std::int64_t length = data.length(samples_[b]);
      LossSums sums;
      for (std::int64_t t = readout == Readout::every_step ? 0 : length - 1; t < length; ++t) {
        const auto at = (b * static_cast<std::size_t>(steps_) + static_cast<std::size_t>(t)) * outputs;
        const auto target =
            static_cast<std::size_t>(readout == Readout::every_step ? data.begin(samples_[b]) + t : samples_[b]);
        add_loss(loss, std::span(result_.output).subspan(at, outputs),
                 std::span(data.targets).subspan(target * targets, targets), each, sums,
                 backward ? std::span(d_output_).subspan(at, outputs) : std::span<float>{});
      }
      losses.add(share_.samples[b], sums);
    }
  }

  void backward(Gradient& gradient, SequenceGradients<float>& gradients) { gradient.backward(d_output_, gradients); }

 private:
  std::vector<float> input_, timespans_, d_output_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> samples_;  // of the data, that are here
  BatchShare share_;
  std::int64_t rows_ = 0;   // of the whole batch
  std::int64_t steps_ = 0;  // of its longest sample
  Sequence<float> sequence_{};
  SequenceResult<float> result_;
};

LossSums evaluate_with(Gradient& gradient, BatchRun& run, const Dataset& data, Loss loss, Readout readout,
                       std::int64_t batch, GradientExchange* exchange) {
  SampleLosses losses;
  std::vector<std::int64_t> samples;
  for (std::int64_t first = 0; first < data.samples; first += batch) {
    samples.resize(static_cast<std::size_t>(std::min(batch, data.samples - first)));
    std::iota(samples.begin(), samples.end(), first);
    run.load(gradient, data, samples, readout);
    losses.begin_at(first);
    run.forward(gradient, data, loss, readout, {}, 1, false, losses);
  }
  return losses.total(exchange).sums;
}

std::string first_not_finite(const ParameterSet<float>& set) {
  for (const Parameter<float>& item : set.items)
    for (const float value : item.values)
      if (!std::isfinite(value)) return item.info.name;
  return {};
}

}  // namespace

struct Trainer::Impl {
  Layer layer;
  TrainingOptions options;
  TrainingState state;
  Optimizer optimizer;
  Gradient gradient;
  BatchRun run;
  SequenceGradients<float> gradients;
  std::vector<std::int64_t> order;
  GradientExchange* exchange;

  Impl(Layer l, TrainingOptions o, GradientExchange* e)
      : layer(std::move(l)),
        options(o),
        optimizer(o.optimizer, parameter_list(layer)),
        gradient(returning_sequences(layer), o.precision),
        exchange(e) {
    gradient.set_exchange(exchange);
  }

  bool uses_dropout() const {
    const auto* cfc = std::get_if<CfcLayer>(&layer);
    return cfc != nullptr && cfc->backbone_dropout > 0;
  }
  void shuffle(std::int64_t samples) {
    RandomGenerator random(mixed(options.seed, 1, static_cast<std::uint64_t>(state.epoch)));
    order.resize(static_cast<std::size_t>(samples));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<std::size_t>(random.choice(static_cast<std::int64_t>(i) + 1))]);
  }
  void one_batch(const Dataset& data, std::span<const std::int64_t> samples, std::string_view last_good);
  void step_or_shrink(double rate);
  void finish_epoch(const Dataset* validation, EpochReport& report);
};

void Trainer::Impl::step_or_shrink(double rate) {
  const bool scaled = options.precision == Precision::float16;
  if (scaled) {
    const double scale = state.loss_scale.scale;
    if (!first_not_finite(gradients.parameters).empty()) {
      state.loss_scale = {std::max(1.0, scale / 2), 0};
      ++state.partial.steps_left_out;
      return;
    }
    for (Parameter<float>& item : gradients.parameters.items)
      for (float& value : item.values) value = static_cast<float>(value / scale);
    if (static_cast<double>(++state.loss_scale.good_steps) >= kGrowEvery)
      state.loss_scale = {std::min(kLargestScale, scale * 2), 0};
  }
  state.partial.gradient_norm += clip(gradients.parameters, options.clipping);
  optimizer.step(state.parameters, gradients.parameters, rate);
  apply_constraints(layer, state.parameters);
}

void Trainer::Impl::one_batch(const Dataset& data, std::span<const std::int64_t> samples, std::string_view last_good) {
  const double scale = options.precision == Precision::float16 ? state.loss_scale.scale : 1;
  const auto number = static_cast<std::uint64_t>(state.epoch) << 32 | static_cast<std::uint64_t>(state.batch);
  std::optional<std::uint64_t> dropout;
  if (uses_dropout()) dropout = mixed(options.seed, 2, number);
  const auto failed = [&](std::string_view what, const std::string& where) {
    fail(Code::invalid_argument,
         Hint{last_good.empty() ? std::string("try a lower learning rate or clip gradients")
                                : fmt::format("the last good checkpoint is {}; try a lower learning rate or clip "
                                              "gradients",
                                              last_good)},
         "{} is not finite at step {} (epoch {}, batch {}){}", what, optimizer.state().steps + 1, state.epoch + 1,
         state.batch + 1, where.empty() ? "" : ": first in " + where);
  };
  gradient.set_parameters(state.parameters);
  run.load(gradient, data, samples, options.readout);
  SampleLosses losses;
  run.forward(gradient, data, options.loss, options.readout, dropout, scale, true, losses);
  // Also where the loss is not finite: it shows in which parameter the trouble is first, and others may wait.
  run.backward(gradient, gradients);
  const TotalLoss total = losses.total(exchange);
  const LossSums& sums = total.sums;
  if (!std::isfinite(sums.loss)) {
    std::string where = first_not_finite(gradients.parameters);
    if (total.not_finite_at >= 0 && exchange != nullptr)
      where += fmt::format("{}in what {} computed", where.empty() ? "" : ", ", exchange->who(total.not_finite_at));
    failed("the loss", where);
  }
  if (options.precision != Precision::float16)
    if (const std::string where = first_not_finite(gradients.parameters); !where.empty()) failed("the gradient", where);
  step_or_shrink(options.learning_rate * factor(options.schedule, state.epoch, options.epochs));
  if (const std::string where = first_not_finite(state.parameters); !where.empty()) failed("a parameter", where);
  state.partial.training.loss += sums.loss;
  state.partial.training.rows += sums.rows;
  state.partial.training.correct += sums.correct;
  state.partial.samples += static_cast<std::int64_t>(samples.size());
  ++state.batch;
}

void Trainer::Impl::finish_epoch(const Dataset* validation, EpochReport& report) {
  if (exchange != nullptr) check_same_everywhere(*exchange, state.parameters, state.epoch + 1);
  report.epoch = state.epoch + 1;
  report.learning_rate = options.learning_rate * factor(options.schedule, state.epoch, options.epochs);
  report.gradient_norm /= static_cast<double>(std::max<std::int64_t>(1, state.batch - report.steps_left_out));
  gradient.set_parameters(state.parameters);
  if (validation != nullptr)
    report.validation = evaluate_with(gradient, run, *validation, options.loss, options.readout, 256, exchange);
  const double loss = validation != nullptr ? report.validation.mean_loss() : report.training.mean_loss();
  report.best = state.best_epoch == 0 || loss < state.best_loss;
  if (report.best) {
    state.best_loss = loss;
    state.best_epoch = report.epoch;
    state.best_parameters = state.parameters;
  }
  ++state.epoch;
  state.batch = 0;
  state.partial = {};
}

Trainer::Trainer(Layer layer, ParameterSet<float> parameters, TrainingOptions options, GradientExchange* exchange) {
  check(options.epochs >= 1 && options.batch >= 1, Code::invalid_argument, "{} epochs of batches of {}: at least one",
        options.epochs, options.batch);
  check(options.learning_rate > 0 && std::isfinite(options.learning_rate), Code::invalid_argument,
        "the learning rate is {}: a positive number is needed", options.learning_rate);
  check(options.patience >= 0, Code::invalid_argument, "patience is {} epochs: at least 0", options.patience);
  check_parameters(layer, parameters);
  impl_ = std::make_unique<Impl>(std::move(layer), options, exchange);
  impl_->state.parameters = std::move(parameters);
  impl_->state.optimizer = impl_->optimizer.state();
}

Trainer::~Trainer() = default;

const Layer& Trainer::layer() const { return impl_->layer; }
const TrainingOptions& Trainer::options() const { return impl_->options; }
const ParameterSet<float>& Trainer::parameters() const { return impl_->state.parameters; }
std::string_view Trainer::kernel() const { return impl_->gradient.kernel(); }

const TrainingState& Trainer::state() const {
  impl_->state.optimizer = impl_->optimizer.state();
  return impl_->state;
}

void Trainer::restore(TrainingState state) {
  check_parameters(impl_->layer, state.parameters);
  impl_->optimizer.restore(state.optimizer);
  impl_->state = std::move(state);
}

bool Trainer::finished() const {
  const TrainingState& state = impl_->state;
  if (state.epoch >= impl_->options.epochs) return true;
  return impl_->options.patience > 0 && state.batch == 0 && state.best_epoch > 0 &&
         state.epoch - state.best_epoch >= impl_->options.patience;
}

std::optional<EpochReport> Trainer::run_epoch(const Dataset& training, const Dataset* validation) {
  return run_epoch(training, validation, [](const BatchReport&) { return true; });
}

std::optional<EpochReport> Trainer::run_epoch(const Dataset& training, const Dataset* validation, OnBatch on_batch,
                                              std::string_view last_good) {
  using Clock = std::chrono::steady_clock;
  Impl& impl = *impl_;
  check_dataset(training, impl.layer, impl.options.loss, impl.options.readout);
  if (validation != nullptr) check_dataset(*validation, impl.layer, impl.options.loss, impl.options.readout);
  impl.shuffle(training.samples);
  const std::int64_t batch = impl.options.batch, batches = (training.samples + batch - 1) / batch;
  check(impl.state.batch <= batches, Code::invalid_argument,
        "the state is at batch {} of an epoch, the data makes {}: it belongs to other data", impl.state.batch, batches);
  const double seconds_before = impl.state.partial.seconds;
  const auto start = Clock::now();
  while (impl.state.batch < batches) {
    const std::int64_t first = impl.state.batch * batch;
    impl.one_batch(training,
                   std::span(impl.order)
                       .subspan(static_cast<std::size_t>(first),
                                static_cast<std::size_t>(std::min(batch, training.samples - first))),
                   last_good);
    EpochReport& partial = impl.state.partial;
    partial.seconds = seconds_before + std::chrono::duration<double>(Clock::now() - start).count();
    const BatchReport report{.epoch = impl.state.epoch + 1,
                             .batch = impl.state.batch,
                             .batches = batches,
                             .loss = partial.training.mean_loss(),
                             .samples_per_second = static_cast<double>(partial.samples) / partial.seconds};
    if (!on_batch(report) && impl.state.batch < batches) return std::nullopt;
  }
  EpochReport report = impl.state.partial;
  impl.finish_epoch(validation, report);
  return report;
}

LossSums evaluate(const Layer& layer, const ParameterSet<float>& parameters, const Dataset& data, Loss loss,
                  Readout readout, Precision precision, std::int64_t batch, GradientExchange* exchange) {
  check_dataset(data, layer, loss, readout);
  check(batch >= 1, Code::invalid_argument, "a batch of {} samples", batch);
  Gradient gradient(returning_sequences(layer), precision);
  gradient.set_exchange(exchange);
  gradient.set_parameters(parameters);
  BatchRun run;
  return evaluate_with(gradient, run, data, loss, readout, batch, exchange);
}

}  // namespace tessera::ncp
