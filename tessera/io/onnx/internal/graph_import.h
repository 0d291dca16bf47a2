#pragma once

#include "tessera/io/internal/loaded_file.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/onnx/internal/names.h"
#include "tessera/io/onnx/internal/node_reader.h"

#include <tessera_onnx.pb.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

namespace tessera::onnx {

using Opsets = std::map<std::string, std::int64_t>;  // by domain; ONNX itself is ""
Opsets read_opsets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports);

// What is the same for every graph of a model.
struct ModelImport {
  static constexpr std::int64_t kMaxNodes = 1'000'000;  // with functions written out
  static constexpr int kMaxSecondAttempts = 256;        // nested bodies would double the work at every level

  std::filesystem::path folder;
  const ImportOptions& options;
  ImportReport& report;
  std::map<std::tuple<std::string, std::string, std::string>, const pb::FunctionProto*>
      functions;  // domain, name, overload
  std::int64_t nodes = 0;
  int second_attempts = 0;
  std::vector<Values> sequences;  // the id of the first is kFirstSequence, and down from there
  // Weights of this graph that are not in its message, by initialiser, and the file they lie in.
  const pb::GraphProto* main = nullptr;
  std::vector<std::span<const std::byte>> raw = {};
  std::shared_ptr<const io::LoadedFile> file = nullptr;
};

// Turns one graph, one body of a node or one call of a function into nodes of `graph`.
class GraphImport {
 public:
  GraphImport(ModelImport& model, Graph& graph, Opsets opsets, int depth)
      : model_(model), graph_(graph), opsets_(std::move(opsets)), depth_(depth) {}

  // Adds initialisers, nodes and outputs. Inputs without an initialiser become inputs of the graph, of the types given
  // or else of those that they declare.
  void import_graph(const pb::GraphProto& proto, const std::vector<TensorType>* input_types,
                    const GraphImport* outer = nullptr, const std::vector<std::string>& captures = {});
  Values import_function(const pb::FunctionProto& function, const Values& inputs, Arguments arguments,
                         std::string prefix);

  const ModelImport& model() const { return model_; }
  std::optional<ValueId> find(const std::string& name) const;
  ValueId add_sequence(Values elements);
  std::shared_ptr<const Graph> import_body(const pb::GraphProto& proto, const std::vector<TensorType>& inputs,
                                           const std::vector<std::string>& captures);

 private:
  void add_inputs(const pb::GraphProto& proto, const std::vector<TensorType>* types);
  void add_initializers(const pb::GraphProto& proto);
  void add_captures(const GraphImport& outer, const std::vector<std::string>& captures,
                    const std::vector<std::string>& free);
  void import_nodes(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes);
  void import_node(const pb::NodeProto& node);
  Values call(const pb::NodeProto& node, const Values& inputs, bool dry);
  Values resolve_inputs(const pb::NodeProto& node, bool& broken);
  void bind_outputs(const pb::NodeProto& node, const Values& outputs, std::size_t first_new);
  void define(const std::string& name, ValueId id);
  std::string label(const pb::NodeProto& node) const;
  void add_problem(const pb::NodeProto* node, Code code, std::string reason, std::string fix = {},
                   std::string attribute = {});
  void add_problem(const pb::NodeProto* node, const Error& error, std::string attribute = {});
  void count_operator(const pb::NodeProto& node, bool supported);

  ModelImport& model_;
  Graph& graph_;
  Opsets opsets_;
  int depth_;
  std::string prefix_;
  Arguments arguments_;
  bool in_function_ = false;
  bool capture_shapes_ = true;  // whether a body may rely on the shapes of what it captures
  std::unordered_map<std::string, ValueId> values_;
};

}  // namespace tessera::onnx
