// tessera ncp train: a layer trained on a task, with checkpoints from which it goes on as if it had never stopped;
// alone or, under mpirun, by several processes.

#include "ncp.h"
#include "progress.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/scale/training_run.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

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
    check(fields.is_object(), Code::parse, "the checkpoint's note '{}' is not a JSON object", kSettings);
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

std::string epoch_line(const ncp::EpochReport& r, std::int64_t epochs, bool classes) {
  std::string line = fmt::format("epoch {}/{}  loss {:.5f}", r.epoch, epochs, r.training.mean_loss());
  if (classes) line += fmt::format("  accuracy {:.2f} %", 100 * r.training.accuracy());
  if (r.validation.rows > 0) {
    line += fmt::format("  validation {:.5f}", r.validation.mean_loss());
    if (classes) line += fmt::format(" {:.2f} %", 100 * r.validation.accuracy());
  }
  line += fmt::format("  {:.2f} s  {:.0f} samples/s", r.seconds, static_cast<double>(r.samples) / r.seconds);
  if (r.steps_left_out > 0) line += fmt::format("  {} steps skipped", r.steps_left_out);
  return line + (r.best ? "  best" : "");
}

class TrainCommand {
 public:
  TrainCommand(TrainOptions& options, const CLI::App& command, const Context& context)
      : options_(options),
        command_(command),
        context_(context),
        world_(world(), TESSERA_VERSION, options.deterministic, options.threads),
        quiet_(context.quiet || !world_.first()),
        run_(world_,
             {.folder = options.checkpoint,
              .resume = options.resume,
              .checkpoint_seconds = options.every_seconds,
              .most_seconds = options.most_seconds},
             {.on_batch = [this](const ncp::BatchReport& now) { show_batch(now); },
              .on_epoch = [this](const ncp::EpochReport& report) { show_epoch(report); }}) {}

  void run() {
    check_task_options(command_, options_.task);
    must_agree(world_.all(), "where and how long",
               fmt::format("--checkpoint '{}' --max-seconds {}{}", options_.checkpoint, options_.most_seconds,
                           options_.resume ? " --resume" : ""));
    const bool resuming = run_.resume(!options_.task.task.empty(), [&](NcpCheckpoint& found) { accept(found); });
    if (resuming && !quiet_)
      fmt::print(stderr, "continuing {} after {} epochs and {} batches\n", options_.checkpoint, state().epoch,
                 state().batch);
    ncp::Task task;
    together(world_.all(), [&] {
      if (resuming) options_.task = ncp_task_from_notes(run_.notes());
      task = load_ncp_task(options_.task);
      check_task_options(command_, task);
      if (!resuming) begin(task);
    });
    run_.notes().merge(ncp_task_notes(options_.task));
    const auto start = Clock::now();
    if (!run_.train(task)) {
      progress_.reset();
      if (!quiet_)
        fmt::print(
            stderr, "stopped after {} epochs and {} batches; {}\n", state().epoch, state().batch,
            options_.checkpoint.empty() ? "nothing was saved, because there is no --checkpoint" : "--resume goes on");
      return;
    }
    const std::chrono::duration<double> took = Clock::now() - start;
    const std::string closing = world_.closing_text(took.count(), run_.trained_samples());
    if (!quiet_) fmt::print(stderr, "{}", closing);
    run_.write_results(options_.task.task);
    print_results(task);
  }

 private:
  const ncp::TrainingState& state() const { return run_.trainer().state(); }

  void begin(const ncp::Task& task) {
    set_defaults(options_, command_);
    run_.notes()[kSettings] = OrderedJson(settings_of(options_)).dump();
    options_.training.loss = task.loss;
    options_.training.readout = task.readout;
    run_.begin(make_layer(options_.layer, task.training.inputs, task.outputs), options_.training);
  }

  // Flags that say something else than the checkpoint are errors.
  void accept(NcpCheckpoint& found) const {
    check_settings(options_, command_, settings_in(found));
    if (command_.count("--epochs") > 0) found.options.epochs = options_.training.epochs;
    if (command_.count("--patience") > 0) found.options.patience = options_.training.patience;
    if (command_.count("--data") > 0) found.notes["data"] = options_.task.data;
  }

  void show_batch(const ncp::BatchReport& now) {
    if (!progress_)
      progress_.emplace(fmt::format("epoch {} batch", state().epoch + 1), static_cast<std::size_t>(now.batches),
                        quiet_);
    progress_->at(static_cast<std::size_t>(now.batch),
                  fmt::format("loss {:.5f}, {:.0f} samples/s", now.loss, now.samples_per_second));
  }

  void show_epoch(const ncp::EpochReport& report) {
    progress_.reset();
    const ncp::TrainingOptions& o = run_.trainer().options();
    if (quiet_ || !(run_.trainer().finished() || shown_ + std::chrono::milliseconds(500) < Clock::now())) return;
    shown_ = Clock::now();
    fmt::print(stderr, "{}\n", epoch_line(report, o.epochs, o.loss != ncp::Loss::mean_squared_error));
  }

  void print_results(const ncp::Task& task) {
    const ncp::TrainingOptions& o = run_.trainer().options();
    Table table({{.name = "task"},
                 {.name = "parameters"},
                 {.name = "epoch", .align = Align::right},
                 {.name = "test loss", .key = "test_loss", .align = Align::right},
                 {.name = "test accuracy [%]", .key = "test_accuracy", .align = Align::right},
                 {.name = "samples", .key = "test_samples", .align = Align::right},
                 {.name = "s/epoch", .key = "seconds_per_epoch", .align = Align::right},
                 {.name = "kernel"}});
    const auto row = [&](const char* which, const ncp::ParameterSet<float>& parameters, std::int64_t epoch) {
      const ncp::LossSums sums = ncp::evaluate(run_.trainer().layer(), parameters, task.test, o.loss, o.readout,
                                               o.precision, 256, world_.exchange());
      table.add_row({options_.task.task, which, epoch, fmt::format("{:.6f}", sums.mean_loss()),
                     o.loss == ncp::Loss::mean_squared_error ? "" : fmt::format("{:.2f}", 100 * sums.accuracy()),
                     task.test.samples, fmt::format("{:.3f}", run_.seconds_per_epoch()),
                     std::string(run_.trainer().kernel())});
    };
    row("last", state().parameters, state().epoch);
    if (state().best_epoch > 0) row("best", state().best_parameters, state().best_epoch);
    context_.print(table);
  }

  using Clock = std::chrono::steady_clock;
  TrainOptions& options_;
  const CLI::App& command_;
  const Context& context_;
  TrainingWorld world_;
  bool quiet_;
  std::optional<Progress> progress_;  // of an epoch
  TrainingRun run_;
  Clock::time_point shown_{};
};

}  // namespace

void add_ncp_train(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("train", "Train a CfC or LTC layer on a task");
  auto options = std::make_shared<TrainOptions>();
  add_train_options(*command, *options);
  command->callback([options, command, &context] {
    if (options->layer.backbone == std::vector<int>{0}) options->layer.backbone.clear();
    TrainCommand(*options, *command, context).run();
  });
}

}  // namespace tessera::cli
