#pragma once

// What a function that imports one operator is given: the node to read, and a builder for what it becomes.

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"

#include <tessera_onnx.pb.h>

#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::onnx {

using Values = std::vector<ValueId>;
constexpr ValueId kBroken = -2;  // would have been made by a node that has a problem

// Sequences exist only while a model is imported: which tensors one holds must be known then. This id and those below
// it are sequences.
constexpr ValueId kFirstSequence = -3;
constexpr bool is_sequence(ValueId id) { return id <= kFirstSequence; }

using Arguments = std::map<std::string, const pb::AttributeProto*>;  // what a function was called with

// A fault of one attribute.
struct AttributeFault {
  std::string attribute;
  Code code;
  std::string reason;
};

class NodeReader {
 public:
  NodeReader(const pb::NodeProto& node, std::int64_t opset, const Graph& graph, Values inputs,
             const Arguments* arguments);

  const std::string& op_type() const { return node_.op_type(); }
  std::int64_t opset() const { return opset_; }

  // Attributes. Reading one of another type is an Error that names it; what was never read is a fault afterwards.
  bool has(const std::string& name) const { return find(name) != nullptr; }
  std::int64_t integer(const std::string& name, std::int64_t otherwise);
  std::int64_t integer(const std::string& name);  // must be there
  std::optional<std::int64_t> maybe_integer(const std::string& name);
  bool flag(const std::string& name, bool otherwise) { return integer(name, otherwise ? 1 : 0) != 0; }
  float real(const std::string& name, float otherwise);
  std::optional<float> maybe_real(const std::string& name);
  std::string text(const std::string& name, const std::string& otherwise);
  std::vector<std::int64_t> integers(const std::string& name);  // empty without
  std::vector<float> reals(const std::string& name);
  std::vector<std::string> texts(const std::string& name);
  const pb::TensorProto* tensor(const std::string& name);  // null without
  const pb::GraphProto& graph(const std::string& name);
  // One of a few words.
  template <class T>
  T choice(const std::string& name, const std::string& otherwise,
           std::initializer_list<std::pair<const char*, T>> words) {
    const std::string word = text(name, otherwise);
    std::string known;
    for (const auto& [key, value] : words) {
      if (word == key) return value;
      known += (known.empty() ? "" : ", ") + std::string(key);
    }
    attribute_ = name;
    fail(Code::unsupported, "{} is '{}', not one of {}", name, word, known);
  }
  void ignore(std::initializer_list<const char*> names);  // means nothing here

  // Inputs.
  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != kNoValue; }
  ValueId input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : kNoValue; }
  const Values& inputs() const { return inputs_; }
  // The inputs, of which the first `least` must be there, and no more than `most`.
  const Values& inputs(std::size_t least, std::size_t most) const;
  const TensorType& type(std::size_t i) const;
  const Array* constant(std::size_t i) const;  // null unless known now
  int rank(std::size_t i) const;               // an Error that says why it is needed here, unless known

  int output_count() const { return node_.output_size(); }
  bool wants_output(int i) const { return i < node_.output_size() && !node_.output(i).empty(); }

  // The attribute that the last Error was about, or nothing.
  const std::string& attribute() const { return attribute_; }
  std::vector<std::string> unread() const;
  const pb::NodeProto& node() const { return node_; }

 private:
  const pb::AttributeProto* find(const std::string& name) const;
  const pb::AttributeProto* find(const std::string& name, pb::AttributeProto::AttributeType type, const char* kind);

  const pb::NodeProto& node_;
  std::int64_t opset_;
  const Graph& graph_;
  Values inputs_;
  const Arguments* arguments_;
  std::map<std::string, const pb::AttributeProto*> attributes_;
  std::set<std::string> read_;
  std::string attribute_;
};

class GraphImport;

class NodeBuilder {
 public:
  NodeBuilder(GraphImport& import, Graph& graph, std::string name, bool dry)
      : import_(import), graph_(graph), name_(std::move(name)), dry_(dry) {}

  ValueId add(Op op, Values inputs) { return add(std::move(op), std::move(inputs), 1).front(); }
  Values add(Op op, Values inputs, int outputs);
  ValueId constant(Array array);
  ValueId constant(std::vector<std::int64_t> values);  // int64, rank 1
  ValueId scalar(ElementType type, double value);      // rank 0
  TensorType type(ValueId id) const;
  bool dry() const { return dry_; }  // an input is broken: nothing is added, only faults are looked for
  ValueId sequence(Values elements);
  const Values& elements(ValueId sequence) const;  // an Error unless it is one

  const std::filesystem::path& folder() const;
  // A graph inside a node; the names it uses of this one are found by captures() and come after its own inputs.
  std::vector<std::string> captures(std::initializer_list<const pb::GraphProto*> bodies) const;
  Values values_of(const std::vector<std::string>& names) const;
  std::shared_ptr<const Graph> body(const pb::GraphProto& proto, const std::vector<TensorType>& inputs,
                                    const std::vector<std::string>& captures);
  TensorType declared(const pb::ValueInfoProto& value) const;

 private:
  GraphImport& import_;
  Graph& graph_;
  std::string name_;
  bool dry_;
  int count_ = 0;
};

}  // namespace tessera::onnx
