#include "tessera/quantize/selection.h"

#include "tessera/graph/passes/pass.h"

#include <algorithm>

namespace tessera {
namespace {

class Selector {
 public:
  Selector(const Graph& graph, const std::function<std::optional<std::string>(std::size_t)>& excluded)
      : graph_(graph), excluded_(excluded), readers_(graph.values.size()), is_output_(graph.values.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      for (const ValueId id : graph.nodes[n].inputs)
        if (id != kNoValue) readers_[at(id)].push_back(n);
    for (const ValueId id : graph.outputs) is_output_[at(id)] = true;
    out_.nodes.resize(graph.nodes.size());
    out_.bytes.resize(graph.values.size());
    for (std::size_t id = 0; id < graph.values.size(); ++id) out_.scale_of.push_back(static_cast<ValueId>(id));
  }

  Selection run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) products(n);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) followers(n);
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) drop_if_unread(n);
    settle_values();
    return std::move(out_);
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  const Value& value(ValueId id) const { return graph_.value(id); }
  bool is_float(ValueId id) const {
    return id != kNoValue && !value(id).constant && value(id).type.type == ElementType::float32;
  }

  // The output of a node, or of the relu or constant bounds that alone read it.
  ValueId behind_bounds(ValueId made) const {
    for (;;) {
      if (is_output_[at(made)] || readers_[at(made)].size() != 1) return made;
      const Node& reader = graph_.nodes[readers_[at(made)][0]];
      const auto* const unary = std::get_if<Unary>(&reader.op);
      const bool relu = unary != nullptr && unary->kind == Unary::Kind::relu;
      bool clip = std::holds_alternative<Clip>(reader.op) && reader.inputs[0] == made;
      for (std::size_t i = 1; clip && i < reader.inputs.size(); ++i)
        clip = reader.inputs[i] == kNoValue || value(reader.inputs[i]).constant != nullptr;
      if (!relu && !clip) return made;
      made = reader.outputs[0];
    }
  }

  void products(std::size_t n) {
    const Node& node = graph_.nodes[n];
    if (!is_product(node.op)) return;
    ByteNode& found = out_.nodes[n];
    if (const auto reason = why_no_product(graph_, node)) {
      found.reason = *reason;
    } else if (const auto excluded = excluded_(n)) {
      found.reason = *excluded;
    } else {
      found.role = ByteRole::product;
      found.result = behind_bounds(node.outputs[0]);
      made_.resize(graph_.values.size());
      made_[at(found.result)] = true;
      taken_.resize(graph_.values.size());
      taken_[at(node.inputs[0])] = true;
    }
  }

  bool has_bytes(ValueId id) const {
    return is_float(id) && ((!made_.empty() && made_[at(id)]) || (!taken_.empty() && taken_[at(id)]));
  }

  // Nodes between products, in the order of the graph.
  void followers(std::size_t n) {
    const Node& node = graph_.nodes[n];
    ByteNode& found = out_.nodes[n];
    if (found.role != ByteRole::none || !node.fused.empty() || node.outputs.size() != 1 || node.inputs.empty() ||
        made_.empty())
      return;
    const auto become = [&](ByteRole role, ValueId result) {
      found.role = role;
      found.result = result;
      made_[at(result)] = true;
    };
    if (const auto* const binary = std::get_if<Binary>(&node.op); binary && binary->kind == Binary::Kind::add) {
      const ValueId a = node.inputs[0], b = node.inputs[1];
      if (is_float(a) && is_float(b) && a != b && value(a).type.dims && value(a).type.dims == value(b).type.dims &&
          (has_bytes(a) || has_bytes(b)))
        become(ByteRole::sum, behind_bounds(node.outputs[0]));
    } else if (const auto* const pool = std::get_if<GlobalPool>(&node.op);
               pool && pool->kind == GlobalPool::Kind::average) {
      if (has_bytes(node.inputs[0])) become(ByteRole::average, behind_bounds(node.outputs[0]));
    } else if (std::holds_alternative<Concat>(node.op)) {
      if (std::ranges::all_of(node.inputs, [&](ValueId id) { return has_bytes(id); }))
        become(ByteRole::join, node.outputs[0]);
    } else if (moves_elements(node.op) && has_bytes(node.inputs[0])) {
      become(ByteRole::move, node.outputs[0]);
      found.source = node.inputs[0];
    }
  }

  // What no node with a role reads need not be bytes, unless a product makes it.
  void drop_if_unread(std::size_t n) {
    ByteNode& found = out_.nodes[n];
    if (found.role == ByteRole::none || found.role == ByteRole::product) return;
    const bool read = std::ranges::any_of(readers_[at(found.result)],
                                          [&](std::size_t r) { return out_.nodes[r].role != ByteRole::none; });
    if (!read) found = {};
  }

  void settle_values() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const ByteNode& found = out_.nodes[n];
      if (found.role == ByteRole::none) continue;
      out_.bytes[at(found.result)] = true;
      const std::size_t operands = found.role == ByteRole::join  ? node.inputs.size()
                                   : found.role == ByteRole::sum ? 2
                                                                 : 1;
      for (std::size_t i = 0; i < operands; ++i) out_.bytes[at(node.inputs[i])] = true;
      if (found.role == ByteRole::move) out_.scale_of[at(found.result)] = out_.scale_of[at(found.source)];
    }
  }

  const Graph& graph_;
  const std::function<std::optional<std::string>(std::size_t)>& excluded_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> is_output_;
  std::vector<bool> made_, taken_;  // by value: bytes come out of a node, go into a product
  Selection out_;
};

}  // namespace

bool is_product(const Op& op) {
  return std::holds_alternative<Conv>(op) || std::holds_alternative<Gemm>(op) || std::holds_alternative<MatMul>(op);
}

int channel_axis(const Graph& graph, const Node& node) {
  if (std::holds_alternative<Conv>(node.op)) return 0;
  if (const auto* const gemm = std::get_if<Gemm>(&node.op)) return gemm->transpose_b ? 0 : 1;
  return graph.value(node.inputs[1]).constant->shape().rank() - 1;
}

std::optional<std::string> why_no_product(const Graph& graph, const Node& node) {
  const Value& weights = graph.value(node.inputs[1]);
  if (graph.value(node.inputs[0]).constant) return "its operand is constant";
  if (graph.value(node.inputs[0]).type.type != ElementType::float32) return "its operand is not float32";
  if (!weights.constant) return "its weights are not constant";
  const Shape& shape = weights.constant->shape();
  if (weights.constant->count() == 0) return "its weights are empty";
  if (const auto* const gemm = std::get_if<Gemm>(&node.op);
      gemm && (gemm->alpha != 1 || gemm->beta != 1 || gemm->transpose_a))
    return "it scales or transposes its operand";
  if (std::holds_alternative<MatMul>(node.op) && shape.rank() != 2) return "its weights are no matrix";
  if (std::holds_alternative<Conv>(node.op) && node.inputs.size() > 2 && node.inputs[2] != kNoValue &&
      !graph.value(node.inputs[2]).constant)
    return "its bias is not constant";
  return std::nullopt;
}

Selection select_bytes(const Graph& graph,
                       const std::function<std::optional<std::string>(std::size_t node)>& excluded) {
  return Selector(graph, excluded).run();
}

}  // namespace tessera
