#pragma once

// What turns gradients into new parameters: optimisers with PyTorch's formulas and defaults, clipping, and how the
// learning rate changes from epoch to epoch.

#include "tessera/core/export.h"
#include "tessera/ncp/parameters.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::ncp {

enum class OptimizerKind { sgd, rmsprop, adam, adamw };
TSR_API std::string_view name(OptimizerKind kind);
TSR_API std::optional<OptimizerKind> parse_optimizer(std::string_view text);

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adam;
  double momentum = 0;  // of sgd and rmsprop
  double beta1 = 0.9;   // of adam and adamw
  double beta2 = 0.999;
  double smoothing = 0.99;  // of rmsprop: PyTorch's alpha, Keras' rho (which is 0.9 there)
  double epsilon = 1e-8;
  double weight_decay = 0;  // added to the gradient; with adamw taken from the parameter
  bool operator==(const OptimizerOptions&) const = default;
};

// The optimiser's memory: as many sets as the kind has (none for sgd without momentum), and the steps so far.
struct OptimizerState {
  std::vector<ParameterSet<float>> moments{};
  std::int64_t steps = 0;
};

class TSR_API Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, const std::vector<ParameterInfo>& parameters);

  // Changes trainable parameters; gradients are in the same order.
  void step(ParameterSet<float>& parameters, const ParameterSet<float>& gradients, double learning_rate);

  const OptimizerOptions& options() const { return options_; }
  const OptimizerState& state() const { return state_; }
  // An Error unless it belongs to this kind and these parameters.
  void restore(OptimizerState state);

 private:
  OptimizerOptions options_;
  OptimizerState state_;
};

// What gradients are limited to, in this order; 0: not at all.
struct Clipping {
  double value = 0;      // of each number
  double norm_each = 0;  // of each parameter, as Keras' clipnorm
  double norm = 0;       // of all together
  bool operator==(const Clipping&) const = default;
};
// The norm of all gradients before anything was clipped.
TSR_API double clip(ParameterSet<float>& gradients, const Clipping& clipping);

enum class ScheduleKind { constant, exponential, cosine, step };
TSR_API std::string_view name(ScheduleKind kind);
TSR_API std::optional<ScheduleKind> parse_schedule(std::string_view text);

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double decay = 0.95;  // exponential: for each epoch; step: for each `every` epochs
  int every = 30;       // of step
  double floor = 0;     // of cosine: the share of the first rate that is left at the end
  bool operator==(const Schedule&) const = default;
};
// The factor of the learning rate in an epoch, from 0, of so many.
TSR_API double factor(const Schedule& schedule, std::int64_t epoch, std::int64_t epochs);

}  // namespace tessera::ncp
