// Wirings of liquid networks, built from their recipes.

#include "arrays.h"
#include "bind.h"

#include "tessera/core/error.h"
#include "tessera/ncp/wiring.h"
#include "tessera/ncp/wiring_drawing.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using ncp::Wiring;

nb::object matrix(const std::vector<std::int8_t>& values, int rows, int columns) {
  Array out(ElementType::int32, Shape{rows, columns});
  for (std::size_t i = 0; i < values.size(); ++i) out.as<std::int32_t>()[i] = values[i];
  return export_host_array(std::move(out));
}

ncp::WiringStyle style(const std::string& layout, bool sensory_neurons, bool labels,
                       const std::map<std::string, std::string>& colors) {
  const auto known = ncp::parse_wiring_layout(layout);
  check(known.has_value(), Code::invalid_argument, Hint{"to_dot() gives Graphviz text, which has more layouts"},
        "there is no layout '{}': they are shell, circular and layers", layout);
  return {*known, sensory_neurons, labels, colors, {}};
}

nb::list layers(const Wiring& wiring) {
  nb::list out;
  for (const ncp::WiringLayer& layer : wiring.layers) {
    nb::list neurons;
    for (const int neuron : layer.neurons) neurons.append(neuron);
    out.append(nb::make_tuple(layer.name, neurons));
  }
  return out;
}

}  // namespace

void bind_ncp_wiring(nb::module_& module) {
  nb::class_<Wiring>(module, "NcpWiring", "A wiring that has been built.")
      .def(
          "__init__",
          [](Wiring* self, const std::string& spec, int inputs) {
            new (self) Wiring(ncp::build_wiring(ncp::wiring_spec_from_json(spec), inputs));
          },
          "spec"_a, "inputs"_a, "From a recipe as JSON.")
      .def_ro("inputs", &Wiring::inputs)
      .def_ro("units", &Wiring::units)
      .def_ro("outputs", &Wiring::outputs)
      .def_prop_ro("spec", [](const Wiring& w) { return ncp::wiring_spec_to_json(w.spec); })
      .def_prop_ro("digest", [](const Wiring& w) { return ncp::digest(w); })
      .def_prop_ro("layers", layers, nb::sig("def layers(self) -> list[tuple[str, list[int]]]"))
      .def(
          "adjacency", [](const Wiring& w) { return matrix(w.adjacency, w.units, w.units); },
          nb::sig("def adjacency(self) -> typing.Any"))
      .def(
          "sensory", [](const Wiring& w) { return matrix(w.sensory, w.inputs, w.units); },
          nb::sig("def sensory(self) -> typing.Any"))
      .def(
          "neuron_type",
          [](const Wiring& w, int neuron) {
            check(0 <= neuron && neuron < w.units, Code::invalid_argument, "there is no neuron {} among {}", neuron,
                  w.units);
            return std::string(ncp::neuron_type(w, neuron));
          },
          "neuron"_a)
      .def("to_json", [](const Wiring& w) { return ncp::wiring_to_json(w); })
      .def(
          "to_dot",
          [](const Wiring& w, const std::string& layout, bool sensory_neurons, bool labels,
             const std::map<std::string, std::string>& colors) {
            return ncp::wiring_to_dot(w, style(layout, sensory_neurons, labels, colors));
          },
          "layout"_a = "shell", "sensory_neurons"_a = true, "labels"_a = false,
          "colors"_a = std::map<std::string, std::string>{})
      .def(
          "to_svg",
          [](const Wiring& w, const std::string& layout, bool sensory_neurons, bool labels,
             const std::map<std::string, std::string>& colors, const std::vector<std::array<double, 2>>& positions) {
            ncp::WiringStyle how = style(layout, sensory_neurons, labels, colors);
            for (const auto& [x, y] : positions) how.positions.push_back({x, y});
            return ncp::wiring_to_svg(w, how);
          },
          "layout"_a = "shell", "sensory_neurons"_a = true, "labels"_a = false,
          "colors"_a = std::map<std::string, std::string>{}, "positions"_a = std::vector<std::array<double, 2>>{});
}

}  // namespace tessera::python
