#include "ncp.h"

#include "arguments.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tessera::cli {
namespace {

constexpr int kMostUnits = 32768;  // as wirings have them

void add_layer_options(CLI::App& command, LayerOptions& o) {
  command.add_option("--model", o.model, "cfc or ltc")->check(CLI::IsMember({"cfc", "ltc"}))->capture_default_str();
  command.add_option("--units", o.units, "Number of neurons, if there is no wiring")
      ->check(whole_number(1, kMostUnits));
  command.add_option("--wiring", o.wiring, "AutoNCP(32,2), NCP(...), Random(...), as in `tessera ncp wiring`");
  command.add_option("--backbone", o.backbone, "CfC: widths of the backbone layers: 128,128; 0: no backbone")
      ->delimiter(',')
      ->check(whole_number(0, kMostUnits));
  command.add_option("--activation", o.activation, "Activation of the backbone")
      ->check(CLI::IsMember({"lecun_tanh", "silu", "relu", "tanh", "gelu"}));
  command.add_option("--mode", o.mode, "CfC: default, no_gate or pure")
      ->check(CLI::IsMember({"default", "no_gate", "pure"}));
  command.add_option("--dropout", o.dropout, "Dropout after the second and later layers of the backbone")
      ->check(number_between(0, 0.999));
  command.add_flag("--mixed-memory", o.mixed_memory, "Add an LSTM cell beside the layer");
}

void add_training_options(CLI::App& command, TrainOptions& o) {
  ncp::TrainingOptions& t = o.training;
  command.add_option("--epochs", t.epochs, "Number of passes over the training set")->check(whole_number(1));
  command.add_option("--batch", t.batch, "Batch size, over all processes together")->check(whole_number(1));
  command.add_option("--lr", t.learning_rate, "Learning rate")->check(positive_number());
  command.add_option("--optimizer", o.optimizer, "adam, adamw, rmsprop or sgd")
      ->check(CLI::IsMember({"adam", "adamw", "rmsprop", "sgd"}));
  command.add_option("--momentum", t.optimizer.momentum, "Momentum of sgd and rmsprop")->check(number_between(0, 1));
  command.add_option("--smoothing", t.optimizer.smoothing, "Smoothing constant of rmsprop")
      ->check(number_between(0, 1));
  command.add_option("--epsilon", t.optimizer.epsilon, "Epsilon of adam, adamw and rmsprop")->check(number_from(0));
  command
      .add_option("--weight-decay", t.optimizer.weight_decay,
                  "Weight decay: added to gradients, or for adamw subtracted from weights")
      ->check(number_from(0));
  command.add_option("--schedule", o.schedule, "Schedule of the learning rate: constant, exponential, cosine or step")
      ->check(CLI::IsMember({"constant", "exponential", "cosine", "step"}));
  command.add_option("--decay", t.schedule.decay, "Factor per epoch (exponential) or per --every epochs (step)")
      ->check(positive_number());
  command.add_option("--every", t.schedule.every, "For the step schedule: epochs between steps")
      ->check(whole_number(1));
  command.add_option("--clip-norm", t.clipping.norm, "Clip the norm of all gradients together to this value")
      ->check(number_from(0));
  command
      .add_option("--clip-norm-each", t.clipping.norm_each, "Clip the norm of each parameter's gradient to this value")
      ->check(number_from(0));
  command.add_option("--clip-value", t.clipping.value, "Clip every element of the gradients to this value")
      ->check(number_from(0));
  command.add_option("--precision", o.precision, "Type to which operands of matmuls are rounded: f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command.add_option("--seed", t.seed, "Seed of initial weights, sample order and dropout")->check(seed_number());
  command.add_option("--patience", t.patience, "Stop after N epochs without a better validation loss; 0: never")
      ->check(whole_number(0));
  command.add_option("--checkpoint", o.checkpoint, "Folder for checkpoints and the trained layer");
  command.add_flag("--resume", o.resume, "Continue from the checkpoint in that folder, if there is one");
  command.add_option("--checkpoint-seconds", o.every_seconds, "Longest time between checkpoints, in seconds")
      ->check(positive_number());
  command.add_option("--max-seconds", o.most_seconds, "Stop with a checkpoint after this time, in seconds; 0: never")
      ->check(number_from(0));
  command.add_option("--threads", o.threads, "Threads per process; 0: all that it may use")
      ->check(whole_number(0, 4096));
  command.add_flag("--deterministic", o.deterministic,
                   "Under mpirun: give the same bits as one process, for any number of processes");
}

}  // namespace

void add_task_options(CLI::App& command, NcpTaskOptions& options) {
  command.add_option("--task", options.task, "xor, sine, cheetah (with --data), or csv:FILE");
  command.add_option("--data", options.data, "Folder with the traces of the half-cheetah task");
  command.add_option("--samples", options.samples, "For xor: number of training sequences; 0: all 100,000")
      ->check(whole_number(0, 10'000'000));
  command.add_option("--loss", options.loss, "For csv: the loss: mse, cross_entropy or bce")
      ->check(CLI::IsMember({"mse", "cross_entropy", "bce"}));
  command.add_option("--readout", options.readout, "For csv: where outputs are read: every_step or last_step")
      ->check(CLI::IsMember({"every_step", "last_step"}));
  command.add_option("--window", options.window, "For csv without a column 'sequence': length of a sequence, in rows")
      ->check(whole_number(1));
  command.add_option("--stride", options.stride, "Rows from the start of one window to the next; 0: the window length")
      ->check(whole_number(0));
}

void check_task_options(const CLI::App& command, const NcpTaskOptions& options) {
  struct OfTask {
    std::string_view task;
    std::vector<const char*> flags;
  };
  const bool csv = options.task.starts_with("csv:");
  for (const OfTask& of : {OfTask{"cheetah", {"--data"}}, OfTask{"xor", {"--samples"}},
                           OfTask{"csv:FILE", {"--loss", "--readout", "--window", "--stride"}}})
    for (const char* flag : of.flags)
      check(command.count(flag) == 0 || options.task.empty() || (of.task == "csv:FILE" ? csv : options.task == of.task),
            Code::invalid_argument, Hint{"leave it out"}, "{} has no effect: it applies to --task {}, not to {}", flag,
            of.task, options.task);
}

void check_task_options(const CLI::App& command, const ncp::Task& task) {
  for (const char* flag : {"--window", "--stride"})
    check(command.count(flag) == 0 || task.windowed, Code::invalid_argument, Hint{"leave it out"},
          "{} has no effect: the table's column 'sequence' says where sequences begin and end", flag);
}

namespace {

// Settings of what was not chosen.
void check_choices(const CLI::App& command, const TrainOptions& o) {
  const auto needs = [&](const char* flag, bool used, std::string_view why) {
    check(command.count(flag) == 0 || used, Code::invalid_argument, Hint{"leave it out"}, "{} has no effect: {}", flag,
          why);
  };
  const std::string optimizer = fmt::format("the optimizer is {}", o.optimizer);
  needs("--momentum", o.optimizer == "sgd" || o.optimizer == "rmsprop", optimizer);
  needs("--smoothing", o.optimizer == "rmsprop", optimizer);
  needs("--epsilon", o.optimizer != "sgd", optimizer);
  const std::string schedule = fmt::format("the schedule of the learning rate is {}", o.schedule);
  needs("--decay", o.schedule == "exponential" || o.schedule == "step", schedule);
  needs("--every", o.schedule == "step", schedule);
  for (const char* flag : {"--mode", "--activation", "--backbone", "--dropout"})
    needs(flag, o.layer.model == "cfc", "it applies to a CfC, but the layer is an LTC");
  for (const char* flag : {"--backbone", "--dropout"})
    needs(flag, o.layer.wiring.empty(), "a layer with a wiring has no backbone");
  needs("--units", o.layer.wiring.empty(), "the wiring already gives the number of neurons");
}

}  // namespace

void add_train_options(CLI::App& command, TrainOptions& o) {
  add_task_options(command, o.task);
  add_layer_options(command, o.layer);
  add_training_options(command, o);
}

// What a task is trained with unless something else is asked for: of xor, the settings of the paper but for the rate
// and its schedule, which docs/how-to/train-a-liquid-network.md gives reasons for.
void set_defaults(TrainOptions& o, const CLI::App& command) {
  const auto unless_given = [&](const char* flag, auto& value, auto otherwise) {
    if (command.count(flag) == 0) value = otherwise;
  };
  unless_given("--units", o.layer.units, 32);
  if (o.task.task == "xor") {
    const bool mixed = o.layer.mixed_memory;
    unless_given("--units", o.layer.units, mixed ? 64 : 192);
    unless_given("--activation", o.layer.activation, "relu");
    unless_given("--epochs", o.training.epochs, 60);
    unless_given("--batch", o.training.batch, 128);
    unless_given("--lr", o.training.learning_rate, 0.002);
    unless_given("--optimizer", o.optimizer, "rmsprop");
    unless_given("--smoothing", o.training.optimizer.smoothing, 0.9);
    unless_given("--epsilon", o.training.optimizer.epsilon, 1e-7);
    unless_given("--schedule", o.schedule, "cosine");
    if (command.count("--clip-norm") + command.count("--clip-value") == 0)
      unless_given("--clip-norm-each", o.training.clipping.norm_each, mixed ? 10.0 : 1.0);
  } else if (o.task.task == "cheetah") {
    unless_given("--epochs", o.training.epochs, 200);
    unless_given("--batch", o.training.batch, 16);
    unless_given("--lr", o.training.learning_rate, o.layer.model == "ltc" ? 1e-2 : 1e-3);
  } else if (o.task.task == "sine") {
    unless_given("--epochs", o.training.epochs, 400);
    unless_given("--lr", o.training.learning_rate, 1e-2);
  }
  check_choices(command, o);
  o.training.optimizer.kind = *ncp::parse_optimizer(o.optimizer);
  o.training.schedule.kind = *ncp::parse_schedule(o.schedule);
  o.training.precision = *ncp::parse_precision(o.precision);
}

ncp::Layer make_layer(const LayerOptions& o, int inputs, int outputs) {
  nlohmann::ordered_json fields{
      {"type", o.model == "ltc" ? "LTC" : "CfC"}, {"input_size", inputs}, {"mixed_memory", o.mixed_memory}};
  if (!o.wiring.empty())
    fields["wiring"] = nlohmann::ordered_json::parse(ncp::wiring_spec_to_json(ncp::parse_wiring_spec(o.wiring)));
  else if (o.model == "ltc")
    fields["wiring"] = {{"type", "FullyConnected"}, {"units", o.units}, {"output_dim", outputs}};
  else
    fields["units"] = o.units;
  if (o.model == "cfc") {
    fields["mode"] = o.mode;
    fields["activation"] = o.activation;
    if (o.wiring.empty()) {
      fields["backbone_units"] = o.backbone;
      fields["backbone_dropout"] = o.dropout;
    }
    fields["proj_size"] = outputs;
  }
  const ncp::Layer layer = ncp::layer_from_json(fields.dump());
  check(sizes(layer).outputs == outputs, Code::invalid_argument,
        Hint{fmt::format("give the wiring {} motor neurons", outputs)}, "the layer has {} outputs, the task needs {}",
        sizes(layer).outputs, outputs);
  return layer;
}

std::map<std::string, std::string> settings_of(const TrainOptions& o) {
  const ncp::TrainingOptions& t = o.training;
  return {{"--task", o.task.task},
          {"--samples", fmt::to_string(o.task.samples)},
          {"--loss", o.task.loss},
          {"--readout", o.task.readout},
          {"--window", fmt::to_string(o.task.window)},
          {"--stride", fmt::to_string(o.task.stride)},
          {"--model", o.layer.model},
          {"--units", fmt::to_string(o.layer.units)},
          {"--wiring", o.layer.wiring},
          {"--backbone", fmt::format("{}", fmt::join(o.layer.backbone, ","))},
          {"--activation", o.layer.activation},
          {"--mode", o.layer.mode},
          {"--dropout", fmt::to_string(o.layer.dropout)},
          {"--mixed-memory", o.layer.mixed_memory ? "yes" : "no"},
          {"--batch", fmt::to_string(t.batch)},
          {"--lr", fmt::to_string(t.learning_rate)},
          {"--optimizer", o.optimizer},
          {"--momentum", fmt::to_string(t.optimizer.momentum)},
          {"--smoothing", fmt::to_string(t.optimizer.smoothing)},
          {"--epsilon", fmt::to_string(t.optimizer.epsilon)},
          {"--weight-decay", fmt::to_string(t.optimizer.weight_decay)},
          {"--schedule", o.schedule},
          {"--decay", fmt::to_string(t.schedule.decay)},
          {"--every", fmt::to_string(t.schedule.every)},
          {"--clip-norm", fmt::to_string(t.clipping.norm)},
          {"--clip-norm-each", fmt::to_string(t.clipping.norm_each)},
          {"--clip-value", fmt::to_string(t.clipping.value)},
          {"--precision", o.precision},
          {"--seed", fmt::to_string(t.seed)}};
}

void check_settings(const TrainOptions& o, const CLI::App& command,
                    const std::map<std::string, std::string>& made_with) {
  for (const auto& [option, says] : settings_of(o)) {
    const auto was = made_with.find(option);
    if (was == made_with.end() || command.count(option) == 0) continue;
    check(says == was->second, Code::invalid_argument, Hint{"leave it out, or start again in another folder"},
          "{} is {}, but the checkpoint was made with {}", option, says, was->second);
  }
}

}  // namespace tessera::cli
