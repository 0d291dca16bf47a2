#pragma once

// Training a layer on a data set. Everything random follows from the seed, the epoch and the number of the batch, so a
// run that was stopped and continued, or run with another number of threads, gives the same bits. Several processes can
// train one layer, each with a share of every batch (GradientExchange): all make the same steps and decisions.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/ncp/gradient.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/loss.h"
#include "tessera/ncp/optimizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

// Which outputs the loss sees.
enum class Readout { every_step, last_step };

// Sequences that are padded to the same number of steps; or, with `begins`, that are stored as long as they are.
struct Dataset {
  std::int64_t samples = 0;
  std::int64_t steps = 0;  // of the longest
  int inputs = 0;
  std::vector<float> input{};           // [samples, steps, inputs]
  std::vector<float> timespans{};       // [samples, steps], or none
  std::vector<std::int32_t> lengths{};  // of each sample, from 1; none: all have every step
  std::vector<float> targets{};         // [samples, steps, n] or, read out at the last step, [samples, n]
  // The rows where samples begin, instead of every `steps`: [samples, steps] above is then one axis of rows, of which
  // each sample has `lengths` many. They may overlap, as windows do.
  std::vector<std::int64_t> begins{};

  std::int64_t begin(std::int64_t sample) const {
    return begins.empty() ? sample * steps : begins[static_cast<std::size_t>(sample)];
  }
  std::int64_t length(std::int64_t sample) const {
    return lengths.empty() ? steps : lengths[static_cast<std::size_t>(sample)];
  }
  std::int64_t rows() const {
    return begins.empty() ? samples * steps : inputs == 0 ? 0 : static_cast<std::int64_t>(input.size()) / inputs;
  }
};

// An Error with the numbers unless sizes agree with each other, the layer, the loss and the readout.
TSR_API void check_dataset(const Dataset& data, const Layer& layer, Loss loss, Readout readout);
// The samples with these indices.
TSR_API Dataset subset(const Dataset& data, std::span<const std::int64_t> samples, Readout readout);

struct TrainingOptions {
  std::int64_t epochs = 10;
  std::int64_t batch = 32;
  double learning_rate = 1e-3;
  OptimizerOptions optimizer{};
  Schedule schedule{};
  Clipping clipping{};
  Loss loss = Loss::mean_squared_error;
  Readout readout = Readout::every_step;
  Precision precision = Precision::float32;
  std::uint64_t seed = 1;
  std::int64_t patience = 0;  // epochs without a better validation loss after which training stops; 0: never
  bool operator==(const TrainingOptions&) const = default;
};
TSR_API std::string training_options_to_json(const TrainingOptions& options);
TSR_API TrainingOptions training_options_from_json(std::string_view text);

// Of float16: gradients are computed of a scaled loss. A scale that made them infinite is halved and the step left out;
// after many good steps it is doubled.
struct LossScale {
  double scale = 65536;
  std::int64_t good_steps = 0;
  bool operator==(const LossScale&) const = default;
};

struct EpochReport {
  std::int64_t epoch = 0;  // from 1
  LossSums training{};     // as the batches came, parameters changing all the time
  LossSums validation{};   // after the epoch; no rows without validation data
  double learning_rate = 0;
  double gradient_norm = 0;  // the mean over batches, before clipping
  double seconds = 0;        // of training alone
  std::int64_t samples = 0;
  std::int64_t steps_left_out = 0;  // because gradients were infinite in float16
  bool best = false;                // the lowest validation loss so far (training loss without validation data)
};

// All that training goes on from.
struct TrainingState {
  ParameterSet<float> parameters{};
  OptimizerState optimizer{};
  LossScale loss_scale{};
  std::int64_t epoch = 0;       // that comes next, from 0
  std::int64_t batch = 0;       // that comes next within it
  EpochReport partial{};        // sums of the epoch so far
  double best_loss = 0;         // of the best epoch, where there is one
  std::int64_t best_epoch = 0;  // from 1; 0: none yet
  ParameterSet<float> best_parameters{};
};

struct BatchReport {
  std::int64_t epoch = 0;  // from 1
  std::int64_t batch = 0;  // done
  std::int64_t batches = 0;
  double loss = 0;  // mean over the epoch so far
  double samples_per_second = 0;
};

class TSR_API Trainer {
 public:
  // With an exchange, every process is given the same layer, parameters, options and data, and calls run_epoch() alike;
  // options.batch is that of all together.
  Trainer(Layer layer, ParameterSet<float> parameters, TrainingOptions options, GradientExchange* exchange = nullptr);
  ~Trainer();

  // Called after each batch; false stops training there, and the state can be kept. All processes have to say the same.
  using OnBatch = FunctionRef<bool(const BatchReport&)>;
  // The next epoch, or the rest of one that was stopped. Nothing if it was stopped again. A loss that is not finite is
  // an Error with the step, the first parameter that went wrong, and `last_good` (a checkpoint's path, for the
  // message).
  std::optional<EpochReport> run_epoch(const Dataset& training, const Dataset* validation, OnBatch on_batch,
                                       std::string_view last_good = {});
  std::optional<EpochReport> run_epoch(const Dataset& training, const Dataset* validation = nullptr);

  // All epochs are done, or patience is at its end.
  bool finished() const;

  const Layer& layer() const;
  const TrainingOptions& options() const;
  const ParameterSet<float>& parameters() const;
  const TrainingState& state() const;
  void restore(TrainingState state);
  std::string_view kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Loss and accuracy over a data set, in batches; with an exchange each process computes its share of them.
TSR_API LossSums evaluate(const Layer& layer, const ParameterSet<float>& parameters, const Dataset& data, Loss loss,
                          Readout readout, Precision precision = Precision::float32, std::int64_t batch = 256,
                          GradientExchange* exchange = nullptr);

}  // namespace tessera::ncp
