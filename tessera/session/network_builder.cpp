#include "tessera/session/network_builder.h"

#include "tessera/graph/graph.h"

#include <span>
#include <utility>

namespace tessera {
namespace {

ValueId id_of(NetworkValue x) { return static_cast<ValueId>(x); }

NetworkValue add_op(Graph& graph, const std::string& name, Op op, std::vector<ValueId> operands) {
  return NetworkValue{graph.add(name, std::move(op), std::move(operands))};
}

NetworkValue add_unary(Graph& graph, const std::string& name, Unary::Kind kind, NetworkValue x) {
  return add_op(graph, name, Unary{kind}, {id_of(x)});
}

NetworkValue add_binary(Graph& graph, const std::string& name, Binary::Kind kind, NetworkValue a, NetworkValue b) {
  return add_op(graph, name, Binary{kind}, {id_of(a), id_of(b)});
}

// The operand and its weights, as constants named after the node.
std::vector<ValueId> with_weights(Graph& graph, const std::string& name, NetworkValue x, Array weights,
                                  std::optional<Array> bias) {
  std::vector<ValueId> operands{id_of(x), graph.add_constant(name + ".weight", std::move(weights))};
  if (bias) operands.push_back(graph.add_constant(name + ".bias", *std::move(bias)));
  return operands;
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string name) : graph_(std::make_unique<Graph>()) { graph_->name = std::move(name); }
NetworkBuilder::NetworkBuilder(NetworkBuilder&&) noexcept = default;
NetworkBuilder& NetworkBuilder::operator=(NetworkBuilder&&) noexcept = default;
NetworkBuilder::~NetworkBuilder() = default;

NetworkValue NetworkBuilder::input(const std::string& name, TensorType type) {
  return NetworkValue{graph_->add_input(name, std::move(type))};
}
NetworkValue NetworkBuilder::constant(const std::string& name, Array value) {
  return NetworkValue{graph_->add_constant(name, std::move(value))};
}
TensorType NetworkBuilder::type(NetworkValue x) const { return graph_->value(id_of(x)).type; }

NetworkValue NetworkBuilder::conv(const std::string& name, NetworkValue x, Array weights, std::optional<Array> bias,
                                  Window window, std::int64_t groups) {
  Conv op;
  op.window = std::move(window);
  op.groups = groups;
  return add_op(*graph_, name, std::move(op), with_weights(*graph_, name, x, std::move(weights), std::move(bias)));
}

NetworkValue NetworkBuilder::batch_norm(const std::string& name, NetworkValue x, BatchNormWeights weights) {
  BatchNorm op;
  op.epsilon = weights.epsilon;
  const ValueId scale = graph_->add_constant(name + ".scale", std::move(weights.scale));
  const ValueId bias = graph_->add_constant(name + ".bias", std::move(weights.bias));
  const ValueId mean = graph_->add_constant(name + ".mean", std::move(weights.mean));
  const ValueId variance = graph_->add_constant(name + ".variance", std::move(weights.variance));
  return add_op(*graph_, name, op, {id_of(x), scale, bias, mean, variance});
}

NetworkValue NetworkBuilder::max_pool(const std::string& name, NetworkValue x, Window window) {
  MaxPool op;
  op.window = std::move(window);
  return add_op(*graph_, name, std::move(op), {id_of(x)});
}
NetworkValue NetworkBuilder::average_pool(const std::string& name, NetworkValue x, Window window,
                                          bool count_include_pad) {
  AveragePool op;
  op.window = std::move(window);
  op.count_include_pad = count_include_pad;
  return add_op(*graph_, name, std::move(op), {id_of(x)});
}
NetworkValue NetworkBuilder::global_average_pool(const std::string& name, NetworkValue x) {
  return add_op(*graph_, name, GlobalPool{}, {id_of(x)});
}

NetworkValue NetworkBuilder::dense(const std::string& name, NetworkValue x, Array weights, std::optional<Array> bias) {
  Gemm op;
  op.transpose_b = true;
  return add_op(*graph_, name, op, with_weights(*graph_, name, x, std::move(weights), std::move(bias)));
}
NetworkValue NetworkBuilder::matmul(const std::string& name, NetworkValue a, NetworkValue b) {
  return add_op(*graph_, name, MatMul{}, {id_of(a), id_of(b)});
}

NetworkValue NetworkBuilder::add(const std::string& name, NetworkValue a, NetworkValue b) {
  return add_binary(*graph_, name, Binary::Kind::add, a, b);
}
NetworkValue NetworkBuilder::subtract(const std::string& name, NetworkValue a, NetworkValue b) {
  return add_binary(*graph_, name, Binary::Kind::sub, a, b);
}
NetworkValue NetworkBuilder::multiply(const std::string& name, NetworkValue a, NetworkValue b) {
  return add_binary(*graph_, name, Binary::Kind::mul, a, b);
}
NetworkValue NetworkBuilder::divide(const std::string& name, NetworkValue a, NetworkValue b) {
  return add_binary(*graph_, name, Binary::Kind::div, a, b);
}

NetworkValue NetworkBuilder::relu(const std::string& name, NetworkValue x) {
  return add_unary(*graph_, name, Unary::Kind::relu, x);
}
NetworkValue NetworkBuilder::sigmoid(const std::string& name, NetworkValue x) {
  return add_unary(*graph_, name, Unary::Kind::sigmoid, x);
}
NetworkValue NetworkBuilder::tanh(const std::string& name, NetworkValue x) {
  return add_unary(*graph_, name, Unary::Kind::tanh, x);
}
NetworkValue NetworkBuilder::silu(const std::string& name, NetworkValue x) {
  return add_unary(*graph_, name, Unary::Kind::silu, x);
}
NetworkValue NetworkBuilder::gelu(const std::string& name, NetworkValue x) {
  return add_unary(*graph_, name, Unary::Kind::gelu, x);
}
NetworkValue NetworkBuilder::clip(const std::string& name, NetworkValue x, float least, float most) {
  const ValueId low = graph_->add_constant(name + ".min", Array::scalar(least));
  const ValueId high = graph_->add_constant(name + ".max", Array::scalar(most));
  return add_op(*graph_, name, Clip{}, {id_of(x), low, high});
}
NetworkValue NetworkBuilder::softmax(const std::string& name, NetworkValue x, std::int64_t axis) {
  Softmax op;
  op.axis = axis;
  return add_op(*graph_, name, op, {id_of(x)});
}

NetworkValue NetworkBuilder::concat(const std::string& name, const std::vector<NetworkValue>& parts,
                                    std::int64_t axis) {
  std::vector<ValueId> operands;
  for (const NetworkValue part : parts) operands.push_back(id_of(part));
  return add_op(*graph_, name, Concat{axis}, std::move(operands));
}
NetworkValue NetworkBuilder::reshape(const std::string& name, NetworkValue x, const std::vector<std::int64_t>& shape) {
  const ValueId dimensions = graph_->add_constant(
      name + ".shape",
      Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(shape.size())}, std::span<const std::int64_t>(shape)));
  return add_op(*graph_, name, Reshape{}, {id_of(x), dimensions});
}
NetworkValue NetworkBuilder::flatten(const std::string& name, NetworkValue x, std::int64_t axis) {
  return add_op(*graph_, name, Flatten{axis}, {id_of(x)});
}
NetworkValue NetworkBuilder::transpose(const std::string& name, NetworkValue x, std::vector<std::int64_t> order) {
  return add_op(*graph_, name, Transpose{std::move(order)}, {id_of(x)});
}

Network NetworkBuilder::finish(const std::vector<NetworkValue>& outputs) && {
  for (const NetworkValue output : outputs) graph_->outputs.push_back(id_of(output));
  verify(*graph_);
  return Network(std::move(*graph_));
}

}  // namespace tessera
