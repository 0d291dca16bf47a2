#include "tessera/io/onnx/import.h"

#include "tessera/core/text.h"
#include "tessera/io/internal/loaded_file.h"
#include "tessera/io/onnx/internal/graph_import.h"
#include "tessera/io/onnx/internal/parse_model.h"
#include "tessera/io/onnx/internal/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

namespace tessera {
namespace {

void check_options(const onnx::pb::ModelProto& model, const ImportOptions& options) {
  for (const auto& [name, dims] : options.shapes) {
    const auto& inputs = model.graph().input();
    const bool known =
        std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name() == name; });
    std::string names;
    for (const auto& input : inputs) names += (names.empty() ? "" : ", ") + input.name();
    check(known, Code::invalid_argument, "the model has no input '{}' to give a shape, only {}", name, names);
  }
  if (options.dimensions.empty()) return;
  std::vector<std::string> open;
  for (const auto& input : model.graph().input())
    for (const auto& dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty() && std::ranges::find(open, dim.dim_param()) == open.end())
        open.push_back(dim.dim_param());
  for (const auto& [name, extent] : options.dimensions)
    check(std::ranges::find(open, name) != open.end(), Code::invalid_argument,
          "no input of the model has an extent called '{}'{}{}", name, did_you_mean(name, open),
          open.empty() ? "; none has a name" : fmt::format(" (there are {})", fmt::join(open, ", ")));
}

// A model in memory, with `file` read from there.
struct Source {
  std::span<const std::byte> bytes;
  std::filesystem::path folder;
  std::shared_ptr<const io::LoadedFile> file;
};

// Adds what there is to say to the report; the graph is whole if there are no problems in it.
Graph import_model(const Source& source, const ImportOptions& options, ImportReport& report) {
  Graph graph;
  try {
    onnx::pb::ModelProto model;
    std::vector<std::span<const std::byte>> raw = onnx::parse_model(source.bytes, model);
    check_options(model, options);
    report.ir_version = model.ir_version();
    report.producer = model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
    report.opsets = onnx::read_opsets(model.opset_import());
    if (const auto opset = report.opsets.find(""); opset != report.opsets.end() && opset->second > onnx::kNewestOpset)
      report.notes.push_back(
          fmt::format("opset {} is newer than {}, whose meaning is assumed", opset->second, onnx::kNewestOpset));

    onnx::ModelImport import{source.folder, options, report, {}, 0, 0, {}, &model.graph(), std::move(raw), source.file};
    for (const auto& function : model.functions())
      import.functions.emplace(
          std::tuple(function.domain() == "ai.onnx" ? "" : function.domain(), function.name(), function.overload()),
          &function);
    onnx::GraphImport(import, graph, report.opsets, 1).import_graph(model.graph(), nullptr);
    if (report.problems.empty()) verify(graph);
  } catch (const Error& error) {
    report.problems.push_back({.code = error.code(),
                               .node = {},
                               .op_type = {},
                               .domain = {},
                               .opset = 0,
                               .attribute = {},
                               .reason = error.message(),
                               .fix = error.hint()});
  } catch (const std::bad_alloc&) {
    fail(Code::out_of_memory, "the model does not fit into memory");
  } catch (const std::length_error&) {
    fail(Code::out_of_memory, "the model does not fit into memory");
  }
  std::sort(report.operators.begin(), report.operators.end(),
            [](const auto& a, const auto& b) { return std::tie(a.domain, a.op_type) < std::tie(b.domain, b.op_type); });
  return graph;
}

Graph import_or_throw(const Source& source, const ImportOptions& options) {
  ImportReport report;
  Graph graph = import_model(source, options, report);
  if (report.problems.empty()) return graph;
  if (report.problems.size() == 1)
    throw Error(report.problems[0].code, report.problems[0].to_string(), report.problems[0].fix);
  // A fault of the model outweighs something that we lack.
  const auto fault = std::find_if(report.problems.begin(), report.problems.end(),
                                  [](const auto& p) { return p.code != Code::unsupported; });
  std::string text = fmt::format("the model has {} problems:", report.problems.size());
  for (const ImportProblem& problem : report.problems) {
    text += "\n  " + problem.to_string();
    if (!problem.fix.empty()) text += " (" + problem.fix + ")";
  }
  throw Error(fault == report.problems.end() ? Code::unsupported : fault->code, text);
}

Source open_model(const std::filesystem::path& model) {
  const std::filesystem::path folder = model.parent_path();
  const auto file = std::make_shared<const io::LoadedFile>(model);
  return {file->bytes(), folder.empty() ? std::filesystem::path(".") : folder, file};
}

}  // namespace

std::string ImportProblem::to_string() const {
  if (node.empty() && op_type.empty()) return reason;
  const std::string opset_text = opset == 0 ? "" : fmt::format(", opset {}", opset);
  return fmt::format("node '{}' ({}{}{}{}): {}", node, domain, domain.empty() ? "" : ".", op_type, opset_text, reason);
}

Graph import_onnx(const std::filesystem::path& model, const ImportOptions& options) {
  return with_context(fmt::format("while importing '{}'", model.string()),
                      [&] { return import_or_throw(open_model(model), options); });
}

Graph import_onnx_bytes(std::span<const std::byte> model, const std::filesystem::path& folder,
                        const ImportOptions& options) {
  return import_or_throw({model, folder, nullptr}, options);
}

ImportReport check_onnx(const std::filesystem::path& model, const ImportOptions& options) {
  ImportReport report;
  import_model(open_model(model), options, report);
  return report;
}

ImportReport check_onnx_bytes(std::span<const std::byte> model, const std::filesystem::path& folder,
                              const ImportOptions& options) {
  ImportReport report;
  import_model({model, folder, nullptr}, options, report);
  return report;
}

bool has_onnx() { return true; }

}  // namespace tessera
