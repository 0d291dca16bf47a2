#pragma once

// A layer trained on a task, with checkpoints from which it goes on as if it had never stopped; alone or by several
// processes. All of them call the same functions in the same order.

#include "tessera/core/export.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/ncp/tasks/task.h"
#include "tessera/scale/training_world.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tessera {

struct TrainingRunOptions {
  std::filesystem::path folder = {};  // for checkpoints and the trained layer; empty: nothing is kept
  bool resume = false;                // go on with the checkpoint in the folder, if there is one
  double checkpoint_seconds = 60;     // most time between checkpoints
  double most_seconds = 0;            // stop after this time with a checkpoint; 0: never
};

// Told while it happens; each may be empty.
struct TrainingHooks {
  std::function<void(const ncp::BatchReport&)> on_batch = {};
  std::function<void(const ncp::EpochReport&)> on_epoch = {};
};

class TSR_API TrainingRun {
 public:
  TrainingRun(TrainingWorld& world, TrainingRunOptions options, TrainingHooks hooks = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Goes on with the checkpoint that is there. `accept` may refuse it with an Error, or change what may change. False:
  // begin() is next, and an Error unless `can_begin`. A checkpoint that is in the way is an Error.
  bool resume(bool can_begin, const std::function<void(NcpCheckpoint&)>& accept);
  void begin(const ncp::Layer& layer, const ncp::TrainingOptions& options);

  // What checkpoints say besides the state: the task and its settings.
  std::map<std::string, std::string>& notes();
  const ncp::Trainer& trainer() const;
  std::int64_t trained_samples() const;  // by this run
  double seconds_per_epoch() const;      // over all epochs, those before the checkpoint too

  // Trains to the end; false when the time was up. The state is saved either way. An Error everywhere unless all
  // processes have the same layer, options and data.
  bool train(const ncp::Task& task);
  // The last and the best layer, and the history of all epochs, as files in the folder.
  void write_results(const std::string& task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
