// tessera ncp: liquid networks. `ncp wiring` shows what a recipe makes; each of the others has a file of its own.

#include "ncp.h"
#include "ncp_profile.h"
#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/ncp/wiring.h"
#include "tessera/ncp/wiring_drawing.h"

#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct WiringOptions {
  std::string spec;
  int inputs = 1;
  bool digest = false;
  bool json = false;
  bool dot = false;
  bool svg = false;
  bool no_sensory = false;
  bool no_labels = false;
  std::string layout = "layers";
  std::string output;
};

ncp::Wiring wiring_of(const WiringOptions& options, bool inputs_given) {
  if (!options.spec.ends_with(".json")) return ncp::build_wiring(ncp::parse_wiring_spec(options.spec), options.inputs);
  return with_context("while reading " + options.spec, [&] {
    ncp::Wiring wiring = ncp::wiring_from_json(read_text_file(options.spec));
    check(!inputs_given || wiring.inputs == options.inputs, Code::invalid_argument,
          "the file has a wiring of {} inputs, --inputs says {}", wiring.inputs, options.inputs);
    return wiring;
  });
}

void print_summary(const ncp::Wiring& wiring, const Context& context) {
  const ncp::SynapseCounts counts = ncp::count_synapses(wiring);
  Table table({{.name = "wiring"},
               {.name = "inputs", .align = Align::right},
               {.name = "units", .align = Align::right},
               {.name = "outputs", .align = Align::right},
               {.name = "layers"},
               {.name = "synapses", .align = Align::right},
               {.name = "excitatory", .align = Align::right},
               {.name = "sensory", .key = "sensory_synapses", .align = Align::right},
               {.name = "sensory exc.", .key = "sensory_excitatory", .align = Align::right},
               {.name = "digest"}});
  std::string layers;
  for (const ncp::WiringLayer& layer : wiring.layers)
    layers += fmt::format("{}{} {}", layers.empty() ? "" : ", ", layer.neurons.size(), layer.name);
  table.add_row({to_string(wiring.spec), wiring.inputs, wiring.units, wiring.outputs, layers, counts.synapses,
                 counts.excitatory, counts.sensory_synapses, counts.sensory_excitatory, digest(wiring)});
  context.print(table);
}

void show_wiring(const WiringOptions& options, bool inputs_given, const Context& context) {
  const ncp::Wiring wiring = wiring_of(options, inputs_given);
  ncp::WiringStyle style;
  style.layout = ncp::parse_wiring_layout(options.layout).value_or(style.layout);
  style.sensory_neurons = !options.no_sensory;
  style.labels = !options.no_labels;
  std::string text;
  if (options.digest) text = digest(wiring) + "\n";
  if (options.json) text = wiring_to_json(wiring);
  if (options.dot) text = wiring_to_dot(wiring, style);
  if (options.svg) text = wiring_to_svg(wiring, style);
  if (text.empty()) {
    check(options.output.empty(), Code::invalid_argument, Hint{"add --json, --dot or --svg"},
          "-o {} was given, but not what to write", options.output);
    return print_summary(wiring, context);
  }
  if (options.output.empty()) return context.print(text);
  write_file_atomically(options.output, std::string_view(text));
}

void add_wiring(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("wiring", "Build a wiring; print its counts, digest, synapses or picture");
  auto options = std::make_shared<WiringOptions>();
  command
      ->add_option("SPEC", options->spec,
                   "NCP(...), AutoNCP(units,outputs), FullyConnected(units), Random(units,sparsity=0.5), "
                   "Layered(inter:12x6,command:6x4+4,motor:1x6), or a .json file that --json wrote")
      ->required();
  CLI::Option* inputs = command->add_option("--inputs", options->inputs, "Number of inputs")->capture_default_str();
  CLI::Option_group* forms = command->add_option_group("form");
  forms->add_flag("--digest", options->digest, "Only the digest of both matrices");
  forms->add_flag("--json", options->json, "Recipe, counts and every synapse");
  forms->add_flag("--dot", options->dot, "Graphviz");
  forms->add_flag("--svg", options->svg, "A picture");
  forms->require_option(0, 1);
  command->add_option("--layout", options->layout, "Of the picture: layers, shell or circular")
      ->check(CLI::IsMember({"layers", "shell", "circular"}))
      ->capture_default_str();
  command->add_flag("--no-sensory", options->no_sensory, "Leave sensory neurons out of the picture");
  command->add_flag("--no-labels", options->no_labels, "No numbers in the neurons");
  command->add_option("-o,--output", options->output, "Write to a file");
  command->callback([options, inputs, &context] { show_wiring(*options, inputs->count() > 0, context); });
}

}  // namespace

void add_ncp(CLI::App& app, const Context& context) {
  CLI::App* ncp = app.add_subcommand("ncp", "Liquid networks: wirings of neural circuit policies, and training");
  ncp->require_subcommand(1);
  add_wiring(*ncp, context);
  add_ncp_train(*ncp, context);
  add_ncp_eval(*ncp, context);
  add_ncp_profile(*ncp, context);
}

}  // namespace tessera::cli
