#include "plan_emit.h"

#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/io/ncp_file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/apple/emit/mlx.h"
#include "tessera/targets/neuron/emit/nki.h"
#include "tessera/targets/tensix/emit/ttnn.h"

#include <fmt/format.h>

#include <filesystem>

namespace tessera::cli {
namespace {

void tell_written(const std::string& file, const emit::Script& script, const Context& context) {
  if (context.quiet || context.format != Format::table) return;
  context.print(fmt::format("written to {}{}\n", file,
                            script.weights.empty() ? "" : fmt::format(", weights to {}", script.weights_file)));
}

void emit_mlx(const std::string& file, const ModelArgument& argument, const Context& context) {
  const std::string weights = emit::weights_file_of(file);
  const std::filesystem::path path(argument.model);
  emit::Script script;
  if (path.extension() == ".safetensors") {
    check(std::filesystem::weakly_canonical(path.parent_path() / path.filename()) !=
              std::filesystem::weakly_canonical(std::filesystem::path(file).parent_path() / weights),
          Code::invalid_argument, Hint{"give the script another name"},
          "the script's weights would overwrite '{}', which they come from", argument.model);
    const NcpFile layer = load_ncp_file(path);
    script = apple::mlx_script(layer.layer, layer.parameters, path.stem().string(), weights);
  } else {
    Model model = load_model(argument);
    script = apple::mlx_script(std::move(model.graph), model.name, weights);
  }
  emit::save_script(file, script);
  tell_written(file, script, context);
}

void emit_nki(const std::string& file, const ModelArgument& argument, const std::string& device,
              const Context& context) {
  check(!device.empty(), Code::invalid_argument, Hint{"--device trainium1, or trainium2"},
        "--emit nki plans tiles for a NeuronCore: which one is not said");
  const Machine machine = load_machine(device);
  const NeuronSpec& spec = neuron_of(machine);
  Model model = load_model(argument);
  neuron::NkiNetwork network;
  {
    Progress progress("planning " + model.name, model.graph.nodes.size(), context.quiet);
    std::size_t done = 0;
    network = neuron::nki_network(std::move(model.graph), spec, model.name, emit::weights_file_of(file),
                                  [&](const std::string& node) { progress.at(++done, node); });
  }
  emit::save_script(file, network.script);
  Table table({{.name = "node"},
               {.name = "layer"},
               {.name = "schedule"},
               {.name = "simulated", .key = "simulated_us", .unit = "us", .align = Align::right},
               {.name = "left out", .key = "left_out"}});
  for (const neuron::NkiLayer& layer : network.layers)
    table.add_row({layer.node, layer.problem.text(), layer.schedule.text(),
                   Cell(layer.simulated_us, fmt::format("{:.1f}", layer.simulated_us)), Cell()});
  for (const neuron::NkiRefusal& each : network.left_out)
    table.add_row({each.node, Cell(), Cell(), Cell(), each.reason});
  context.print(table);
  if (context.quiet || context.format != Format::table) return;
  context.print(fmt::format("\n{} of {} convolutions; {} other operators are not written\n", network.layers.size(),
                            network.layers.size() + network.left_out.size(), network.other_operators));
  tell_written(file, network.script, context);
}

}  // namespace

void add_emit_option(CLI::App& command, EmitArgument& argument) {
  command
      .add_option(
          "--emit", argument.words,
          "Write it as a Python script, with its weights beside it: ttnn (the plan for a card), mlx, nki (fused "
          "convolutions for a NeuronCore)")
      ->expected(2)
      ->type_name("WHAT FILE");
}

void check_emit(const EmitArgument& emit) {
  if (!emit.given()) return;
  const std::string& what = emit.words[0];
  check(what == "ttnn" || what == "mlx" || what == "nki", Code::invalid_argument, "--emit {}: it is ttnn, mlx or nki",
        what);
}

void emit_network(const EmitArgument& emit, const ModelArgument& model, const std::string& device,
                  const Context& context) {
  if (emit.words[0] == "mlx") return emit_mlx(emit.words[1], model, context);
  emit_nki(emit.words[1], model, device, context);
}

void emit_card_plan(const EmitArgument& emit, const tensix::LoweredGraph& network, const tensix::CardPlan& plan,
                    const Context& context) {
  const tessera::emit::Script script =
      tessera::tensix::ttnn_script(network, plan, tessera::emit::weights_file_of(emit.words[1]));
  tessera::emit::save_script(emit.words[1], script);
  tell_written(emit.words[1], script, context);
}

}  // namespace tessera::cli
