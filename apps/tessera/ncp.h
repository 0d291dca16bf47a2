#pragma once

// Subcommands of `tessera ncp`, and what they share: a layer by its wiring, by its sizes, from a file or as a device's
// guide has it; a task; how it is trained, and where checkpoints are.

#include "command.h"

#include "tessera/io/ncp_task.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/trainer.h"
#include "tessera/targets/apple/verdicts/device_profile.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::cli {

void add_ncp_train(CLI::App& ncp, const Context& context);
// `tessera ncp predict` and `tessera ncp export`: what is done with a trained layer.
void add_ncp_predict(CLI::App& ncp, const Context& context);
void add_ncp_export(CLI::App& ncp, const Context& context);

// A trained layer on the command line: a folder of checkpoints, or a .safetensors file.
struct NcpTrainedArgument {
  std::string model;
  std::string which = "best";  // of a folder: the best parameters so far, or the last
};

void add_ncp_trained_argument(CLI::App& command, NcpTrainedArgument& argument);

struct NcpTrained {
  ncp::Layer layer;
  ncp::ParameterSet<float> parameters;
  std::map<std::string, std::string> notes;  // of a checkpoint
};
NcpTrained load_ncp_trained(const NcpTrainedArgument& argument);

// `tessera ncp devices|profile|validate|lint`: liquid networks held against device profiles.
void add_ncp_profile(CLI::App& ncp, const Context& context);

// A liquid layer on the command line: by its wiring, by its sizes, from a file, or as a device's guide has it.
struct NcpModelArgument {
  std::string device = "host";
  std::string cell = "cfc";
  std::string wiring;
  std::string layer_file;
  int units = 0;
  int inputs = 64;
  std::vector<int> backbone;
  bool no_backbone = false;
  std::string mode = "default";
  std::string activation = "lecun_tanh";
  std::string solver = "semi_implicit";
  int unfolds = 6;
  int projection = 0;
  bool mixed_memory = false;
  bool last_only = false;
  int batch = 0;  // 0: the device's
  int length = 16;
};

void add_ncp_model_argument(CLI::App& command, NcpModelArgument& argument);
ncp::Layer ncp_layer(const NcpModelArgument& argument, const apple::DeviceProfile& device);
std::int64_t ncp_batch(const NcpModelArgument& argument, const apple::DeviceProfile& device);
// "CfC 128, backbone [64, 64]", "LTC AutoNCP(16,4)".
std::string ncp_layer_text(const ncp::Layer& layer);

// What `tessera ncp train` is told: the layer, how it is trained, and where checkpoints are.
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
  NcpTaskOptions task;
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

void add_task_options(CLI::App& command, NcpTaskOptions& options);
// An Error for those that are for another task.
void check_task_options(const CLI::App& command, const NcpTaskOptions& options);
// Likewise, once the data is there: for those of another kind of table.
void check_task_options(const CLI::App& command, const ncp::Task& task);
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
