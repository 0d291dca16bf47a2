#include "tessera/targets/neuron/contract/neuron_target.h"

#include "tessera/core/error.h"
#include "tessera/io/emit/script.h"
#include "tessera/target/script_target.h"
#include "tessera/targets/neuron/emit/nki.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tessera::neuron {
namespace {

constexpr std::array kLanguages = {Language{.name = "nki",
                                            .needs = "plans tiles for a NeuronCore: which one is not said",
                                            .device = "trainium1, or trainium2"}};

class NeuronTarget : public ScriptTarget {
 public:
  std::string_view family() const override { return "neuron"; }
  std::span<const Language> languages() const override { return kLanguages; }

  using Target::emit;
  Emitted emit(const EmitRequest& request) const override {
    check(request.machine != nullptr, Code::invalid_argument, Hint{fmt::format("--device {}", kLanguages[0].device)},
          "--emit {} {}", kLanguages[0].name, kLanguages[0].needs);
    const NeuronSpec& spec = neuron_of(*request.machine);
    LoadedNetwork network = request.load();
    const std::size_t nodes = network.graph.nodes.size();
    std::size_t done = 0;
    NkiNetwork written = nki_network(std::move(network.graph), spec, network.name,
                                     emit::weights_file_of(request.script), [&](const std::string& node) {
                                       if (request.on_progress) request.on_progress(++done, nodes, node);
                                     });
    Table table({{.name = "node"},
                 {.name = "layer"},
                 {.name = "schedule"},
                 {.name = "simulated", .key = "simulated_us", .unit = "us", .align = Align::right},
                 {.name = "left out", .key = "left_out"}});
    for (const NkiLayer& layer : written.layers)
      table.add_row({layer.node, layer.problem.text(), layer.schedule.text(),
                     Cell(layer.simulated_us, fmt::format("{:.1f}", layer.simulated_us)), Cell()});
    for (const NkiRefusal& each : written.left_out) table.add_row({each.node, Cell(), Cell(), Cell(), each.reason});
    Emitted out{.script = std::move(written.script)};
    out.view.parts.push_back(
        {.table = std::move(table),
         .after = fmt::format("\n{} of {} convolutions; {} other operators are not written\n", written.layers.size(),
                              written.layers.size() + written.left_out.size(), written.other_operators)});
    return out;
  }
};

}  // namespace

const Target& target() {
  static const NeuronTarget target;
  return target;
}

}  // namespace tessera::neuron
