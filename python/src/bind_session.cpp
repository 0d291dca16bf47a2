// tessera.Session: a network on this machine's CPU.

#include "arrays.h"
#include "bind.h"
#include "mpi4py_world.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/ops/control_flow_run.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/import.h"
#include "tessera/scale/chunked_run.h"
#include "tessera/scale/shared_model.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"

#include <fmt/ranges.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;
using Dimensions = std::map<std::string, std::int64_t>;

ElementType storage_type(const std::string& text) {
  if (text == "float32") return ElementType::float32;
  if (text == "bfloat16") return ElementType::bfloat16;
  fail(Code::invalid_argument, "storage is 'float32' or 'bfloat16', not '{}'", text);
}

DType weights_dtype(const std::string& text) {
  const std::optional<DType> dtype = parse_dtype(text);
  check(dtype && (*dtype == DType::float32 || *dtype == DType::bfloat16 || is_block_float(*dtype)),
        Code::invalid_argument, "weights are 'float32', 'bfloat16', 'bfloat8_b' or 'bfloat4_b', not '{}'", text);
  return *dtype;
}

Isa isa_of(const std::string& text) {
  const std::optional<Isa> isa = parse_isa(text);
  check(isa.has_value(), Code::invalid_argument, "there is no instruction set '{}'", text);
  check(*isa <= host_isa(), Code::unsupported, "this CPU has {} at most, not {}", name(host_isa()), text);
  return *isa;
}

// A file, or a network of the zoo where no file has that name.
Graph graph_of(const std::filesystem::path& model, const ImportOptions& import, std::int64_t batch) {
  const std::string text = model.string();
  const bool known = means_named_network(text);
  if ((std::filesystem::exists(model) && !known) || text.ends_with(".onnx") ||
      (!known && text.find('/') != std::string::npos))
    return import_onnx(model, import);
  check(import.shapes.empty() && import.dimensions.empty(), Code::invalid_argument,
        "the shapes of zoo networks are fixed; batch changes the batch");
  return make_named_network(text, batch);
}

// The network as rank 0 finds it: its files go to all of them.
Graph shared_graph(Communicator& world, const std::filesystem::path& model, const ImportOptions& import,
                   std::int64_t batch) {
  must_agree(world, "the version", TESSERA_VERSION);
  const SharedModel shared(world, model);
  std::optional<Graph> graph;
  together(world, [&] {
    graph = shared.bytes().empty() || world.rank() == 0 ? graph_of(model, import, batch)
                                                        : import_onnx_bytes(shared.bytes(), shared.folder(), import);
  });
  return std::move(*graph);
}

struct Options {
  int threads;
  std::string storage;
  std::optional<std::string> isa;
  std::vector<std::string> passes_off, kernels_off;
  std::size_t max_plans;
  std::optional<std::int64_t> memory_limit_bytes;
  bool exact;
  std::string weights;
  std::optional<std::int64_t> loop_limit;
};

SessionOptions session_options(const Options& options) {
  check(options.threads >= 0, Code::invalid_argument, "{} threads cannot run anything", options.threads);
  SessionOptions out;
  out.threads = options.threads;
  out.storage = storage_type(options.storage);
  if (options.isa) out.isa = isa_of(*options.isa);
  out.passes_off = options.passes_off;
  out.kernels_off = options.kernels_off;
  out.max_plans = options.max_plans;
  out.memory_limit_bytes = options.memory_limit_bytes;
  out.exact = options.exact;
  out.weights = weights_dtype(options.weights);
  check(!options.loop_limit || *options.loop_limit > 0, Code::invalid_argument, "loop_limit is {}, not above 0",
        options.loop_limit.value_or(0));
  out.loop_limit = options.loop_limit;
  return out;
}

Session make_session(const std::filesystem::path& model, const Options& options, const std::optional<Shapes>& shapes,
                     const std::optional<Dimensions>& dims, std::int64_t batch, const nb::object& comm) {
  const SessionOptions out = session_options(options);
  const std::unique_ptr<Communicator> world = comm.is_none() ? nullptr : mpi4py_world(comm);
  const nb::gil_scoped_release release;
  const ImportOptions import{shapes.value_or(Shapes{}), dims.value_or(Dimensions{})};
  return Session(world ? shared_graph(*world, model, import, batch) : graph_of(model, import, batch), out);
}

std::vector<Array> in_order(const Session& session, const nb::sequence& arrays) {
  const std::size_t given = nb::len(arrays), wanted = session.inputs().size();
  check(given == wanted, Code::invalid_argument, "the network has {} input{}, {} {} given", wanted,
        wanted == 1 ? "" : "s", given, given == 1 ? "is" : "are");
  std::vector<Array> out;
  for (std::size_t i = 0; i < given; ++i)
    out.push_back(import_host_array(nb::object(arrays[i]), session.inputs()[i].type.type));
  return out;
}

std::map<std::string, Array> by_name(const Session& session, const nb::dict& arrays) {
  std::map<std::string, Array> out;
  for (const auto& [key, array] : arrays) {
    const std::string name = nb::cast<std::string>(key);
    const auto& ports = session.inputs();
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == name; });
    // What nobody asked for is refused by name; its type does not matter.
    out.emplace(name, import_host_array(array, port == ports.end() ? ElementType::float32 : port->type.type));
  }
  return out;
}

// A dict by name, or a sequence in order; without either zeros, where every extent is known.
std::vector<Array> inputs_of(const Session& session, const nb::object& inputs) {
  if (nb::isinstance<nb::dict>(inputs)) {
    std::map<std::string, Array> named = by_name(session, nb::borrow<nb::dict>(inputs));
    std::vector<Array> out;
    for (const Port& port : session.inputs()) {
      const auto found = named.find(port.name);
      check(found != named.end(), Code::invalid_argument, "input '{}' ({}) is missing", port.name,
            port.type.to_string());
      out.push_back(std::move(found->second));
    }
    return out;
  }
  if (!inputs.is_none()) return in_order(session, nb::borrow<nb::sequence>(inputs));
  std::vector<Array> out;
  for (const Port& port : session.inputs()) {
    check(port.type.is_static(), Code::invalid_argument, Hint{"hand over inputs of the shapes you mean"},
          "input '{}' is {}: which shape shall it have?", port.name, port.type.to_string());
    out.emplace_back(port.type.type, port.type.shape());
  }
  return out;
}

nb::list listed(std::vector<Array> arrays) {
  nb::list out;
  for (Array& array : arrays) out.append(export_host_array(std::move(array)));
  return out;
}

// While it lives, loops of this thread look every now and then whether Python has a signal to handle: Ctrl-C ends them
// with KeyboardInterrupt. Made without the interpreter's lock.
class InterruptibleLoops {
 public:
  InterruptibleLoops() {
    on_loop_iteration() = [last = std::chrono::steady_clock::now()]() mutable {
      const auto now = std::chrono::steady_clock::now();
      if (now - last < std::chrono::milliseconds(50)) return;
      last = now;
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
  }
  ~InterruptibleLoops() { on_loop_iteration() = {}; }
  InterruptibleLoops(const InterruptibleLoops&) = delete;
  InterruptibleLoops& operator=(const InterruptibleLoops&) = delete;
};

nb::list run_in_order(const Session& session, const nb::sequence& arrays) {
  const std::vector<Array> inputs = in_order(session, arrays);
  std::vector<Array> outputs;
  {
    const nb::gil_scoped_release release;
    const InterruptibleLoops interruptible;
    outputs = session.run(inputs);
  }
  return listed(std::move(outputs));
}

nb::object run(const Session& session, const nb::object& inputs) {
  if (!nb::isinstance<nb::dict>(inputs)) {
    if (!nb::isinstance<nb::list>(inputs) && !nb::isinstance<nb::tuple>(inputs))
      throw nb::type_error("run() takes a dict of arrays by name, or a list of arrays in order");
    return run_in_order(session, nb::borrow<nb::sequence>(inputs));
  }
  const std::map<std::string, Array> named = by_name(session, nb::borrow<nb::dict>(inputs));
  std::map<std::string, Array> outputs;
  {
    const nb::gil_scoped_release release;
    const InterruptibleLoops interruptible;
    outputs = session.run(named);
  }
  nb::dict out;
  for (const Port& port : session.outputs())  // in the order of the network
    if (const auto found = outputs.find(port.name); found != outputs.end())
      out[nb::str(port.name.c_str())] = export_host_array(std::move(found->second));
  return out;
}

std::string port_text(const Port& port) { return fmt::format("{} {}", port.name, port.type.to_string()); }

std::string session_text(const Session& session) {
  std::vector<std::string> in, out;
  for (const Port& port : session.inputs()) in.push_back(port_text(port));
  for (const Port& port : session.outputs()) out.push_back(port_text(port));
  return fmt::format("<tessera.Session: {} -> {}>", fmt::join(in, ", "), fmt::join(out, ", "));
}

// What all ranks must agree in for a chunk to come to the same everywhere.
std::string network_text(const Session& session) {
  const SessionOptions& options = session.options();
  return fmt::format("{}, {}, {}, weights {}{}", session_text(session), name(session.isa()), name(options.storage),
                     name(options.weights), options.exact ? ", exact" : "");
}

nb::object run_over(const Session& session, const nb::object& comm, const nb::object& inputs) {
  const std::unique_ptr<Communicator> world = mpi4py_world(comm);
  std::vector<Array> arrays;
  ChunkedRun done;
  const bool first = world->rank() == 0;
  together(*world, [&] {  // with the interpreter's lock: inputs are its objects
    check(first || inputs.is_none(), Code::invalid_argument, "inputs are those of rank 0; the others hand over None");
    if (first && inputs.is_none()) fail(Code::invalid_argument, "rank 0 has no inputs");
    if (first) arrays = inputs_of(session, inputs);
  });
  {
    const nb::gil_scoped_release release;
    must_agree(*world, "the network", network_text(session));
    const TensorType& type = session.inputs().at(0).type;
    check(type.is_static() && type.shape().rank() >= 1, Code::invalid_argument,
          Hint{"shapes=, dims= or batch= say how many samples are run at a time"},
          "input '{}' is {}: how many samples shall be run at a time?", session.inputs()[0].name, type.to_string());
    ChunkedRunOptions options;
    options.chunk = type.shape()[0];
    done = run_chunks(*world, session, arrays, options, [](std::int64_t) {});
  }
  if (!first) return nb::none();
  if (!nb::isinstance<nb::dict>(inputs)) return listed(std::move(done.outputs));
  nb::dict named;
  for (std::size_t i = 0; i < done.outputs.size(); ++i)
    named[nb::str(session.outputs()[i].name.c_str())] = export_host_array(std::move(done.outputs[i]));
  return named;
}

nb::list profile(const Session& session, const nb::object& inputs, int runs, int warm_up) {
  const std::vector<Array> arrays = inputs_of(session, inputs);
  SessionProfile measured;
  {
    const nb::gil_scoped_release release;
    const InterruptibleLoops interruptible;
    measured = session.profile(arrays, runs, warm_up);
  }
  nb::list out;
  for (const ProfiledStep& step : measured.steps) {
    nb::dict row;
    row["name"] = step.name;
    row["node"] = step.node;
    row["op"] = step.op;
    row["kernel"] = step.kernel;
    row["shape"] = step.shape;
    row["seconds"] = step.seconds;
    row["begin_ns"] = step.begin_ns;
    row["end_ns"] = step.end_ns;
    row["flops"] = step.work.flops;
    row["read_bytes"] = step.work.read_bytes;
    row["write_bytes"] = step.work.write_bytes;
    out.append(row);
  }
  return out;
}

nb::dict plan_summary(const Session& session, const nb::object& inputs) {
  const std::vector<Array> arrays = inputs_of(session, inputs);
  PlanSummary summary;
  {
    const nb::gil_scoped_release release;
    const InterruptibleLoops interruptible;
    summary = session.prepare(arrays);
  }
  nb::dict out;
  out["steps"] = summary.steps;
  out["stages"] = summary.stages;
  out["arena_bytes"] = summary.arena_bytes;
  out["arena_lower_bound_bytes"] = summary.arena_lower_bound_bytes;
  out["weight_bytes"] = summary.weight_bytes;
  out["flops"] = summary.flops;
  return out;
}

nb::object shape_of(const Port& port) {
  if (!port.type.dims) return nb::none();
  nb::list extents;
  for (const std::int64_t extent : *port.type.dims)
    extents.append(extent == TensorType::kUnknown ? nb::object(nb::none()) : nb::object(nb::int_(extent)));
  return nb::tuple(extents);
}

void bind_port(nb::module_& module) {
  nb::class_<Port>(module, "Port", "An input or output of a network.")
      .def_ro("name", &Port::name)
      .def_prop_ro(
          "dtype", [](const Port& port) { return std::string(name(port.type.type)); }, "\"float32\", \"int64\", ...")
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int | None, ...] | None"),
                   "The extents, None for those that are open; None if even their number is.")
      .def("__repr__", [](const Port& port) { return fmt::format("<tessera.Port {}>", port_text(port)); });
}

}  // namespace

void bind_session(nb::module_& module) {
  bind_port(module);
  nb::class_<Session>(
      module, "Session", nb::is_weak_referenceable(),
      "A network on this machine's CPU: an .onnx file, or a network of the zoo by its name.\n\n"
      "Loading reads and optimises; the first run with new shapes plans for them, and after that a run\n"
      "only computes. A session may be used from several threads at once, and others run meanwhile.\n\n"
      "threads: how many; 0 for all that the process may use\n"
      "storage: how values and weights are kept, \"float32\" or \"bfloat16\"; arithmetic is float32\n"
      "shapes: of inputs that the model leaves open, by name\n"
      "dims: values of named extents of the model\n"
      "isa: the most that may be used: \"portable\", \"avx2\", \"avx512\", \"avx512_vnni\", \"avx512_bf16\", \"amx\"\n"
      "batch: of a network of the zoo\n"
      "passes_off, kernels_off: names of optimisations and kernels to leave out\n"
      "max_plans: kept for so many different input shapes\n"
      "memory_limit_bytes: the most that values of a run may take, those of loops too; by default 7/8 of what the\n"
      "    machine, or its cgroup, has\n"
      "loop_limit: the most iterations of all loops of a run together; by default ten million\n"
      "exact: no kernels that round more than the definition (Winograd's), and subnormal weights stay\n"
      "weights: how weights of convolutions and products are kept: \"float32\", \"bfloat16\", \"bfloat8_b\", "
      "\"bfloat4_b\"\n"
      "comm: a communicator of mpi4py, of which all ranks make this session: rank 0 reads the file, the others get it")
      .def(
          "__init__",
          [](Session* self, const std::filesystem::path& model, int threads, const std::string& storage,
             const std::optional<Shapes>& shapes, const std::optional<std::string>& isa,
             const std::optional<Dimensions>& dims, std::int64_t batch, const std::vector<std::string>& passes_off,
             const std::vector<std::string>& kernels_off, std::size_t max_plans,
             std::optional<std::int64_t> memory_limit_bytes, bool exact, const std::string& weights,
             std::optional<std::int64_t> loop_limit, const nb::object& comm) {
            new (self) Session(make_session(model,
                                            {threads, storage, isa, passes_off, kernels_off, max_plans,
                                             memory_limit_bytes, exact, weights, loop_limit},
                                            shapes, dims, batch, comm));
          },
          "model"_a, nb::kw_only(), "threads"_a = 0, "storage"_a = "float32", "shapes"_a = nb::none(),
          "isa"_a = nb::none(), "dims"_a = nb::none(), "batch"_a = 1, "passes_off"_a = std::vector<std::string>{},
          "kernels_off"_a = std::vector<std::string>{}, "max_plans"_a = 8, "memory_limit_bytes"_a = nb::none(),
          "exact"_a = false, "weights"_a = "float32", "loop_limit"_a = nb::none(), "comm"_a = nb::none())
      .def_prop_ro(
          "inputs", [](const Session& s) { return s.inputs(); }, "What the network takes.")
      .def_prop_ro(
          "outputs", [](const Session& s) { return s.outputs(); }, "What it gives.")
      .def_prop_ro("threads", &Session::threads)
      .def_prop_ro("isa", [](const Session& s) { return std::string(name(s.isa())); })
      .def_prop_ro("storage", [](const Session& s) { return std::string(name(s.options().storage)); })
      .def_prop_ro("weights", [](const Session& s) { return std::string(name(s.options().weights)); })
      .def_prop_ro("plans_made", &Session::plans_made, "How many plans have been made since the session began.")
      .def("run", run, "inputs"_a,
           nb::sig("def run(self, inputs: dict[str, typing.Any] | collections.abc.Sequence[typing.Any]) -> typing.Any"),
           "Runs the network. A dict of arrays by name gives a dict of numpy arrays, a list in order gives a list.\n\n"
           "Arrays are anything with __dlpack__ or __array__, of the type that the network takes, of any strides;\n"
           "bfloat16 through the ml_dtypes package.")
      .def(
          "__call__",
          [](const Session& s, const nb::args& arrays) { return run_in_order(s, nb::borrow<nb::sequence>(arrays)); },
          nb::sig("def __call__(self, *arrays: typing.Any) -> list[typing.Any]"),
          "session(x, y) is session.run([x, y]).")
      .def(
          "run_over", run_over, "comm"_a, "inputs"_a = nb::none(),
          nb::sig("def run_over(self, comm: typing.Any, inputs: dict[str, typing.Any] | "
                  "collections.abc.Sequence[typing.Any] | None = None) -> typing.Any"),
          "Runs the network over many samples by all ranks of a communicator of mpi4py, each of which calls it.\n\n"
          "Rank 0 hands over the inputs, [samples, ...] each, and gets the outputs, in order; the others get None.\n"
          "As many samples as the inputs of the session have are run at a time, and go to whoever is free. The "
          "outputs\n"
          "are the same bits for any number of ranks. If a rank fails, all raise an Error that names it and the cause.")
      .def("profile", profile, "inputs"_a = nb::none(), "runs"_a = 10, "warm_up"_a = 2,
           nb::sig("def profile(self, inputs: dict[str, typing.Any] | collections.abc.Sequence[typing.Any] | None = "
                   "None, runs: "
                   "int = 10, warm_up: int = 2) -> list[dict[str, typing.Any]]"),
           "What each step took: its node, operator, kernel, seconds (median over the runs), flops and bytes.\n"
           "Without inputs, zeros of the network's shapes.")
      .def("plan_summary", plan_summary, "inputs"_a = nb::none(),
           nb::sig("def plan_summary(self, inputs: dict[str, typing.Any] | collections.abc.Sequence[typing.Any] | None "
                   "= None) "
                   "-> dict[str, typing.Any]"),
           "Plans for inputs of these shapes, and says what the plan needs: steps, bytes, floating-point operations.")
      .def("__repr__", session_text);

  module.def(
      "zoo",
      [] {
        nb::dict names;
        for (const NamedNetwork& network : named_networks())
          names[nb::str(network.name.c_str())] = nb::str(network.description.c_str());
        return names;
      },
      nb::sig("def zoo() -> dict[str, str]"), "The networks that can be had by name, with a line about each.");
  module.def(
      "export_onnx",
      [](const std::filesystem::path& model, const std::filesystem::path& file, std::optional<std::int64_t> opset,
         std::int64_t batch) {
        const nb::gil_scoped_release release;
        export_onnx(graph_of(model, {}, batch), file, {opset});
      },
      "model"_a, "file"_a, nb::kw_only(), "opset"_a = nb::none(), "batch"_a = 1,
      "Writes a network of the zoo, or an .onnx file read back, as an ONNX model.");
}

}  // namespace tessera::python
