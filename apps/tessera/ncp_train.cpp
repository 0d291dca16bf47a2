// tessera ncp train: a layer trained on a task, with checkpoints from which it goes on as if it had never stopped;
// alone or, under mpirun, by several processes.

#include "ncp.h"
#include "ncp_together.h"
#include "ncp_train_options.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/io/ncp_file.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

namespace tessera::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kSettings = "settings";  // the note of a checkpoint that has them

// Those that the checkpoint has noted, or what else it shows of them.
std::map<std::string, std::string> settings_in(const NcpCheckpoint& found) {
  const auto noted = found.notes.find(kSettings);
  if (noted != found.notes.end()) {
    const OrderedJson fields = OrderedJson::parse(noted->second, nullptr, false);
    std::map<std::string, std::string> out;
    check(fields.is_object(), Code::parse, "the checkpoint's note '{}' is no JSON object", kSettings);
    for (const auto& [option, value] : fields.items())
      if (value.is_string()) out[option] = value.get<std::string>();
    return out;
  }
  std::map<std::string, std::string> out{{"--seed", std::to_string(found.options.seed)},
                                         {"--batch", std::to_string(found.options.batch)},
                                         {"--precision", std::string(name(found.options.precision))},
                                         {"--optimizer", std::string(name(found.options.optimizer.kind))}};
  if (const auto task = found.notes.find("task"); task != found.notes.end()) out["--task"] = task->second;
  return out;
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
          fmt::print(stderr, "stopped after {} epochs and {} batches; {}\n", trainer_->state().epoch,
                     trainer_->state().batch,
                     options_.checkpoint.empty() ? "nothing was kept, without --checkpoint" : "--resume goes on");
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
    notes_[kSettings] = OrderedJson(settings_of(options_)).dump();
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
    bool there = false;
    together(world_.all(), [&] {
      there = world_.first() && std::filesystem::exists(path);
      check(there || !world_.first() || !options_.task.task.empty(), Code::not_found,
            Hint{"name the folder of a checkpoint, or begin with --task"}, "{} has no checkpoint to go on with",
            options_.checkpoint);
    });
    if (world_.agreed(there ? 1 : 0) == 0) return false;
    const Payload bytes = world_.share_file(path);
    together(world_.all(), [&] { go_on_with(bytes, path); });
    if (!quiet_)
      fmt::print(stderr, "going on with {} after {} epochs and {} batches\n", options_.checkpoint,
                 trainer_->state().epoch, trainer_->state().batch);
    return true;
  }

  void go_on_with(const Payload& bytes, const std::filesystem::path& path) {
    NcpCheckpoint found =
        with_context("while reading the checkpoint " + path.string(), [&] { return parse_ncp_checkpoint(bytes); });
    check_settings(options_, command_, settings_in(found));
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

}  // namespace

void add_ncp_train(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("train", "Train a CfC or LTC layer on a task");
  auto options = std::make_shared<TrainOptions>();
  add_train_options(*command, *options);
  command->callback([options, command, &context] {
    if (options->layer.backbone == std::vector<int>{0}) options->layer.backbone.clear();
    TrainingRun(*options, *command, context).run();
  });
}

}  // namespace tessera::cli
