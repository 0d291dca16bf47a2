#include "tessera/ncp/optimizer.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace tessera::ncp {
namespace {

constexpr std::array<std::pair<OptimizerKind, std::string_view>, 4> kOptimizers{{{OptimizerKind::sgd, "sgd"},
                                                                                 {OptimizerKind::rmsprop, "rmsprop"},
                                                                                 {OptimizerKind::adam, "adam"},
                                                                                 {OptimizerKind::adamw, "adamw"}}};
constexpr std::array<std::pair<ScheduleKind, std::string_view>, 4> kSchedules{
    {{ScheduleKind::constant, "constant"},
     {ScheduleKind::exponential, "exponential"},
     {ScheduleKind::cosine, "cosine"},
     {ScheduleKind::step, "step"}}};

template <class Table, class Kind>
std::string_view name_in(const Table& table, Kind kind) {
  for (const auto& [item, text] : table)
    if (item == kind) return text;
  return "?";
}

template <class Kind, std::size_t N>
std::optional<Kind> find_in(const std::array<std::pair<Kind, std::string_view>, N>& table, std::string_view text) {
  for (const auto& [item, name] : table)
    if (name == text) return item;
  return std::nullopt;
}

std::size_t moments_of(const OptimizerOptions& options) {
  switch (options.kind) {
    case OptimizerKind::sgd: return options.momentum != 0 ? 1 : 0;
    case OptimizerKind::rmsprop: return options.momentum != 0 ? 2 : 1;
    case OptimizerKind::adam:
    case OptimizerKind::adamw: return 2;
  }
  return 0;
}

double square_sum(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

void scale(std::vector<float>& values, double factor) {
  for (float& value : values) value = static_cast<float>(value * factor);
}

}  // namespace

std::string_view name(OptimizerKind kind) { return name_in(kOptimizers, kind); }
std::optional<OptimizerKind> parse_optimizer(std::string_view text) { return find_in(kOptimizers, text); }
std::string_view name(ScheduleKind kind) { return name_in(kSchedules, kind); }
std::optional<ScheduleKind> parse_schedule(std::string_view text) { return find_in(kSchedules, text); }

Optimizer::Optimizer(const OptimizerOptions& options, const std::vector<ParameterInfo>& parameters)
    : options_(options) {
  const auto share = [](std::string_view what, double value) {
    check(0 <= value && value < 1, Code::invalid_argument, "{} is {}: it goes from 0 to below 1", what, value);
  };
  share("momentum", options.momentum);
  share("beta1", options.beta1);
  share("beta2", options.beta2);
  share("smoothing", options.smoothing);
  check(options.epsilon >= 0 && std::isfinite(options.epsilon), Code::invalid_argument, "epsilon is {}",
        options.epsilon);
  check(options.weight_decay >= 0 && std::isfinite(options.weight_decay), Code::invalid_argument,
        "weight decay is {}: at least 0", options.weight_decay);
  state_.moments.assign(moments_of(options), zeros<float>(parameters));
}

void Optimizer::restore(OptimizerState state) {
  check(state.moments.size() == state_.moments.size(), Code::invalid_argument,
        "{} with these settings remembers {} numbers for each parameter, the state has {}", name(options_.kind),
        state_.moments.size(), state.moments.size());
  check(state.steps >= 0, Code::invalid_argument, "an optimiser cannot have made {} steps", state.steps);
  for (std::size_t m = 0; m < state.moments.size(); ++m) {
    const auto& wanted = state_.moments[m].items;
    const auto& found = state.moments[m].items;
    bool same = wanted.size() == found.size();
    for (std::size_t i = 0; same && i < wanted.size(); ++i)
      same = wanted[i].info.name == found[i].info.name && wanted[i].values.size() == found[i].values.size();
    check(same, Code::invalid_argument, "the state of the optimiser belongs to other parameters");
  }
  state_ = std::move(state);
}

void Optimizer::step(ParameterSet<float>& parameters, const ParameterSet<float>& gradients, double learning_rate) {
  ++state_.steps;
  const OptimizerOptions& o = options_;
  const double steps = static_cast<double>(state_.steps);
  const double correct1 = 1 - std::pow(o.beta1, steps), correct2 = std::sqrt(1 - std::pow(o.beta2, steps));
  for (std::size_t i = 0; i < parameters.items.size(); ++i) {
    Parameter<float>& item = parameters.items[i];
    if (!item.info.trainable) continue;
    const float* gradient = gradients.items[i].values.data();
    const auto moment = [&](std::size_t m) -> float* {
      return m < state_.moments.size() ? state_.moments[m].items[i].values.data() : nullptr;
    };
    float* first = moment(0);
    float* second = moment(1);
    for (std::size_t k = 0; k < item.values.size(); ++k) {
      double p = item.values[k], g = gradient[k];
      if (o.kind == OptimizerKind::adamw)
        p -= learning_rate * o.weight_decay * p;
      else
        g += o.weight_decay * p;
      switch (o.kind) {
        case OptimizerKind::sgd:
          if (first != nullptr) {
            // PyTorch's first momentum is the gradient itself.
            g = state_.steps == 1 ? g : o.momentum * first[k] + g;
            first[k] = static_cast<float>(g);
          }
          p -= learning_rate * g;
          break;
        case OptimizerKind::rmsprop: {
          first[k] = static_cast<float>(o.smoothing * first[k] + (1 - o.smoothing) * g * g);
          double change = g / (std::sqrt(static_cast<double>(first[k])) + o.epsilon);
          if (second != nullptr) {
            change = o.momentum * second[k] + change;
            second[k] = static_cast<float>(change);
          }
          p -= learning_rate * change;
          break;
        }
        case OptimizerKind::adam:
        case OptimizerKind::adamw:
          first[k] = static_cast<float>(o.beta1 * first[k] + (1 - o.beta1) * g);
          second[k] = static_cast<float>(o.beta2 * second[k] + (1 - o.beta2) * g * g);
          p -= learning_rate / correct1 * first[k] / (std::sqrt(static_cast<double>(second[k])) / correct2 + o.epsilon);
          break;
      }
      item.values[k] = static_cast<float>(p);
    }
  }
}

double clip(ParameterSet<float>& gradients, const Clipping& clipping) {
  check(clipping.value >= 0 && clipping.norm_each >= 0 && clipping.norm >= 0, Code::invalid_argument,
        "gradients cannot be limited to less than 0 (value {}, norm of each {}, norm {})", clipping.value,
        clipping.norm_each, clipping.norm);
  const auto whole = [&] {
    double sum = 0;
    for (const Parameter<float>& item : gradients.items) sum += square_sum(item.values);
    return std::sqrt(sum);
  };
  const double before = whole();
  if (clipping.value > 0) {
    const auto most = static_cast<float>(clipping.value);
    for (Parameter<float>& item : gradients.items)
      for (float& value : item.values) value = value > most ? most : value < -most ? -most : value;
  }
  if (clipping.norm_each > 0)
    for (Parameter<float>& item : gradients.items) {
      const double norm = std::sqrt(square_sum(item.values));
      if (norm > clipping.norm_each) scale(item.values, clipping.norm_each / norm);
    }
  if (clipping.norm > 0) {
    const double norm = whole();
    if (norm > clipping.norm)
      for (Parameter<float>& item : gradients.items) scale(item.values, clipping.norm / norm);
  }
  return before;
}

double factor(const Schedule& schedule, std::int64_t epoch, std::int64_t epochs) {
  const auto done = static_cast<double>(epoch);
  switch (schedule.kind) {
    case ScheduleKind::constant: return 1;
    case ScheduleKind::exponential: return std::pow(schedule.decay, done);
    case ScheduleKind::step:
      check(schedule.every >= 1, Code::invalid_argument, "the learning rate cannot change every {} epochs",
            schedule.every);
      return std::pow(schedule.decay, static_cast<double>(epoch / schedule.every));
    case ScheduleKind::cosine: {
      const double share = std::min(1.0, done / static_cast<double>(std::max<std::int64_t>(epochs, 1)));
      return schedule.floor + (1 - schedule.floor) * (1 + std::cos(std::numbers::pi * share)) / 2;
    }
  }
  return 1;
}

}  // namespace tessera::ncp
