#pragma once

// What the functions that write operators (export_*.cpp) work with.

#include "tessera/graph/graph.h"
#include "tessera/graph/ops/window.h"

#include <tessera_onnx.pb.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::onnx {

class GraphExport;
using Names = std::vector<std::string>;  // "" where left out

// The attributes of a node. Those that have their default are not written.
class NodeAttributes {
 public:
  explicit NodeAttributes(pb::NodeProto& node) : node_(&node) {}

  NodeAttributes& integer(std::string_view name, std::int64_t value);
  NodeAttributes& integer(std::string_view name, std::int64_t value, std::int64_t otherwise);
  NodeAttributes& real(std::string_view name, float value);
  NodeAttributes& text(std::string_view name, std::string_view value);
  NodeAttributes& text(std::string_view name, std::string_view value, std::string_view otherwise);
  NodeAttributes& integers(std::string_view name, const std::vector<std::int64_t>& values);  // none: not written
  NodeAttributes& reals(std::string_view name, const std::vector<float>& values);
  NodeAttributes& texts(std::string_view name, const std::vector<std::string>& values);
  NodeAttributes& tensor(std::string_view name, const Array& value);
  NodeAttributes& window(const Window& window);
  pb::GraphProto& graph(std::string_view name);

 private:
  pb::AttributeProto& add(std::string_view name, pb::AttributeProto::AttributeType type);

  pb::NodeProto* node_;
};

// One operator of the graph on its way out: what it reads and makes, by name.
class NodeWriter {
 public:
  NodeWriter(GraphExport& graph, std::string name, Names inputs, std::vector<Known> known, Names outputs,
             std::vector<TensorType> output_types)
      : graph_(graph),
        name_(std::move(name)),
        inputs_(std::move(inputs)),
        known_(std::move(known)),
        outputs_(std::move(outputs)),
        output_types_(std::move(output_types)) {}

  std::int64_t opset() const;
  const Names& inputs() const { return inputs_; }
  const Names& outputs() const { return outputs_; }
  bool has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].empty(); }
  std::string input(std::size_t i) const { return has(i) ? inputs_[i] : std::string(); }
  const TensorType& type(std::size_t i) const { return known_[i].type; }
  const Array* constant(std::size_t i) const { return has(i) ? known_[i].constant : nullptr; }
  const std::vector<TensorType>& output_types() const { return output_types_; }

  // A node that reads all inputs and makes all outputs.
  NodeAttributes add(std::string_view op_type) { return add(op_type, inputs_, outputs_); }
  NodeAttributes add(std::string_view op_type, Names inputs, Names outputs);
  NodeAttributes add(std::string_view op_type, Names inputs) { return add(op_type, std::move(inputs), outputs_); }
  // A name for what a further node makes on the way.
  std::string between(std::string_view what);

  std::string initializer(std::string_view what, const Array& value);
  std::string integers(std::string_view what, const std::vector<std::int64_t>& values);  // int64, rank 1
  std::string scalar(std::string_view what, ElementType type, double value);             // rank 0

  // The graph of a node, whose inputs from `own` on stand for what this node captures.
  void body(const Graph& graph, std::size_t own, const Names& captures, pb::GraphProto& proto);

  // Notes that this cannot be written; the export fails once all such have been found.
  void refuse(std::string reason);
  void need_opset(std::int64_t first, std::string_view what);

 private:
  GraphExport& graph_;
  std::string name_;
  Names inputs_;
  std::vector<Known> known_;
  Names outputs_;
  std::vector<TensorType> output_types_;
  int nodes_ = 0;
};

}  // namespace tessera::onnx
