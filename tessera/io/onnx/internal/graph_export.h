#pragma once

#include "tessera/graph/graph.h"
#include "tessera/io/onnx/internal/node_writer.h"

#include <tessera_onnx.pb.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace tessera::onnx {

struct ExportProblem {
  std::string node, op, reason;
};

// What is the same for all graphs of a model.
struct ModelExport {
  std::int64_t opset = 0;
  bool with_weights = true;               // without, everything else can be tried at no cost
  std::unordered_set<std::string> names;  // of values, bodies included: each is made once in the whole model
  std::vector<ExportProblem> problems;

  std::string unique_name(const std::string& wanted);
};

class GraphExport {
 public:
  GraphExport(ModelExport& model, const Graph& graph, pb::GraphProto& proto)
      : model_(model), graph_(graph), proto_(proto), names_(graph.values.size()) {}

  void write();
  // As the body of a node: inputs from `own` on are values of the graph around it.
  void write_body(std::size_t own, const Names& captures);

  ModelExport& model() { return model_; }
  pb::NodeProto& add_node() { return *proto_.add_node(); }
  std::string add_initializer(const std::string& name, const Array& value);
  void add_problem(const std::string& node, std::string reason);

 private:
  void name_inputs(std::size_t own);
  void write_nodes();
  void write_node(const Node& node);
  void write_op(const Op& op, NodeWriter writer);
  void write_outputs(bool body);
  const std::string& name_of(ValueId id);
  void describe(ValueId id, const std::string& name, pb::ValueInfoProto& info) const;

  ModelExport& model_;
  const Graph& graph_;
  pb::GraphProto& proto_;
  Names names_;  // by value; "" until it is met
  std::unordered_set<ValueId> made_;
  std::string_view op_;  // being written
};

}  // namespace tessera::onnx
