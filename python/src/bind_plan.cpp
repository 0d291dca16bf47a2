// tessera.plan and tessera.simulate: whole networks planned for a machine, and simulated on it.

#include "arrays.h"
#include "bind.h"
#include "network_argument.h"

#include "tessera/core/error.h"
#include "tessera/io/onnx/import.h"
#include "tessera/session/planned_network.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// Ctrl-C while the interpreter's lock is not held: what runs is told to stop, and finish() raises KeyboardInterrupt.
class Interrupt {
 public:
  PlanningProgress progress() {
    return {.stop = [this] { return came(); }};
  }
  // With the interpreter's lock.
  void finish() const {
    if (!came_) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }

 private:
  bool came() {
    if (came_) return true;
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      came_ = true;
    }
    return came_;
  }

  std::atomic<bool> came_ = false;
};

// Runs it without the interpreter's lock.
template <class Body>
auto interruptible(const Body& body) {
  Interrupt interrupt;
  using Result = decltype(body(interrupt.progress()));
  std::optional<Result> result;
  try {
    const nb::gil_scoped_release release;
    result.emplace(body(interrupt.progress()));
  } catch (const Error&) {
    interrupt.finish();
    throw;
  }
  interrupt.finish();
  return std::move(*result);
}

PlanRequest request_of(const std::string& objective, std::optional<double> min_pcc, std::optional<double> budget,
                       bool partial, std::optional<int> command_queues, std::optional<std::int64_t> mesh) {
  PlanRequest request;
  check(objective == "device" || objective == "end_to_end", Code::invalid_argument,
        "objective is 'device' or 'end_to_end', not '{}'", objective);
  if (objective == "end_to_end") request.objective = PlanObjective::end_to_end;
  check(!min_pcc || (*min_pcc >= 0 && *min_pcc <= 1), Code::invalid_argument, "min_pcc is {}, not from 0 to 1",
        min_pcc.value_or(0));
  check(!budget || *budget > 0, Code::invalid_argument, "budget_s is {}, not above 0", budget.value_or(0));
  check(!mesh || *mesh >= 1, Code::invalid_argument, "mesh is {}, not from 1 on", mesh.value_or(0));
  check(!command_queues || *command_queues == 1 || *command_queues == 2, Code::invalid_argument,
        "command_queues is {}, not 1 or 2", command_queues.value_or(0));
  request.min_pcc = min_pcc;
  request.budget_s = budget;
  request.partial = partial;
  request.command_queues = command_queues;
  request.mesh = mesh;
  return request;
}

PlannedNetwork make_plan(const std::filesystem::path& model, const std::string& device, std::int64_t batch,
                         const std::optional<Shapes>& shapes, const std::optional<Dimensions>& dims,
                         const PlanRequest& request) {
  return interruptible([&](const PlanningProgress& progress) {
    return plan_network(network_of(model, shapes, dims, batch), device, request, progress, model.string());
  });
}

SimulationOptions simulation_options(const Network& network, const nb::object& inputs, bool values) {
  SimulationOptions options;
  options.values = values;
  if (inputs.is_none()) return options;
  if (!nb::isinstance<nb::list>(inputs) && !nb::isinstance<nb::tuple>(inputs))
    throw nb::type_error("inputs is a list of arrays, one for each input of the network in order");
  const std::vector<Port> ports = network.inputs();
  const std::size_t given = nb::len(inputs);
  check(given == ports.size(), Code::invalid_argument, "the network has {} inputs, {} were given", ports.size(), given);
  for (std::size_t i = 0; i < given; ++i)
    options.inputs.push_back(import_host_array(nb::object(inputs[i]), ports[i].type.type));
  return options;
}

SimulatedNetwork simulate_plan(const PlannedNetwork& plan, const nb::object& inputs, bool values) {
  const SimulationOptions options = simulation_options(plan.network(), inputs, values);
  return interruptible([&](const PlanningProgress& progress) { return plan.simulate(options, progress); });
}

SimulatedNetwork simulate_model(const std::filesystem::path& model, const std::string& device, std::int64_t batch,
                                const nb::object& inputs, bool values, const std::optional<Shapes>& shapes,
                                const std::optional<Dimensions>& dims) {
  const Network network = network_of(model, shapes, dims, batch);
  const SimulationOptions options = simulation_options(network, inputs, values);
  return interruptible(
      [&](const PlanningProgress& progress) { return simulate_network(network, device, options, progress); });
}

nb::list outputs_of(const SimulatedNetwork& simulated) {
  nb::list out;
  for (const Array& output : simulated.outputs()) out.append(export_host_array(output));
  return out;
}

void bind_step(nb::module_& module) {
  nb::class_<PlannedStep>(module, "PlanStep", "One operator of a plan: how it runs, and for how long.")
      .def_ro("node", &PlannedStep::node, "The node of the network.")
      .def_ro("op", &PlannedStep::op)
      .def_ro("config", &PlannedStep::config, "How it runs, in the words of the machine.")
      .def_ro("seconds", &PlannedStep::time_s, "Predicted.")
      .def_ro("bound", &PlannedStep::bound, "The resource of the machine that it waits for.")
      .def_ro("why", &PlannedStep::why, "Why it runs so.")
      .def("__repr__", [](const PlannedStep& step) {
        return fmt::format("<tessera.PlanStep {}: {}, {:.3g} us>", step.node, step.op, step.time_s * 1e6);
      });
}

void bind_simulation(nb::module_& module) {
  nb::class_<SimulatedNetwork>(module, "Simulation", "What a simulated machine did with a network.")
      .def_prop_ro("seconds", &SimulatedNetwork::seconds, "Of one batch on the device, simulated.")
      .def_prop_ro("outputs", outputs_of, nb::sig("def outputs(self) -> list[typing.Any]"),
                   "Numpy arrays by the arithmetic of the machine; empty with values=False.")
      .def("to_json", &SimulatedNetwork::json, "Everything that __str__ shows, as a JSON document.")
      .def("save_html", &SimulatedNetwork::save_html, "path"_a, "The memory of the device over time, as a page.")
      .def("save_svg", &SimulatedNetwork::save_svg, "path"_a, "The same as a picture.")
      .def("save_trace", &SimulatedNetwork::save_trace, "path"_a,
           "Host, queues and cores over time, as trace events that Perfetto opens.")
      .def("__str__", &SimulatedNetwork::text)
      .def("__repr__", [](const SimulatedNetwork& simulated) {
        return fmt::format("<tessera.Simulation: {:.3g} us>", simulated.seconds() * 1e6);
      });
}

}  // namespace

void bind_plan(nb::module_& module) {
  bind_step(module);
  bind_simulation(module);
  nb::class_<PlannedNetwork>(module, "Plan",
                             "A network planned for a machine: how every operator runs there. Times are predicted.")
      .def_prop_ro("machine", &PlannedNetwork::machine, "The name of the machine.")
      .def_prop_ro("batch", &PlannedNetwork::batch)
      .def_prop_ro(
          "seconds", [](const PlannedNetwork& plan) { return plan.times().device_s; }, "Of one batch on the device.")
      .def_prop_ro(
          "end_to_end_seconds",
          [](const PlannedNetwork& plan) -> std::optional<double> {
            const double seconds = plan.times().end_to_end_s;
            return seconds > 0 ? std::optional(seconds) : std::nullopt;
          },
          "With the host around it; None where that is not known.")
      .def_prop_ro("steps", &PlannedNetwork::steps, "Every operator, in order.")
      .def("explain", &PlannedNetwork::explain, "node"_a, "Why a node runs as it does, and what else was weighed.")
      .def("to_json", &PlannedNetwork::json, "The plan as a plan file has it.")
      .def("save", &PlannedNetwork::save, "path"_a, "Writes a plan file, which `tessera simulate` and `run` read too.")
      .def("save_report", &PlannedNetwork::save_report, "path"_a,
           "Writes a report: .html, .md, .csv, .json or .txt, as the name says.")
      .def("simulate", simulate_plan, nb::kw_only(), "inputs"_a = nb::none(), "values"_a = true,
           nb::sig("def simulate(self, *, inputs: collections.abc.Sequence[typing.Any] | None = None, values: bool = "
                   "True) -> Simulation"),
           "Runs the network on the simulated machine as the plan says. Without inputs they are random;\n"
           "values=False: memory and time only, much faster.")
      .def("__str__", &PlannedNetwork::text)
      .def("__repr__", [](const PlannedNetwork& plan) {
        return fmt::format("<tessera.Plan for {}: {} steps, {:.3g} us for a batch of {}>", plan.machine(),
                           plan.steps().size(), plan.times().device_s * 1e6, plan.batch());
      });
  module.def(
      "plan",
      [](const std::filesystem::path& model, const std::string& device, std::int64_t batch,
         const std::optional<Shapes>& shapes, const std::optional<Dimensions>& dims, const std::string& objective,
         std::optional<double> min_pcc, std::optional<double> budget_s, bool partial, std::optional<int> command_queues,
         std::optional<std::int64_t> mesh) {
        return make_plan(model, device, batch, shapes, dims,
                         request_of(objective, min_pcc, budget_s, partial, command_queues, mesh));
      },
      "model"_a, "device"_a = "cpu", nb::kw_only(), "batch"_a = 1, "shapes"_a = nb::none(), "dims"_a = nb::none(),
      "objective"_a = "device", "min_pcc"_a = nb::none(), "budget_s"_a = nb::none(), "partial"_a = false,
      "command_queues"_a = nb::none(), "mesh"_a = nb::none(),
      "Plans a network for a machine: an .onnx file, or a network of the zoo by its name.\n\n"
      "device: \"cpu\", a machine by name (\"wormhole_n150\"), or a machine file\n"
      "batch: of a network of the zoo\n"
      "shapes, dims: of inputs that the model leaves open, by name\n"
      "objective: \"device\", or \"end_to_end\" with the host around it\n"
      "min_pcc: least correlation of the outputs with float32\n"
      "budget_s: seconds of searching, at most\n"
      "partial: what the machine has no operator for runs on the host\n"
      "command_queues: 1 or 2; mesh: cards that share the work");
  module.def(
      "load_plan",
      [](const std::filesystem::path& file, const std::filesystem::path& model, std::int64_t batch,
         const std::optional<Shapes>& shapes, const std::optional<Dimensions>& dims) {
        const nb::gil_scoped_release release;
        return load_plan(file, network_of(model, shapes, dims, batch));
      },
      "path"_a, "model"_a, nb::kw_only(), "batch"_a = 1, "shapes"_a = nb::none(), "dims"_a = nb::none(),
      "A plan file, for the network that it was made for.");
  module.def("simulate", simulate_model, "model"_a, "device"_a, nb::kw_only(), "batch"_a = 1, "inputs"_a = nb::none(),
             "values"_a = true, "shapes"_a = nb::none(), "dims"_a = nb::none(),
             nb::sig("def simulate(model: str | os.PathLike, device: str, *, batch: int = 1, inputs: "
                     "collections.abc.Sequence[typing.Any] | None = None, values: bool = True, shapes: "
                     "collections.abc.Mapping[str, collections.abc.Sequence[int]] | None = None, dims: "
                     "collections.abc.Mapping[str, int] | None = None) -> Simulation"),
             "Runs a network on a simulated machine without a plan: every operator as it chooses for itself.");
}

}  // namespace tessera::python
