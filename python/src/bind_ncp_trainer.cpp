// Training of liquid layers.

#include "arrays.h"
#include "bind.h"
#include "mpi4py_world.h"
#include "ncp_layer.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/parallel_for.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/ncp/trainer.h"
#include "tessera/scale/rank_exchange.h"
#include "tessera/scale/thread_share.h"
#include "tessera/scale/training_agreement.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using ncp::Dataset;

std::vector<float> floats(nb::handle array, const char* what, Shape* shape = nullptr) {
  return with_context(std::string("while taking ") + what, [&] {
    const Array values = import_host_array(array, ElementType::float32);
    if (shape != nullptr) *shape = values.shape();
    const std::vector<double> wide = values.to_double();
    return std::vector<float>(wide.begin(), wide.end());
  });
}

Dataset dataset(nb::handle input, nb::handle targets, nb::handle timespans, nb::handle lengths) {
  Dataset out;
  Shape shape;
  out.input = floats(input, "the inputs", &shape);
  check(shape.rank() == 3, Code::invalid_argument, "the inputs are {}: [samples, steps, inputs] is expected",
        shape.to_string());
  out.samples = shape[0];
  out.steps = shape[1];
  out.inputs = static_cast<int>(shape[2]);
  out.targets = floats(targets, "the targets");
  if (!timespans.is_none()) out.timespans = floats(timespans, "timespans");
  if (!lengths.is_none())
    for (const float length : floats(lengths, "lengths")) out.lengths.push_back(static_cast<std::int32_t>(length));
  return out;
}

nb::dict sums(const ncp::LossSums& of) {
  nb::dict out;
  out["loss"] = of.mean_loss();
  out["accuracy"] = of.accuracy();
  return out;
}

nb::dict report_of(const ncp::EpochReport& report) {
  nb::dict out;
  out["epoch"] = report.epoch;
  out["loss"] = report.training.mean_loss();
  out["accuracy"] = report.training.accuracy();
  if (report.validation.rows > 0) {
    out["val_loss"] = report.validation.mean_loss();
    out["val_accuracy"] = report.validation.accuracy();
  }
  out["learning_rate"] = report.learning_rate;
  out["gradient_norm"] = report.gradient_norm;
  out["seconds"] = report.seconds;
  out["samples_per_second"] = report.seconds > 0 ? static_cast<double>(report.samples) / report.seconds : 0.0;
  out["best"] = report.best;
  return out;
}

constexpr std::uint64_t kLargestCheckpoint = std::uint64_t{64} << 30;

// All begin with what the first rank has.
ncp::ParameterSet<float> shared(ncp::ParameterSet<float> parameters, Communicator& world) {
  for (ncp::Parameter<float>& item : parameters.items)
    world.broadcast(std::as_writable_bytes(std::span(item.values)), 0);
  return parameters;
}

// A trainer with the data it sees; with a world, one of several that call everything alike.
class NcpTrainer {
 public:
  NcpTrainer(NcpLayer& layer, const std::string& options, Dataset training, std::optional<Dataset> validation,
             std::unique_ptr<Communicator> world, bool deterministic)
      : world_(std::move(world)),
        exchange_(*world_, deterministic ? SumOrder::as_one_rank : SumOrder::any),
        threads_(max_threads() != hardware_threads() ? 0 : share_of_threads(*world_)),
        layer_(layer.layer()),
        training_(std::move(training)),
        validation_(std::move(validation)),
        trainer_(layer.layer(), agreed_parameters(layer, options, deterministic),
                 ncp::training_options_from_json(options), world_->size() > 1 ? &exchange_ : nullptr) {
    const auto& o = trainer_.options();
    ncp::check_dataset(training_, layer.layer(), o.loss, o.readout);
    if (validation_)
      with_context("while taking the validation data",
                   [&] { ncp::check_dataset(*validation_, layer.layer(), o.loss, o.readout); });
  }

  bool finished() const { return trainer_.finished(); }
  nb::object run_epoch(const std::string& last_good) {
    std::optional<ncp::EpochReport> report;
    bool interrupted = false;  // by the keyboard, which Python knows between batches
    {
      const nb::gil_scoped_release release;
      const ThreadLimit limit(threads_);
      const auto on_batch = [&](const ncp::BatchReport&) {
        interrupted = any_interrupted();
        return !interrupted;
      };
      report = trainer_.run_epoch(training_, validation_ ? &*validation_ : nullptr, on_batch, last_good);
    }
    if (interrupted) throw nb::python_error();
    return report ? nb::object(report_of(*report)) : nb::object(nb::none());
  }
  // By the first rank; if it cannot, all fail.
  void save(const std::filesystem::path& path) {
    together(*world_, [&] {
      if (first()) save_ncp_checkpoint(path, {layer_, trainer_.options(), trainer_.state(), {}});
    });
  }
  // From the first rank's file, where there is one. More or fewer epochs than before are fine; anything else would be
  // another run.
  void restore(const std::filesystem::path& path) {
    Payload file;
    together(*world_, [&] {
      if (first() && std::filesystem::exists(path)) file = read_file(path, kLargestCheckpoint);
    });
    file = broadcast_bytes(*world_, std::move(file), 0);
    if (!file.empty()) together(*world_, [&] { restore_from(file, path); });
  }
  bool first() const { return world_->rank() == 0; }
  // What the first rank says.
  bool agreed(bool mine) {
    world_->broadcast(std::as_writable_bytes(std::span(&mine, 1)), 0);
    return mine;
  }
  void store(NcpLayer& layer, bool best) const {
    const ncp::TrainingState& state = trainer_.state();
    layer.set_parameters(best && state.best_epoch > 0 ? state.best_parameters : state.parameters);
  }
  std::string kernel() const { return std::string(trainer_.kernel()); }

 private:
  ncp::ParameterSet<float> agreed_parameters(NcpLayer& layer, const std::string& options, bool deterministic) {
    if (world_->size() == 1) return layer.parameters();
    must_agree(*world_, "deterministic", deterministic ? "True" : "False");
    const NamedDataset data[] = {{"the data to train on", &training_},
                                 {"validation_data", validation_ ? &*validation_ : nullptr}};
    must_agree_to_train(*world_, layer_, ncp::training_options_from_json(options), data);
    return shared(layer.parameters(), *world_);
  }

  bool any_interrupted() {
    double mine = 0;
    {
      const nb::gil_scoped_acquire acquire;
      mine = PyErr_CheckSignals() != 0 ? 1 : 0;
    }
    if (world_->size() == 1) return mine != 0;
    bool any = false;
    for (const std::vector<double>& each : exchange_.gather(std::span(&mine, 1))) any |= each.at(0) != 0;
    if (any && mine == 0) {  // another one was
      const nb::gil_scoped_acquire acquire;
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
    return any;
  }

  void restore_from(const Payload& file, const std::filesystem::path& path) {
    NcpCheckpoint checkpoint =
        with_context("while reading the checkpoint " + path.string(), [&] { return parse_ncp_checkpoint(file); });
    ncp::TrainingOptions options = checkpoint.options;
    options.epochs = trainer_.options().epochs;
    const Hint hint{"go on with what it was made with, or name another file"};
    check(checkpoint.layer == layer_, Code::invalid_argument, hint, "the checkpoint {} is of {}, not of {}",
          path.string(), ncp::layer_to_json(checkpoint.layer), ncp::layer_to_json(layer_));
    check(options == trainer_.options(), Code::invalid_argument, hint,
          "the checkpoint {} was made with {}, this is to be trained with {}", path.string(),
          ncp::training_options_to_json(options), ncp::training_options_to_json(trainer_.options()));
    trainer_.restore(std::move(checkpoint.state));
  }

  std::unique_ptr<Communicator> world_;
  RankExchange exchange_;
  int threads_ = 0;
  ncp::Layer layer_;
  Dataset training_;
  std::optional<Dataset> validation_;
  ncp::Trainer trainer_;
};

}  // namespace

void bind_ncp_trainer(nb::module_& module) {
  nb::class_<Dataset>(module, "NcpDataset", "Sequences padded to the same number of steps, with targets.")
      .def(
          "__init__",
          [](Dataset* self, nb::handle input, nb::handle targets, nb::handle timespans, nb::handle lengths) {
            new (self) Dataset(dataset(input, targets, timespans, lengths));
          },
          "input"_a, "targets"_a, "timespans"_a = nb::none(), "lengths"_a = nb::none(),
          nb::sig("def __init__(self, input: typing.Any, targets: typing.Any, timespans: typing.Any = None, lengths: "
                  "typing.Any = None) -> None"))
      .def_ro("samples", &Dataset::samples);
  nb::class_<NcpTrainer>(module, "NcpTrainer", "Trains the parameters of a layer, epoch by epoch.")
      .def(
          "__init__",
          [](NcpTrainer* self, NcpLayer& layer, const std::string& options, const Dataset& training,
             const Dataset* validation, const nb::object& comm, bool deterministic) {
            new (self)
                NcpTrainer(layer, options, training, validation != nullptr ? std::optional(*validation) : std::nullopt,
                           comm.is_none() ? single_process() : mpi4py_world(comm), deterministic);
          },
          "layer"_a, "options"_a, "training"_a, "validation"_a.none() = nb::none(), "comm"_a = nb::none(),
          "deterministic"_a = false,
          nb::sig(
              "def __init__(self, layer: NcpLayer, options: str, training: NcpDataset, validation: NcpDataset | None "
              "= None, comm: typing.Any = None, deterministic: bool = False) -> None"))
      .def_prop_ro("first", &NcpTrainer::first, "Whether this is rank 0.")
      .def("agreed", &NcpTrainer::agreed, "mine"_a, "What rank 0 says.")
      .def_prop_ro("finished", &NcpTrainer::finished)
      .def_prop_ro("kernel", &NcpTrainer::kernel)
      .def("run_epoch", &NcpTrainer::run_epoch, "last_good"_a = "",
           nb::sig("def run_epoch(self, last_good: str = '') -> dict[str, typing.Any] | None"))
      .def("save", &NcpTrainer::save, "path"_a, "Writes a checkpoint, in one step.")
      .def("restore", &NcpTrainer::restore, "path"_a, "Goes on from a checkpoint.")
      .def("store", &NcpTrainer::store, "layer"_a, "best"_a = false, "Puts the parameters into a layer.");
  module.def(
      "ncp_evaluate",
      [](NcpLayer& layer, const std::string& options, const Dataset& data) {
        const ncp::TrainingOptions o = ncp::training_options_from_json(options);
        const ncp::ParameterSet<float> parameters = layer.parameters();
        ncp::LossSums result;
        {
          const nb::gil_scoped_release release;
          result = ncp::evaluate(layer.layer(), parameters, data, o.loss, o.readout, o.precision);
        }
        return sums(result);
      },
      "layer"_a, "options"_a, "data"_a,
      nb::sig("def ncp_evaluate(layer: NcpLayer, options: str, data: NcpDataset) -> dict[str, float]"));
}

}  // namespace tessera::python
