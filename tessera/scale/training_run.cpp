#include "tessera/scale/training_run.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/folder_lock.h"
#include "tessera/io/ncp_file.h"
#include "tessera/scale/training_agreement.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kData = "data_digest";  // the note with data_digest()

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

}  // namespace

struct TrainingRun::Impl {
  TrainingWorld& world;
  TrainingRunOptions options;
  TrainingHooks hooks;
  std::unique_ptr<ncp::Trainer> trainer = {};
  std::map<std::string, std::string> notes = {};
  OrderedJson history = OrderedJson::array();
  std::int64_t samples = 0;
  Clock::time_point began = Clock::now(), saved{};
  std::optional<FolderLock> lock = {};  // of the first process

  std::filesystem::path file(const char* name) const { return options.folder / name; }

  // By the first process; if it cannot, none goes on.
  void save() {
    saved = Clock::now();
    if (options.folder.empty()) return;
    together(world.all(), [&] {
      if (!world.first()) return;
      std::error_code error;
      std::filesystem::create_directories(options.folder, error);
      check(!error, Code::io, "cannot make the folder {}: {}", options.folder.string(), error.message());
      notes["history"] = history.dump();
      with_context("while saving a checkpoint; the one before it, if any, is as it was", [&] {
        save_ncp_checkpoint(file("checkpoint.safetensors"),
                            {trainer->layer(), trainer->options(), trainer->state(), notes});
      });
    });
  }

  // Clocks decide when to save and when to stop: the first process's, for all.
  struct Next {
    bool save = false, stop = false;
  };
  Next next(double save_after_seconds) {
    if (options.folder.empty() && options.most_seconds == 0) return {};
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> since_saved = now - saved, since_begin = now - began;
    const bool save = !options.folder.empty() && since_saved.count() > save_after_seconds;
    const bool stop = options.most_seconds > 0 && since_begin.count() > options.most_seconds;
    const std::uint8_t said = world.agreed(static_cast<std::uint8_t>((save ? 1 : 0) + (stop ? 2 : 0)));
    return {.save = (said & 1) != 0, .stop = (said & 2) != 0};
  }

  // A checkpoint goes on with the data that it was begun with: others would give a layer that nothing describes.
  void check_data(const ncp::Task& task) {
    const auto [known, is_new] = notes.try_emplace(std::string(kData), data_digest(datasets_of(task)));
    if (is_new) return;
    for (const NamedDataset& one : datasets_of(task)) {
      const std::string now = data_digest(std::span(&one, 1));
      check(known->second.find(now) != std::string::npos, Code::invalid_argument,
            Hint{"go on with the data it was begun with, or name another folder"},
            "the checkpoint in {} was trained on other data: now {}, but it has {}", options.folder.string(), now,
            known->second);
    }
  }

  // False when the time is up; the state is saved.
  bool train_epoch(const ncp::Task& task) {
    const std::string last_good = options.folder.empty() ? "" : file("checkpoint.safetensors").string();
    const std::optional<ncp::EpochReport> report = trainer->run_epoch(
        task.training, task.validation.samples > 0 ? &task.validation : nullptr,
        [&](const ncp::BatchReport& now) {
          if (hooks.on_batch) hooks.on_batch(now);
          if (now.batch == now.batches) return true;
          const Next then = next(options.checkpoint_seconds);
          if (then.save) save();
          return !then.stop;
        },
        last_good);
    if (!report) {
      save();
      return false;
    }
    history.push_back(report_json(*report));
    samples += report->samples;
    if (hooks.on_epoch) hooks.on_epoch(*report);
    // Epochs of milliseconds are not worth a file each.
    const Next then = next(std::min(options.checkpoint_seconds, 2.0));
    const bool stops = then.stop && !trainer->finished();
    if (stops || trainer->finished() || then.save) save();
    return !stops;
  }
};

TrainingRun::TrainingRun(TrainingWorld& world, TrainingRunOptions options, TrainingHooks hooks)
    : impl_(new Impl{world, std::move(options), std::move(hooks)}) {}
TrainingRun::~TrainingRun() = default;

bool TrainingRun::resume(bool can_begin, const std::function<void(NcpCheckpoint&)>& accept) {
  const TrainingRunOptions& options = impl_->options;
  TrainingWorld& world = impl_->world;
  if (options.folder.empty()) {
    check(!options.resume, Code::invalid_argument, Hint{"add --checkpoint DIR"},
          "--resume was given, but not where the checkpoint is");
    return false;
  }
  const std::filesystem::path path = impl_->file("checkpoint.safetensors");
  together(world.all(), [&] {
    if (world.first()) impl_->lock.emplace(options.folder, "wait until that one has ended, or name another folder");
    check(!world.first() || options.resume || !std::filesystem::exists(path), Code::invalid_argument,
          Hint{"add --resume to go on with it, or name another folder"}, "{} already has a checkpoint",
          options.folder.string());
  });
  if (!options.resume) return false;
  bool there = false;
  together(world.all(), [&] {
    there = world.first() && std::filesystem::exists(path);
    check(there || !world.first() || can_begin, Code::not_found,
          Hint{"name the folder of a checkpoint, or begin with --task"}, "{} has no checkpoint to go on with",
          options.folder.string());
  });
  if (world.agreed(there ? 1 : 0) == 0) return false;
  const Payload bytes = world.share_file(path);
  together(world.all(), [&] {
    NcpCheckpoint found =
        with_context("while reading the checkpoint " + path.string(), [&] { return parse_ncp_checkpoint(bytes); });
    accept(found);
    impl_->trainer =
        std::make_unique<ncp::Trainer>(found.layer, found.state.parameters, found.options, world.exchange());
    impl_->trainer->restore(std::move(found.state));
    impl_->notes = std::move(found.notes);
    if (impl_->notes.contains("history")) impl_->history = OrderedJson::parse(impl_->notes["history"], nullptr, false);
  });
  return true;
}

void TrainingRun::begin(const ncp::Layer& layer, const ncp::TrainingOptions& options) {
  impl_->trainer = std::make_unique<ncp::Trainer>(layer, ncp::converted<float>(initial_parameters(layer, options.seed)),
                                                  options, impl_->world.exchange());
}

std::map<std::string, std::string>& TrainingRun::notes() { return impl_->notes; }
const ncp::Trainer& TrainingRun::trainer() const { return *impl_->trainer; }
std::int64_t TrainingRun::trained_samples() const { return impl_->samples; }

double TrainingRun::seconds_per_epoch() const {
  double seconds = 0;
  for (const OrderedJson& epoch : impl_->history) seconds += epoch["seconds"].get<double>();
  return impl_->history.empty() ? 0.0 : seconds / static_cast<double>(impl_->history.size());
}

bool TrainingRun::train(const ncp::Task& task) {
  impl_->world.check_agreement(trainer().layer(), trainer().options(), task);
  impl_->check_data(task);
  impl_->save();
  while (!trainer().finished())
    if (!impl_->train_epoch(task)) return false;
  return true;
}

void TrainingRun::write_results(const std::string& task) {
  together(impl_->world.all(), [&] {
    if (impl_->options.folder.empty() || !impl_->world.first()) return;
    const ncp::TrainingState& state = trainer().state();
    save_ncp_file(impl_->file("model.safetensors"), trainer().layer(), state.parameters);
    save_ncp_file(impl_->file("best.safetensors"), trainer().layer(), state.best_parameters);
    const OrderedJson fields{{"task", task},
                             {"layer", OrderedJson::parse(ncp::layer_to_json(trainer().layer()))},
                             {"training", OrderedJson::parse(ncp::training_options_to_json(trainer().options()))},
                             {"kernel", trainer().kernel()},
                             {"history", impl_->history}};
    write_file_atomically(impl_->file("training.json"), std::string_view(fields.dump(2) + "\n"));
  });
}

}  // namespace tessera
