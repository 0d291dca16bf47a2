// Liquid layers: what the models of tessera.ncps compute with.

#include "arrays.h"
#include "bind.h"
#include "ncp_layer.h"

#include "tessera/core/error.h"
#include "tessera/io/ncp_file.h"
#include "tessera/ncp/call.h"
#include "tessera/ncp/foreign_parameters.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

Array import_floats(nb::handle array, const char* what) {
  return with_context(std::string("while taking ") + what, [&] {
    Array out = import_host_array(array, ElementType::float32);
    check(out.type() != ElementType::boolean, Code::invalid_argument, "truth values are no numbers");
    return out;
  });
}

std::optional<Array> import_optional(nb::handle array, const char* what) {
  if (array.is_none()) return std::nullopt;
  return import_floats(array, what);
}

nb::object export_optional(std::optional<Array> array) {
  return array ? export_host_array(std::move(*array)) : nb::object(nb::none());
}

ncp::CallArguments arguments_of(nb::handle input, nb::handle state, nb::handle memory, nb::handle timespans,
                                std::optional<std::uint64_t> dropout_seed) {
  ncp::CallArguments out{.input = import_floats(input, "the input")};
  out.state = import_optional(state, "the initial state");
  out.memory = import_optional(memory, "the initial memory");
  out.timespans = import_optional(timespans, "timespans");
  out.dropout_seed = dropout_seed;
  return out;
}

nb::object export_parameter(const ncp::Parameter<float>& item) {
  return export_host_array(Array::of<float>(Shape(item.info.shape), item.values));
}

nb::dict export_set(const ncp::ParameterSet<float>& set, bool trainable_only = false) {
  nb::dict out;
  for (const auto& item : set.items)
    if (item.info.trainable || !trainable_only) out[nb::str(item.info.name.c_str())] = export_parameter(item);
  return out;
}

ncp::ParameterSet<float> import_set(const nb::dict& arrays) {
  ncp::ParameterSet<float> out;
  for (const auto [key, value] : arrays) {
    const std::string name = nb::cast<std::string>(key);
    const Array array = import_floats(value, name.c_str());
    const std::vector<double> values = array.to_double();
    out.items.push_back({{name, array.shape().dims()}, {values.begin(), values.end()}});
  }
  return out;
}

// In the order of the layer; what it does not know comes last, for check_parameters() to name.
ncp::ParameterSet<float> ordered(const ncp::Layer& layer, ncp::ParameterSet<float> given) {
  ncp::ParameterSet<float> out;
  for (const ncp::ParameterInfo& info : ncp::parameter_list(layer)) {
    const int at = given.find(info.name);
    if (at < 0) continue;
    out.items.push_back(std::move(given.items[static_cast<std::size_t>(at)]));
    out.items.back().info.trainable = info.trainable;
    given.items.erase(given.items.begin() + at);
  }
  for (auto& item : given.items) out.items.push_back(std::move(item));
  return out;
}

ncp::Dialect dialect_of(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, ncp::Dialect>, 4> kNames{{{"torch", ncp::Dialect::torch},
                                                                             {"keras", ncp::Dialect::keras},
                                                                             {"mlx", ncp::Dialect::mlx},
                                                                             {"paper", ncp::Dialect::paper}}};
  for (const auto& [name, dialect] : kNames)
    if (name == text) return dialect;
  fail(Code::invalid_argument, "there is no dialect '{}': they are torch, keras, mlx and paper", text);
}

nb::tuple run_layer(NcpLayer& self, nb::handle input, nb::handle state, nb::handle memory, nb::handle timespans,
                    std::optional<std::uint64_t> dropout_seed, bool keep_states) {
  ncp::CallArguments arguments = arguments_of(input, state, memory, timespans, dropout_seed);
  arguments.keep = keep_states ? ncp::KeepStates::yes : ncp::KeepStates::no;
  const auto runner = self.runner();
  ncp::CallResult result;
  {
    const nb::gil_scoped_release release;
    result = ncp::call(*runner, arguments);
  }
  return nb::make_tuple(export_host_array(std::move(result.output)), export_host_array(std::move(result.state)),
                        export_optional(std::move(result.memory)), export_optional(std::move(result.states)));
}

nb::tuple differentiate(NcpLayer& self, nb::handle input, nb::handle d_output, nb::handle state, nb::handle memory,
                        nb::handle timespans, nb::handle d_state, nb::handle d_memory,
                        std::optional<std::uint64_t> dropout_seed) {
  const ncp::CallArguments arguments = arguments_of(input, state, memory, timespans, dropout_seed);
  ncp::OutputGradients by{.output = import_floats(d_output, "the gradient of the output")};
  by.state = import_optional(d_state, "the gradient of the state");
  by.memory = import_optional(d_memory, "the gradient of the memory");
  const ncp::ParameterSet<float> parameters = self.parameters();
  ncp::CallGradients result;
  {
    const nb::gil_scoped_release release;
    result = ncp::differentiate(self.layer(), parameters, arguments, by);
  }
  return nb::make_tuple(export_set(result.parameters, true), export_host_array(std::move(result.input)),
                        export_host_array(std::move(result.state)), export_optional(std::move(result.memory)));
}

nb::list parameter_list(const NcpLayer& self) {
  nb::list out;
  for (const auto& item : self.parameters().items) {
    nb::list shape;
    for (const std::int64_t extent : item.info.shape) shape.append(extent);
    out.append(nb::make_tuple(item.info.name, nb::tuple(shape), item.info.trainable));
  }
  return out;
}

// A stepper that keeps its runner; parameters loaded later do not change it.
class NcpStepper {
 public:
  explicit NcpStepper(NcpLayer& layer) : runner_(layer.runner()), stepper_(*runner_) {}

  using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  nb::object step(nb::handle input, std::optional<float> elapsed) {
    Floats fast;
    if (nb::try_cast(input, fast, false)) return given({fast.data(), fast.size()}, elapsed);
    const std::vector<double> values = import_floats(input, "the input of a step").to_double();
    const std::vector<float> floats(values.begin(), values.end());
    return given(floats, elapsed);
  }
  nb::object state() const { return vector(stepper_.state()); }
  nb::object memory() const { return vector(stepper_.memory()); }
  void set_state(nb::handle state, nb::handle memory) {
    const auto floats = [](nb::handle array, const char* what) {
      const std::vector<double> values =
          array.is_none() ? std::vector<double>{} : import_floats(array, what).to_double();
      return std::vector<float>(values.begin(), values.end());
    };
    stepper_.set_state(floats(state, "a state"), floats(memory, "a memory"));
  }
  void reset() { stepper_.reset(); }

 private:
  static nb::object vector(std::span<const float> values) {
    return export_host_array(Array::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values));
  }
  nb::object given(std::span<const float> input, std::optional<float> elapsed) {
    return vector(elapsed ? stepper_.step(input, *elapsed) : stepper_.step(input));
  }

  std::shared_ptr<const ncp::Runner> runner_;
  ncp::Stepper stepper_;
};

void bind_stepper(nb::module_& module) {
  nb::class_<NcpStepper>(module, "NcpStepper",
                         "A layer in a control loop: one sample, one step at a time, the state kept between.")
      .def(nb::init<NcpLayer&>(), "layer"_a)
      .def("__call__", &NcpStepper::step, "input"_a, "elapsed"_a = nb::none(),
           nb::sig("def __call__(self, input: typing.Any, elapsed: float | None = None) -> typing.Any"),
           "The output after one more step, 1 after the last unless said otherwise: [inputs] in, [outputs] out.")
      .def_prop_ro("state", &NcpStepper::state, nb::sig("def state(self) -> typing.Any"))
      .def_prop_ro("memory", &NcpStepper::memory, nb::sig("def memory(self) -> typing.Any"))
      .def("set_state", &NcpStepper::set_state, "state"_a, "memory"_a = nb::none(),
           nb::sig("def set_state(self, state: typing.Any, memory: typing.Any = None) -> None"))
      .def("reset", &NcpStepper::reset, "The state becomes zeros.");
}

}  // namespace

void bind_ncp_layer(nb::module_& module) {
  nb::class_<NcpLayer>(module, "NcpLayer", "A liquid layer with its parameters; models of tessera.ncps have one.")
      .def(
          "__init__",
          [](NcpLayer* self, const std::string& json, std::uint64_t seed) {
            ncp::Layer layer = ncp::layer_from_json(json);
            auto parameters = ncp::converted<float>(ncp::initial_parameters(layer, seed));
            new (self) NcpLayer(std::move(layer), std::move(parameters));
          },
          "description"_a, "seed"_a = 0, "From a description as JSON, with random parameters.")
      .def_static(
          "load",
          [](const std::filesystem::path& path) {
            NcpFile file = load_ncp_file(path);
            return NcpLayer(std::move(file.layer), std::move(file.parameters));
          },
          "path"_a)
      .def_prop_ro("json", [](const NcpLayer& self) { return ncp::layer_to_json(self.layer()); })
      .def_prop_ro("inputs", [](const NcpLayer& self) { return ncp::sizes(self.layer()).inputs; })
      .def_prop_ro("state_size", [](const NcpLayer& self) { return ncp::sizes(self.layer()).state; })
      .def_prop_ro("outputs", [](const NcpLayer& self) { return ncp::sizes(self.layer()).outputs; })
      .def_prop_ro(
          "kernel", [](NcpLayer& self) { return std::string(self.runner()->kernel()); },
          "What runs: \"cfc_f32_avx512\", ..., or \"reference\".")
      .def("parameter_list", parameter_list,
           nb::sig("def parameter_list(self) -> list[tuple[str, tuple[int, ...], bool]]"),
           "Names, shapes and whether they are trained.")
      .def(
          "state_dict", [](const NcpLayer& self) { return export_set(self.parameters()); },
          nb::sig("def state_dict(self) -> dict[str, typing.Any]"))
      .def(
          "load_state_dict",
          [](NcpLayer& self, const nb::dict& arrays) {
            self.set_parameters(ordered(self.layer(), import_set(arrays)));
          },
          "arrays"_a, nb::sig("def load_state_dict(self, arrays: dict[str, typing.Any]) -> None"))
      .def(
          "import_parameters",
          [](NcpLayer& self, const nb::dict& arrays, const std::string& dialect) {
            self.set_parameters(ncp::import_parameters(self.layer(), import_set(arrays), dialect_of(dialect)));
          },
          "arrays"_a, "dialect"_a,
          nb::sig("def import_parameters(self, arrays: dict[str, typing.Any], dialect: str) -> None"))
      .def(
          "export_parameters",
          [](const NcpLayer& self, const std::string& dialect) {
            return export_set(ncp::export_parameters(self.layer(), self.parameters(), dialect_of(dialect)));
          },
          "dialect"_a, nb::sig("def export_parameters(self, dialect: str) -> dict[str, typing.Any]"))
      .def("apply_constraints",
           [](NcpLayer& self) {
             ncp::ParameterSet<float> parameters = self.parameters();
             ncp::apply_constraints(self.layer(), parameters);
             self.set_parameters(std::move(parameters));
           })
      .def(
          "save",
          [](const NcpLayer& self, const std::filesystem::path& path) {
            save_ncp_file(path, self.layer(), self.parameters());
          },
          "path"_a)
      .def(
          "load_parameters",
          [](NcpLayer& self, const std::filesystem::path& path, const std::string& prefix) {
            self.set_parameters(load_ncp_parameters(path, self.layer(), prefix));
          },
          "path"_a, "prefix"_a = "")
      .def("run", run_layer, "input"_a, "state"_a = nb::none(), "memory"_a = nb::none(), "timespans"_a = nb::none(),
           "dropout_seed"_a = nb::none(), "keep_states"_a = false,
           nb::sig("def run(self, input: typing.Any, state: typing.Any = None, memory: typing.Any = None, timespans: "
                   "typing.Any = None, dropout_seed: int | None = None, keep_states: bool = False) -> "
                   "tuple[typing.Any, typing.Any, typing.Any, typing.Any]"),
           "Output, state, memory or None, states of every step or None.")
      .def("differentiate", differentiate, "input"_a, "d_output"_a, "state"_a = nb::none(), "memory"_a = nb::none(),
           "timespans"_a = nb::none(), "d_state"_a = nb::none(), "d_memory"_a = nb::none(),
           "dropout_seed"_a = nb::none(),
           nb::sig("def differentiate(self, input: typing.Any, d_output: typing.Any, state: typing.Any = None, memory: "
                   "typing.Any = None, timespans: typing.Any = None, d_state: typing.Any = None, d_memory: typing.Any "
                   "= None, dropout_seed: int | None = None) -> tuple[dict[str, typing.Any], typing.Any, typing.Any, "
                   "typing.Any]"),
           "Gradients by parameters, input, state and memory (or None).");
  bind_stepper(module);
}

}  // namespace tessera::python
