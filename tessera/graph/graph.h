#pragma once

// What to compute: values, and nodes that make them out of each other, in an order in which they can run.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/op.h"
#include "tessera/graph/tensor_type.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

using ValueId = std::int32_t;
constexpr ValueId kNoValue = -1;  // an input that is left out

struct Value {
  std::string name;
  TensorType type;
  std::shared_ptr<const Array> constant;  // set for weights and folded values
};

// An operator that works on the result of a node before anyone else sees it: a bias, an activation, a residual sum, a
// pool. Its operands are positions in the node's inputs, or kChained for the result so far.
struct FusedOp {
  static constexpr int kChained = -1;

  Op op;
  std::vector<int> operands;
};

struct Node {
  std::string name;
  Op op;
  std::vector<ValueId> inputs;   // kNoValue where left out; those of `op` first, then those of `fused`
  std::vector<ValueId> outputs;  // kNoValue where nobody asked for it; exactly one if anything is fused
  std::vector<FusedOp> fused;    // in the order in which they run; what they read comes after the op's own inputs
  std::size_t fused_inputs = 0;  // so many at the end of `inputs` are read by `fused` alone

  std::size_t op_inputs() const { return inputs.size() - fused_inputs; }
};

struct TSR_API Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  // every input of a node is a graph input, a constant, or made by an earlier node
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }

  ValueId add_value(std::string value_name, TensorType type = {});
  ValueId add_input(std::string value_name, TensorType type);
  ValueId add_constant(std::string value_name, Array array);
  // Appends a node with `outputs` new values and infers their types. The first output carries the node's name.
  std::vector<ValueId> add_node(std::string node_name, Op op, std::vector<ValueId> node_inputs, int output_count = 1);
  ValueId add(std::string node_name, Op op, std::vector<ValueId> node_inputs) {
    return add_node(std::move(node_name), std::move(op), std::move(node_inputs), 1).front();
  }

  // The position of an input or output by name; an Error that lists the names there are.
  std::size_t input_position(const std::string& value_name) const;
  std::size_t output_position(const std::string& value_name) const;
};

// Refuses a graph that breaks the rules: ids out of range, values made twice or used before they are made, constants
// that disagree with their type, outputs that nobody makes. Runs after every pass.
TSR_API void verify(const Graph& graph);

// Works out the types of all values from those of the inputs and the constants; what it finds replaces what was there.
// Inputs may be given shapes first. A fault names its node.
TSR_API void infer_types(Graph& graph);

// The types of the node's outputs, and before them the results that its fused operators take up: what `op` makes, then
// what each but the last of `fused` makes. Without anything fused, only the outputs.
struct NodeTypes {
  std::vector<TensorType> chained;
  std::vector<TensorType> outputs;
};
TSR_API NodeTypes infer_node(const Graph& graph, const Node& node);

// Floating-point operations of the node with all that is fused into it, and the bytes that enter and leave it: what is
// passed along inside is not counted. Needs static types.
TSR_API Work work(const Graph& graph, const Node& node);

}  // namespace tessera
