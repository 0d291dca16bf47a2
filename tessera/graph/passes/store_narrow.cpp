// Values and weights that take half the bytes. The types of the graph say so, hence the references round where a kernel
// stores, and what it costs in accuracy can be seen without a kernel.

#include "tessera/core/convert.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/passes/pass.h"

#include <map>
#include <memory>
#include <string>

namespace tessera {
namespace {

// Those that only targets with kernels for token networks keep narrow.
bool computes_tokens(const Node& node) {
  const auto* norm = std::get_if<LayerNorm>(&node.op);
  const auto* batch_norm = std::get_if<BatchNorm>(&node.op);
  return (norm != nullptr && norm->outputs == 1) || (batch_norm != nullptr && !batch_norm->training) ||
         std::holds_alternative<Attention>(node.op) || std::holds_alternative<Softmax>(node.op) ||
         std::holds_alternative<Reduce>(node.op) || std::holds_alternative<GroupNorm>(node.op) ||
         std::holds_alternative<InstanceNorm>(node.op) || std::holds_alternative<Where>(node.op);
}

// Operators that compute with float32 whatever they are stored as.
bool computes(const Node& node, NarrowRange range) {
  if (range == NarrowRange::tokens && computes_tokens(node)) return true;
  if (const auto* binary = std::get_if<Binary>(&node.op)) {
    switch (binary->kind) {
      case Binary::Kind::add:
      case Binary::Kind::sub:
      case Binary::Kind::mul:
      case Binary::Kind::div:
      case Binary::Kind::min:
      case Binary::Kind::max:
      case Binary::Kind::prelu: return true;
      default: return false;
    }
  }
  if (const auto* pool = std::get_if<MaxPool>(&node.op)) return !pool->with_indices;
  return std::holds_alternative<Conv>(node.op) || std::holds_alternative<ConvTranspose>(node.op) ||
         std::holds_alternative<Gemm>(node.op) || std::holds_alternative<MatMul>(node.op) ||
         std::holds_alternative<AveragePool>(node.op) || std::holds_alternative<GlobalPool>(node.op) ||
         std::holds_alternative<Unary>(node.op) || std::holds_alternative<Clip>(node.op) ||
         std::holds_alternative<Concat>(node.op) || std::holds_alternative<Resize>(node.op);
}

// Operators that take elements as they come: they keep the type of their first input.
bool moves(const Node& node, NarrowRange range) {
  if (range == NarrowRange::tokens &&
      (std::holds_alternative<Gather>(node.op) || std::holds_alternative<TileRepeat>(node.op)))
    return true;
  return std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Flatten>(node.op) ||
         std::holds_alternative<Squeeze>(node.op) || std::holds_alternative<Unsqueeze>(node.op) ||
         std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Slice>(node.op) ||
         std::holds_alternative<Split>(node.op) || std::holds_alternative<Expand>(node.op) ||
         std::holds_alternative<DepthToSpace>(node.op) || std::holds_alternative<SpaceToDepth>(node.op);
}

// Scales and sizes of a Resize are no values of the network.
bool is_value(const Node& node, std::size_t input, NarrowRange range) {
  if (std::holds_alternative<Resize>(node.op)) return input == 0 || input >= node.op_inputs();
  if (std::holds_alternative<Reduce>(node.op)) return input == 0;
  return moves(node, range) ? input == 0 : true;
}

// Made when they are asked for: weights are then kept packed and nowhere else.
class NarrowBytes : public DeferredBytes {
 public:
  NarrowBytes(std::shared_ptr<const Array> array, DType type)
      : DeferredBytes(static_cast<std::size_t>(array->count()) * 2), array_(std::move(array)), type_(type) {}

  void write(std::byte* to) const override {
    const Array wide = array_->loaded();
    const std::byte* from = wide.bytes().data();
    constexpr std::int64_t kGrain = 1 << 15;
    parallel_for(wide.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      convert(from + begin * 4, DType::float32, to + begin * 2, type_, end - begin, Rounding::host);
    });
  }
  void forget() const override {
    if (array_->deferred()) array_->deferred()->forget();
  }

 private:
  std::shared_ptr<const Array> array_;
  DType type_;
};

class Halver {
 public:
  Halver(Graph& graph, ElementType type, NarrowRange range)
      : graph_(graph), type_(type), range_(range), suffix_(type == ElementType::bfloat16 ? ":bf16" : ":f16") {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      const bool halve = computes(node, range_) ? gives_float(node) : moves(node, range_) && is_half(node.inputs[0]);
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] != kNoValue)
          node.inputs[i] = halve && is_value(node, i, range_) ? half(node.inputs[i]) : full(node.inputs[i]);
      if (halve)
        for (const ValueId id : node.outputs)
          if (id != kNoValue) {
            graph_.value(id).type.type = type_;
            half_.emplace(id, id);
          }
      graph_.nodes.push_back(std::move(node));
    }
    for (ValueId& id : graph_.outputs) {
      if (!half_.contains(id) || half_.at(id) != id) continue;
      const ValueId wide = full(id);
      // The output keeps its name; what it was made of gets another.
      if (graph_.value(wide).name != graph_.value(id).name + ":f32") {
        id = wide;
        continue;
      }
      graph_.value(wide).name = graph_.value(id).name;
      graph_.value(id).name += suffix_;
      id = wide;
    }
  }

 private:
  bool is_half(ValueId id) const {
    const auto found = id == kNoValue ? half_.end() : half_.find(id);
    return found != half_.end() && found->second == id;
  }
  bool gives_float(const Node& node) const {
    for (const ValueId id : node.outputs)
      if (id != kNoValue && graph_.value(id).type.type != ElementType::float32) return false;
    return true;
  }

  ValueId cast(ValueId id, ElementType to, const std::string& suffix) {
    Node node;
    node.name = graph_.value(id).name + suffix;
    node.op = Cast{.to = to};
    node.inputs = {id};
    node.outputs = {graph_.add_value(node.name, TensorType(to, graph_.value(id).type.dims))};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs[0];
  }

  // The value in the narrow type; anything but float32 as it is.
  ValueId half(ValueId id) {
    if (const auto found = half_.find(id); found != half_.end()) return found->second;
    if (graph_.value(id).type.type != ElementType::float32) return id;
    ValueId to = kNoValue;
    if (const auto constant = graph_.value(id).constant) {
      const DType dtype = type_ == ElementType::bfloat16 ? DType::bfloat16 : DType::float16;
      Array narrow(type_, constant->shape(), std::make_shared<const NarrowBytes>(constant, dtype));
      to = graph_.add_constant(graph_.value(id).name + suffix_, std::move(narrow));
    } else {
      to = cast(id, type_, suffix_);
    }
    half_.emplace(id, to);
    return to;
  }

  // The value as float32 where it has become narrow.
  ValueId full(ValueId id) {
    if (!is_half(id)) return id;
    const auto [found, fresh] = full_.try_emplace(id, kNoValue);
    if (fresh) found->second = cast(id, ElementType::float32, ":f32");
    return found->second;
  }

  Graph& graph_;
  ElementType type_;
  NarrowRange range_;
  std::string suffix_;
  std::map<ValueId, ValueId> half_;  // the narrow form of a value: itself, if it has become that
  std::map<ValueId, ValueId> full_;
};

}  // namespace

void store_narrow(Graph& graph, ElementType type, NarrowRange range) {
  check(type == ElementType::bfloat16 || type == ElementType::float16, Code::invalid_argument,
        "values can be stored as bfloat16 or float16, not as {}", name(type));
  Halver(graph, type, range).run();
  verify(graph);
  infer_types(graph);
}

}  // namespace tessera
