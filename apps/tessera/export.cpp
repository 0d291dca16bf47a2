// tessera export: a network as an ONNX file.

#include "command.h"

#include "tessera/graph/zoo/zoo.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/import.h"

#include <fmt/format.h>

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

void export_model(const ExportArguments& arguments, const Context& context) {
  const Graph graph = arguments.model.ends_with(".onnx") ? import_onnx(arguments.model)
                                                         : make_zoo_model(arguments.model, arguments.batch);
  ExportOptions options;
  if (arguments.opset != 0) options.opset = arguments.opset;
  export_onnx(graph, arguments.file, options);
  if (!context.quiet && context.format == Format::table)
    context.print(fmt::format("{}: {} nodes, {} B\n", arguments.file, graph.nodes.size(),
                              std::filesystem::file_size(arguments.file)));
}

}  // namespace

void add_export(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand("export", "Write a network as an ONNX file that any runtime reads");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("model", arguments->model, "A network of the zoo, or an .onnx file")
      ->required()
      ->type_name("MODEL");
  command->add_option("file", arguments->file, "The file to write")->required()->type_name("FILE.onnx");
  command
      ->add_option("--opset", arguments->opset,
                   fmt::format("The opset to write, {} to {}; without, the oldest that has every operator",
                               ExportOptions::kOldestOpset, ExportOptions::kNewestOpset))
      ->check(CLI::Range(ExportOptions::kOldestOpset, ExportOptions::kNewestOpset))
      ->type_name("N");
  command->add_option("--batch", arguments->batch, "The batch of a network of the zoo")->type_name("N");
  command->callback([arguments, &context] { export_model(*arguments, context); });
}

}  // namespace tessera::cli
