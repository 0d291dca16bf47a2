// tessera ncp export: a trained layer as an ONNX file.

#include "arguments.h"
#include "ncp.h"

#include "tessera/core/file.h"
#include "tessera/io/onnx/export.h"
#include "tessera/ncp/graph_layer.h"

#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct NcpExportOptions {
  NcpTrainedArgument model;
  std::string output;
  std::int64_t batch = 0, steps = 0;  // 0: known when the network is run
  bool timespans = false, state = false, last = false;
};

void set_last_only(ncp::Layer& layer) {
  std::visit([](auto& l) { l.return_sequences = false; }, layer);
}

void export_layer(const NcpExportOptions& options, const Context& context) {
  check_can_write(options.output);
  NcpTrained trained = load_ncp_trained(options.model);
  if (options.last) set_last_only(trained.layer);
  ncp::LayerGraphOptions form;
  if (options.batch > 0) form.batch = options.batch;
  if (options.steps > 0) form.steps = options.steps;
  form.timespans = options.timespans;
  form.initial_state = options.state;
  const Graph graph = ncp::to_graph(trained.layer, trained.parameters, form);
  export_onnx(graph, options.output);
  if (context.quiet || !context.for_people()) return;
  std::string text = options.output + "\n";
  for (const ValueId id : graph.inputs)
    text += fmt::format("  input   {} {}\n", graph.value(id).name, graph.value(id).type.to_string());
  for (const ValueId id : graph.outputs)
    text += fmt::format("  output  {} {}\n", graph.value(id).name, graph.value(id).type.to_string());
  context.print(text);
}

}  // namespace

void add_ncp_export(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("export", "Write a trained layer as an ONNX file that any runtime runs");
  auto options = std::make_shared<NcpExportOptions>();
  add_ncp_trained_argument(*command, options->model);
  command->add_option("-o,--output", options->output, "The file to write")->required()->type_name("FILE.onnx");
  command->add_option("--batch", options->batch, "Fix the batch size")->check(whole_number(1, 1 << 24))->type_name("N");
  command->add_option("--steps", options->steps, "Fix the number of steps")
      ->check(whole_number(1, 1 << 24))
      ->type_name("N");
  command->add_flag("--timespans", options->timespans,
                    "Add an input with the time before each step; otherwise it is 1");
  command->add_flag("--initial-state", options->state, "Add an input with the first state; otherwise zeros");
  command->add_flag("--last-only", options->last, "The output is that of the last step");
  command->callback([options, &context] { export_layer(*options, context); });
}

}  // namespace tessera::cli
