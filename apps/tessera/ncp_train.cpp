// tessera ncp train: a layer trained on a task, with checkpoints from which it goes on as if it had never stopped;
// alone or, under mpirun, by several processes.

#include "ncp.h"
#include "ncp_task.h"
#include "ncp_together.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/io/ncp_file.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>

namespace tessera::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

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
  o.training.optimizer.kind = *ncp::parse_optimizer(o.optimizer);
  o.training.schedule.kind = *ncp::parse_schedule(o.schedule);
  o.training.precision = *ncp::parse_precision(o.precision);
}

ncp::Layer make_layer(const LayerOptions& o, int inputs, int outputs) {
  OrderedJson fields{
      {"type", o.model == "ltc" ? "LTC" : "CfC"}, {"input_size", inputs}, {"mixed_memory", o.mixed_memory}};
  if (!o.wiring.empty())
    fields["wiring"] = OrderedJson::parse(ncp::wiring_spec_to_json(ncp::parse_wiring_spec(o.wiring)));
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

OrderedJson report_json(const ncp::EpochReport& r) {
  OrderedJson fields{{"epoch", r.epoch},
                     {"loss", r.training.mean_loss()},
                     {"accuracy", r.training.accuracy()},
                     {"learning_rate", r.learning_rate},
                     {"gradient_norm", r.gradient_norm},
                     {"seconds", r.seconds}};
  if (r.validation.rows > 0) {
    fields["validation_loss"] = r.validation.mean_loss();
    fields["validation_accuracy"] = r.validation.accuracy();
  }
  return fields;
}

std::string epoch_line(const ncp::EpochReport& r, std::int64_t epochs, bool classes) {
  std::string line = fmt::format("epoch {}/{}  loss {:.5f}", r.epoch, epochs, r.training.mean_loss());
  if (classes) line += fmt::format("  accuracy {:.2f} %", 100 * r.training.accuracy());
  if (r.validation.rows > 0) {
    line += fmt::format("  validation {:.5f}", r.validation.mean_loss());
    if (classes) line += fmt::format(" {:.2f} %", 100 * r.validation.accuracy());
  }
  line += fmt::format("  {:.2f} s  {:.0f} samples/s", r.seconds, static_cast<double>(r.samples) / r.seconds);
  if (r.steps_left_out > 0) line += fmt::format("  {} steps left out", r.steps_left_out);
  return line + (r.best ? "  best" : "");
}

class TrainingRun {
 public:
  TrainingRun(TrainOptions& options, const CLI::App& command, const Context& context)
      : options_(options),
        command_(command),
        context_(context),
        world_(options.deterministic, options.threads),
        quiet_(context.quiet || !world_.first()) {}

  void run() {
    must_agree(world_.all(), "where and how long",
               fmt::format("--checkpoint '{}' --max-seconds {}{}", options_.checkpoint, options_.most_seconds,
                           options_.resume ? " --resume" : ""));
    const bool resuming = find_checkpoint();
    ncp::Task task;
    together(world_.all(), [&] {
      if (resuming) options_.task = task_from_notes(notes_);
      task = make_task(options_.task);
      if (!resuming) start(task);
    });
    world_.check_agreement(trainer_->layer(), trainer_->options(), task);
    notes_.merge(task_notes(options_.task));
    save();
    const Clock::time_point begin = Clock::now();
    while (!trainer_->finished())
      if (!train_epoch(task)) {
        if (!quiet_)
          fmt::print(stderr, "stopped after {} epochs and {} batches; --resume goes on\n", trainer_->state().epoch,
                     trainer_->state().batch);
        return;
      }
    const std::chrono::duration<double> took = Clock::now() - begin;
    const std::string closing = world_.closing_text(took.count(), samples_);
    if (!quiet_) fmt::print(stderr, "{}", closing);
    finish(task);
  }

 private:
  std::filesystem::path file(const char* name) const { return std::filesystem::path(options_.checkpoint) / name; }

  void start(const ncp::Task& task) {
    set_defaults(options_, command_);
    options_.training.loss = task.loss;
    options_.training.readout = task.readout;
    const ncp::Layer layer = make_layer(options_.layer, task.training.inputs, task.outputs);
    trainer_ =
        std::make_unique<ncp::Trainer>(layer, ncp::converted<float>(initial_parameters(layer, options_.training.seed)),
                                       options_.training, world_.exchange());
  }

  // Goes on with what is there; flags that say something else than the checkpoint are errors.
  bool find_checkpoint() {
    if (options_.checkpoint.empty()) {
      check(!options_.resume, Code::invalid_argument, Hint{"add --checkpoint DIR"},
            "--resume was given, but not where the checkpoint is");
      return false;
    }
    const std::filesystem::path path = file("checkpoint.safetensors");
    together(world_.all(), [&] {
      check(!world_.first() || options_.resume || !std::filesystem::exists(path), Code::invalid_argument,
            Hint{"add --resume to go on with it, or name another folder"}, "{} already has a checkpoint",
            options_.checkpoint);
    });
    if (!options_.resume) return false;
    const Payload bytes = world_.share_file(path);
    if (bytes.empty()) return false;
    together(world_.all(), [&] { go_on_with(bytes, path); });
    if (!quiet_)
      fmt::print(stderr, "going on with {} after {} epochs and {} batches\n", options_.checkpoint,
                 trainer_->state().epoch, trainer_->state().batch);
    return true;
  }

  void go_on_with(const Payload& bytes, const std::filesystem::path& path) {
    NcpCheckpoint found =
        with_context("while reading the checkpoint " + path.string(), [&] { return parse_ncp_checkpoint(bytes); });
    for (const auto& [flag, is] :
         {std::pair("--task", found.notes["task"]), std::pair("--seed", std::to_string(found.options.seed)),
          std::pair("--batch", std::to_string(found.options.batch)),
          std::pair("--precision", std::string(name(found.options.precision))),
          std::pair("--optimizer", std::string(name(found.options.optimizer.kind)))})
      if (command_.count(flag) > 0)
        check(command_.get_option(flag)->as<std::string>() == is, Code::invalid_argument,
              "{} says {}, the checkpoint was made with {}", flag, command_.get_option(flag)->as<std::string>(), is);
    if (command_.count("--epochs") > 0) found.options.epochs = options_.training.epochs;
    if (command_.count("--patience") > 0) found.options.patience = options_.training.patience;
    if (command_.count("--data") > 0) found.notes["data"] = options_.task.data;
    trainer_ = std::make_unique<ncp::Trainer>(found.layer, found.state.parameters, found.options, world_.exchange());
    trainer_->restore(std::move(found.state));
    notes_ = std::move(found.notes);
    if (notes_.contains("history")) history_ = OrderedJson::parse(notes_["history"], nullptr, false);
  }

  // By the first process; if it cannot, none goes on.
  void save() {
    saved_ = Clock::now();
    if (options_.checkpoint.empty()) return;
    together(world_.all(), [&] {
      if (!world_.first()) return;
      std::error_code error;
      std::filesystem::create_directories(options_.checkpoint, error);
      check(!error, Code::io, "cannot make the folder {}: {}", options_.checkpoint, error.message());
      notes_["history"] = history_.dump();
      with_context("while saving a checkpoint; the one before it, if any, is as it was", [&] {
        save_ncp_checkpoint(file("checkpoint.safetensors"),
                            {trainer_->layer(), trainer_->options(), trainer_->state(), notes_});
      });
    });
  }

  // Clocks decide when to save and when to stop: the first process's, for all.
  struct Next {
    bool save = false, stop = false;
  };
  Next next(double save_after_seconds) {
    if (options_.checkpoint.empty() && options_.most_seconds == 0) return {};
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> since_saved = now - saved_, since_begin = now - began_;
    const bool save = !options_.checkpoint.empty() && since_saved.count() > save_after_seconds;
    const bool stop = options_.most_seconds > 0 && since_begin.count() > options_.most_seconds;
    const std::uint8_t said = world_.agreed(static_cast<std::uint8_t>((save ? 1 : 0) + (stop ? 2 : 0)));
    return {.save = (said & 1) != 0, .stop = (said & 2) != 0};
  }

  // False when the time is up; the state is saved.
  bool train_epoch(const ncp::Task& task) {
    const bool classes = task.loss != ncp::Loss::mean_squared_error;
    const std::string last_good = options_.checkpoint.empty() ? "" : file("checkpoint.safetensors").string();
    std::optional<ncp::EpochReport> report;
    {
      const auto batches =
          static_cast<std::size_t>((task.training.samples + trainer_->options().batch - 1) / trainer_->options().batch);
      Progress progress(fmt::format("epoch {} batch", trainer_->state().epoch + 1), batches, quiet_);
      report = trainer_->run_epoch(
          task.training, task.validation.samples > 0 ? &task.validation : nullptr,
          [&](const ncp::BatchReport& now) {
            progress.at(static_cast<std::size_t>(now.batch),
                        fmt::format("loss {:.5f}, {:.0f} samples/s", now.loss, now.samples_per_second));
            if (now.batch == now.batches) return true;
            const Next then = next(options_.every_seconds);
            if (then.save) save();
            return !then.stop;
          },
          last_good);
    }
    if (!report) {
      save();
      return false;
    }
    history_.push_back(report_json(*report));
    samples_ += report->samples;
    if (!quiet_ && (trainer_->finished() || shown_ + std::chrono::milliseconds(500) < Clock::now())) {
      shown_ = Clock::now();
      fmt::print(stderr, "{}\n", epoch_line(*report, trainer_->options().epochs, classes));
    }
    // Epochs of milliseconds are not worth a file each.
    const Next then = next(std::min(options_.every_seconds, 2.0));
    const bool stops = then.stop && !trainer_->finished();
    if (stops || trainer_->finished() || then.save) save();
    return !stops;
  }

  void finish(const ncp::Task& task) {
    const ncp::TrainingState& state = trainer_->state();
    const ncp::TrainingOptions& o = trainer_->options();
    together(world_.all(), [&] {
      if (options_.checkpoint.empty() || !world_.first()) return;
      save_ncp_file(file("model.safetensors"), trainer_->layer(), state.parameters);
      save_ncp_file(file("best.safetensors"), trainer_->layer(), state.best_parameters);
      const OrderedJson fields{{"task", options_.task.task},
                               {"layer", OrderedJson::parse(ncp::layer_to_json(trainer_->layer()))},
                               {"training", OrderedJson::parse(ncp::training_options_to_json(o))},
                               {"kernel", trainer_->kernel()},
                               {"history", history_}};
      write_file_atomically(file("training.json"), std::string_view(fields.dump(2) + "\n"));
    });
    double seconds = 0;
    for (const OrderedJson& epoch : history_) seconds += epoch["seconds"].get<double>();
    Table table({{.name = "task"},
                 {.name = "parameters"},
                 {.name = "epoch", .align = Align::right},
                 {.name = "test loss", .key = "test_loss", .align = Align::right},
                 {.name = "test accuracy [%]", .key = "test_accuracy", .align = Align::right},
                 {.name = "samples", .key = "test_samples", .align = Align::right},
                 {.name = "s/epoch", .key = "seconds_per_epoch", .align = Align::right},
                 {.name = "kernel"}});
    const auto row = [&](const char* which, const ncp::ParameterSet<float>& parameters, std::int64_t epoch) {
      const ncp::LossSums sums = ncp::evaluate(trainer_->layer(), parameters, task.test, o.loss, o.readout, o.precision,
                                               256, world_.exchange());
      table.add_row({options_.task.task, which, epoch, fmt::format("{:.6f}", sums.mean_loss()),
                     o.loss == ncp::Loss::mean_squared_error ? "" : fmt::format("{:.2f}", 100 * sums.accuracy()),
                     task.test.samples,
                     fmt::format("{:.3f}", history_.empty() ? 0.0 : seconds / static_cast<double>(history_.size())),
                     std::string(trainer_->kernel())});
    };
    row("last", state.parameters, state.epoch);
    if (state.best_epoch > 0) row("best", state.best_parameters, state.best_epoch);
    context_.print(table);
  }

  using Clock = std::chrono::steady_clock;
  TrainOptions& options_;
  const CLI::App& command_;
  const Context& context_;
  TrainingWorld world_;
  bool quiet_;
  std::int64_t samples_ = 0;  // that were trained with
  std::unique_ptr<ncp::Trainer> trainer_;
  std::map<std::string, std::string> notes_;
  OrderedJson history_ = OrderedJson::array();
  Clock::time_point began_ = Clock::now(), saved_{}, shown_{};
};

void add_layer_options(CLI::App& command, LayerOptions& o) {
  command.add_option("--model", o.model, "cfc or ltc")->check(CLI::IsMember({"cfc", "ltc"}))->capture_default_str();
  command.add_option("--units", o.units, "Neurons, where there is no wiring")->check(CLI::PositiveNumber);
  command.add_option("--wiring", o.wiring, "AutoNCP(32,2), NCP(...), Random(...), as in `tessera ncp wiring`");
  command.add_option("--backbone", o.backbone, "Widths of a CfC's backbone: 128,128; 0: none")->delimiter(',');
  command.add_option("--activation", o.activation, "Of the backbone")
      ->check(CLI::IsMember({"lecun_tanh", "silu", "relu", "tanh", "gelu"}));
  command.add_option("--mode", o.mode, "Of a CfC: default, no_gate or pure")
      ->check(CLI::IsMember({"default", "no_gate", "pure"}));
  command.add_option("--dropout", o.dropout, "After the second and later layers of the backbone")
      ->check(CLI::Range(0.0, 0.999));
  command.add_flag("--mixed-memory", o.mixed_memory, "An LSTM cell beside the layer");
}

void add_training_options(CLI::App& command, TrainOptions& o) {
  ncp::TrainingOptions& t = o.training;
  command.add_option("--epochs", t.epochs, "Passes over the training set")->check(CLI::PositiveNumber);
  command.add_option("--batch", t.batch, "Sequences in a batch, of all processes together")->check(CLI::PositiveNumber);
  command.add_option("--lr", t.learning_rate, "Learning rate")->check(CLI::PositiveNumber);
  command.add_option("--optimizer", o.optimizer, "adam, adamw, rmsprop or sgd")
      ->check(CLI::IsMember({"adam", "adamw", "rmsprop", "sgd"}));
  command.add_option("--momentum", t.optimizer.momentum, "Of sgd and rmsprop");
  command.add_option("--smoothing", t.optimizer.smoothing, "Of rmsprop");
  command.add_option("--epsilon", t.optimizer.epsilon, "Of adam, adamw and rmsprop");
  command.add_option("--weight-decay", t.optimizer.weight_decay, "Added to gradients; of adamw, taken from weights");
  command.add_option("--schedule", o.schedule, "Of the learning rate: constant, exponential, cosine or step")
      ->check(CLI::IsMember({"constant", "exponential", "cosine", "step"}));
  command.add_option("--decay", t.schedule.decay, "Factor of each epoch (exponential) or of every --every (step)");
  command.add_option("--every", t.schedule.every, "Epochs from step to step")->check(CLI::PositiveNumber);
  command.add_option("--clip-norm", t.clipping.norm, "Most that the norm of all gradients may be");
  command.add_option("--clip-norm-each", t.clipping.norm_each, "Likewise for each parameter");
  command.add_option("--clip-value", t.clipping.value, "Likewise for each number");
  command.add_option("--precision", o.precision, "f32, bf16 or f16: what operands of products are rounded to")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command.add_option("--seed", t.seed, "Of weights, the order of samples and dropout");
  command.add_option("--patience", t.patience, "Stop after so many epochs without a better validation loss; 0: never")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--checkpoint", o.checkpoint, "Folder for checkpoints and the trained layer");
  command.add_flag("--resume", o.resume, "Go on with the checkpoint in that folder, if there is one");
  command.add_option("--checkpoint-seconds", o.every_seconds, "Most time between checkpoints")
      ->check(CLI::PositiveNumber);
  command.add_option("--max-seconds", o.most_seconds, "Stop after this time with a checkpoint; 0: never")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--threads", o.threads, "Threads of each process; 0: all that it may use")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--deterministic", o.deterministic,
                   "Under mpirun: the same bits as one process, whatever the number of processes");
}

}  // namespace

void add_ncp_train(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("train", "Train a CfC or LTC layer on a task");
  auto options = std::make_shared<TrainOptions>();
  add_task_options(*command, options->task);
  add_layer_options(*command, options->layer);
  add_training_options(*command, *options);
  command->callback([options, command, &context] {
    if (options->layer.backbone == std::vector<int>{0}) options->layer.backbone.clear();
    TrainingRun(*options, *command, context).run();
  });
}

}  // namespace tessera::cli
