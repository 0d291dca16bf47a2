#include "tessera/io/onnx/external_files.h"

#include "tessera/io/onnx/internal/parse_model.h"

#include <set>

namespace tessera {
namespace {

using Files = std::set<std::string>;

void add(const onnx::pb::TensorProto& tensor, Files& to) {
  if (tensor.data_location() != onnx::pb::TensorProto::EXTERNAL) return;
  for (const auto& entry : tensor.external_data())
    if (entry.key() == "location") to.insert(entry.value());
}

void add(const onnx::pb::GraphProto& graph, Files& to);

template <class Nodes>
void add_nodes(const Nodes& nodes, Files& to) {
  for (const auto& node : nodes)
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) add(attribute.t(), to);
      for (const auto& tensor : attribute.tensors()) add(tensor, to);
      if (attribute.has_g()) add(attribute.g(), to);
      for (const auto& graph : attribute.graphs()) add(graph, to);
    }
}

// As deep as the parser lets them be.
void add(const onnx::pb::GraphProto& graph, Files& to) {
  for (const auto& tensor : graph.initializer()) add(tensor, to);
  for (const auto& tensor : graph.sparse_initializer()) {
    add(tensor.values(), to);
    add(tensor.indices(), to);
  }
  add_nodes(graph.node(), to);
}

}  // namespace

std::vector<std::string> onnx_external_files(std::span<const std::byte> bytes) {
  onnx::pb::ModelProto model;
  onnx::parse_model(bytes, model);
  Files files;
  add(model.graph(), files);
  for (const auto& function : model.functions()) add_nodes(function.node(), files);
  return {files.begin(), files.end()};
}

}  // namespace tessera
