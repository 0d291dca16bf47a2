#include "tessera/io/onnx/export.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/io/internal/bytes.h"
#include "tessera/io/onnx/internal/graph_export.h"

#include <limits>
#include <map>
#include <new>
#include <utility>

namespace tessera {
namespace {

// The format that first had the opset.
std::int64_t ir_version(std::int64_t opset) { return opset < 19 ? 8 : opset < 21 ? 9 : 10; }

void check_weights(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Value& value : graph.values)
    if (value.constant) bytes += static_cast<std::int64_t>(value.constant->bytes().size());
  check(bytes <= ExportOptions::kMaxWeightBytes, Code::unsupported,
        "the weights take {} B, and only {} B are written into one file: weights in files of their own (external data) "
        "are not written",
        bytes, ExportOptions::kMaxWeightBytes);
}

std::vector<onnx::ExportProblem> write_model(const Graph& graph, std::int64_t opset, bool with_weights,
                                             onnx::pb::ModelProto& model) {
  model.set_ir_version(ir_version(opset));
  model.set_producer_name("tessera");
  model.add_opset_import()->set_version(opset);
  onnx::ModelExport shared{.opset = opset, .with_weights = with_weights, .names = {}, .problems = {}};
  onnx::GraphExport(shared, graph, *model.mutable_graph()).write();
  return std::move(shared.problems);
}

void write_metadata(const std::map<std::string, std::string>& metadata, onnx::pb::ModelProto& model) {
  for (const auto& [key, text] : metadata) {
    check(io::is_utf8(key) && io::is_utf8(text), Code::invalid_argument, "the metadata '{}' is not UTF-8 text",
          printable(key));
    if (key == "doc_string") {
      model.set_doc_string(text);
      continue;
    }
    auto* const entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(text);
  }
}

// Nodes that fail for the same reason are one line.
[[noreturn]] void refuse(const std::vector<onnx::ExportProblem>& problems, std::int64_t opset) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> nodes;
  for (const auto& problem : problems) nodes[{problem.op, problem.reason}].push_back(problem.node);
  std::string text;
  for (const auto& [what, names] : nodes)
    text += fmt::format("\n  {} (node '{}'{}): {}", what.first, names.front(),
                        names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1), what.second);
  fail(Code::unsupported, "the graph cannot be written in opset {}:{}", opset, text);
}

std::int64_t choose_opset(const Graph& graph, const ExportOptions& options) {
  constexpr std::int64_t oldest = ExportOptions::kOldestOpset, newest = ExportOptions::kNewestOpset;
  const std::int64_t first = options.opset.value_or(oldest), last = options.opset.value_or(newest);
  check(first >= oldest && last <= newest, Code::invalid_argument, "opset {} is not written, only {} to {}", first,
        oldest, newest);
  std::vector<onnx::ExportProblem> fewest;
  std::int64_t best = first;
  for (std::int64_t opset = first; opset <= last; ++opset) {
    onnx::pb::ModelProto model;
    auto problems = write_model(graph, opset, false, model);
    if (problems.empty()) return opset;
    if (opset == first || problems.size() < fewest.size()) {
      fewest = std::move(problems);
      best = opset;
    }
  }
  refuse(fewest, best);
}

}  // namespace

std::vector<std::byte> export_onnx_bytes(const Graph& given, const ExportOptions& options) {
  verify(given);
  Graph graph = given;
  expand_liquid_cells(graph);
  check_weights(graph);
  const std::int64_t opset = choose_opset(graph, options);
  try {
    onnx::pb::ModelProto model;
    write_model(graph, opset, true, model);
    write_metadata(options.metadata, model);
    check(model.ByteSizeLong() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::unsupported,
          "the model takes {} B, and a file of protobuf ends at 2 GiB", model.ByteSizeLong());
    std::vector<std::byte> bytes(model.ByteSizeLong());
    const bool written = model.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
    check(written, Code::internal, "the model of {} B could not be serialised", bytes.size());
    return bytes;
  } catch (const std::bad_alloc&) {
    fail(Code::out_of_memory, "the model does not fit into memory twice");
  }
}

void export_onnx(const Graph& graph, const std::filesystem::path& file, const ExportOptions& options) {
  with_context(fmt::format("while exporting '{}'", file.string()),
               [&] { write_file_atomically(file, export_onnx_bytes(graph, options)); });
}

}  // namespace tessera
