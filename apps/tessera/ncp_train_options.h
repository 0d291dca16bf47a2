#pragma once

// What `tessera ncp train` is told: the layer, how it is trained, and where checkpoints are.

#include "command.h"
#include "ncp_task.h"

#include "tessera/ncp/layer.h"
#include "tessera/ncp/trainer.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::cli {

struct LayerOptions {
  std::string model = "cfc";
  int units = 0;
  std::string wiring;
  std::vector<int> backbone{128};
  std::string activation = "lecun_tanh";
  std::string mode = "default";
  double dropout = 0;
  bool mixed_memory = false;
};

struct TrainOptions {
  TaskOptions task;
  LayerOptions layer;
  ncp::TrainingOptions training;
  std::string optimizer = "adam", schedule = "constant", precision = "f32";
  std::string checkpoint;
  bool resume = false;
  double every_seconds = 60;
  double most_seconds = 0;
  int threads = 0;
  bool deterministic = false;
};

void add_train_options(CLI::App& command, TrainOptions& options);

// What the task is trained with where nothing else was asked for.
void set_defaults(TrainOptions& options, const CLI::App& command);

ncp::Layer make_layer(const LayerOptions& options, int inputs, int outputs);

// What cannot change while training goes on, by option, as text: for the notes of a checkpoint.
std::map<std::string, std::string> settings_of(const TrainOptions& options);

// An Error where an option that was given says something else than the settings of a checkpoint.
void check_settings(const TrainOptions& options, const CLI::App& command,
                    const std::map<std::string, std::string>& made_with);

}  // namespace tessera::cli
