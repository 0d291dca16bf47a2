// tessera export: a network as an ONNX file, or each layer of a file as one.

#include "arguments.h"
#include "command.h"

#include "tessera/core/file_system.h"
#include "tessera/graph/graph.h"
#include "tessera/io/layer_file.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct ExportArguments {
  std::string model, file;
  std::int64_t opset = 0;
  std::int64_t batch = 1;
};

namespace fs = std::filesystem;

Graph load_graph(const ExportArguments& arguments) {
  if (arguments.model.ends_with(".onnx")) return import_onnx(arguments.model);
  if (const std::optional<ConvBlock> layer = find_layer(arguments.model)) return make_layer(*layer);
  return make_named_network(arguments.model, arguments.batch);
}

std::string file_name(std::string name) {
  const auto odd = [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-' && c != '.'; };
  std::replace_if(name.begin(), name.end(), odd, '_');
  return name + ".onnx";
}

// Every layer into a folder, under its name.
void export_layers(const ExportArguments& arguments, const ExportOptions& options, const Context& context) {
  Table table({{.name = "layer", .key = "name"},
               {.name = "file"},
               {.name = "GFLOP", .key = "gflop", .align = Align::right},
               {.name = "shape"}});
  make_folders(arguments.file);
  for (const ConvBlock& layer : load_layers(arguments.model)) {
    const Graph graph = make_layer(layer);
    const fs::path file = fs::path(arguments.file) / file_name(layer.name);
    export_onnx(graph, file, options);
    const double gflop = layer.flops() * 1e-9;
    table.add_row({layer.name, file.string(), Cell(gflop, fmt::format("{:.3f}", gflop)),
                   graph.value(graph.inputs[0]).type.to_string()});
  }
  context.print(table);
}

void export_model(const ExportArguments& arguments, const Context& context) {
  ExportOptions options;
  if (arguments.opset != 0) options.opset = arguments.opset;
  if (is_layer_file(arguments.model)) return export_layers(arguments, options, context);
  const Graph graph = load_graph(arguments);
  export_onnx(graph, arguments.file, options);
  const std::uintmax_t bytes = fs::file_size(arguments.file);
  if (context.format == Format::table) {
    if (!context.quiet) context.print(fmt::format("{}: {} nodes, {} B\n", arguments.file, graph.nodes.size(), bytes));
    return;
  }
  Table table({{.name = "network", .key = "name"},
               {.name = "file"},
               {.name = "nodes", .align = Align::right},
               {.name = "bytes", .align = Align::right},
               {.name = "shape"}});
  table.add_row({graph.name, arguments.file, graph.nodes.size(), static_cast<std::int64_t>(bytes),
                 graph.inputs.empty() ? "" : graph.value(graph.inputs[0]).type.to_string()});
  context.print(table);
}

}  // namespace

void add_export(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand("export", "Write a network as an ONNX file");
  auto arguments = std::make_shared<ExportArguments>();
  command
      ->add_option("model", arguments->model,
                   "A network of the zoo, an .onnx file, a layer (FILE.txt:NAME), or layers (FILE.txt)")
      ->required()
      ->type_name("MODEL");
  command->add_option("file", arguments->file, "The file to write; for a file of layers, the directory")
      ->required()
      ->type_name("FILE.onnx");
  command
      ->add_option("--opset", arguments->opset,
                   fmt::format("The opset to write, {} to {}; without, the oldest that has every operator",
                               ExportOptions::kOldestOpset, ExportOptions::kNewestOpset))
      ->check(CLI::Range(ExportOptions::kOldestOpset, ExportOptions::kNewestOpset))
      ->type_name("N");
  command->add_option("--batch", arguments->batch, "Batch size of a network of the zoo")->type_name("N");
  command->callback([arguments, &context] { export_model(*arguments, context); });
}

}  // namespace tessera::cli
