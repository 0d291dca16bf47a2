#include "tessera/targets/tensix/network/lower.h"

#include "tessera/core/error.h"
#include "tessera/core/refusal.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/graph_function.h"
#include "tessera/targets/tensix/ops/permute/rearrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace tessera::tensix {
namespace {

// The name, or with the first number behind it that makes it another one than those in `taken`.
std::string apart(const std::string& name, const std::set<std::string, std::less<>>& taken) {
  std::string other = name;
  for (int i = 2; taken.contains(other); ++i) other = fmt::format("{}.{}", name, i);
  return other;
}

// Plans, configurations and scripts find values and operators by name, so each has one of its own. Passes may have made
// two of one name. Inputs and outputs keep theirs; of the others the first does.
void name_apart(Graph& graph) {
  std::set<std::string, std::less<>> taken;
  std::vector<bool> named(graph.values.size());
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs})
    for (const ValueId id : *ids) {
      taken.insert(graph.value(id).name);
      named[static_cast<std::size_t>(id)] = true;
    }
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (!named[i]) taken.insert(graph.values[i].name = apart(graph.values[i].name, taken));
  taken.clear();
  for (Node& node : graph.nodes) taken.insert(node.name = apart(node.name, taken));
}

// Every node is offered to the rows of the card's operators; the first that takes it or refuses it decides.
class GraphLowering final : public Lowering {
 public:
  GraphLowering(Graph graph, const LowerOptions& options) : options_(options) {
    out_.graph = std::move(graph);
    run_passes(out_.graph, {.off = {"fuse_epilogue"}});
    if (spell_out_batch_norm(out_.graph)) run_passes(out_.graph, {.off = {"fuse_epilogue"}});
    if (has_static_shapes(out_.graph)) fuse_attention(out_.graph);
    name_apart(out_.graph);
    consumers_.resize(out_.graph.values.size());
    for (std::size_t i = 0; i < out_.graph.nodes.size(); ++i)
      for (const ValueId id : out_.graph.nodes[i].inputs)
        if (id != kNoValue) consumers_[static_cast<std::size_t>(id)].push_back(i);
    for (const ValueId id : out_.graph.outputs) consumers_[static_cast<std::size_t>(id)].push_back(kOutput);
    fused_.resize(out_.graph.nodes.size());
  }

  LoweredGraph run() && {
    for (std::size_t i = 0; i < out_.graph.nodes.size(); ++i) {
      if (fused_[i]) continue;
      const Node& node = out_.graph.nodes[i];
      inputs_ = node.inputs;
      outputs_ = node.outputs;
      Lowered result = lower_node(node);
      if (Refusal* refusal = std::get_if<Refusal>(&result)) {
        if (!options_.host_fallback)
          fail(Code::unsupported,
               Hint{refusal->hint.empty() ? "--fallback host computes it on the host"
                                          : refusal->hint + "; or --fallback host, which computes it on the host"},
               "node '{}' ({}) has no operator on the card: {}", node.name, name(node.op), refusal->message);
        inputs_ = node.inputs;
        outputs_ = node.outputs;
        result = CardLayer(HostLayer{i});
      }
      if (auto* parts = std::get_if<std::vector<CardLayer>>(&result))
        add_parts(node, std::move(*parts));
      else
        add(node, std::get<CardLayer>(std::move(result)));
    }
    return std::move(out_);
  }

  const Value& value(ValueId id) const override { return out_.graph.value(id); }
  std::optional<std::int64_t> pixels(ValueId id) const override {
    const auto found = out_.pixels.find(id);
    return found == out_.pixels.end() ? std::nullopt : std::optional(found->second);
  }
  void set_pixels(ValueId id, std::int64_t pixels) override { out_.pixels[id] = pixels; }
  int columns(ValueId id) const override { return out_.columns_of(id); }
  void set_columns(ValueId id, int dim) override {
    if (dim == 1)
      out_.columns.erase(id);
    else
      out_.columns[id] = dim;
  }
  void read(std::vector<ValueId> inputs) override { inputs_ = std::move(inputs); }

  ValueId with_columns(ValueId id, int dim) override {
    if (columns(id) == dim) return id;
    const auto [found, added] = moved_.try_emplace({id, dim}, kNoValue);
    if (!added) return found->second;
    const Value from = value(id);
    const std::string name = fmt::format("{}.turned{}", from.name, dim);
    found->second = static_cast<ValueId>(out_.graph.values.size());
    out_.graph.values.push_back({name, from.type, nullptr});
    set_columns(found->second, dim);
    CardLayer layer = turned(from.type.shape(), columns(id), dim);
    std::string op = ttnn_name(layer);
    out_.nodes.push_back({name, std::move(op), std::move(layer), {id}, {found->second}});
    return found->second;
  }

  std::vector<const Node*> readers(ValueId id) const override {
    std::vector<const Node*> out;
    if (static_cast<std::size_t>(id) >= consumers_.size()) return out;
    for (const std::size_t reader : consumers_[static_cast<std::size_t>(id)])
      if (reader != kOutput) out.push_back(&out_.graph.nodes[reader]);
    return out;
  }
  const Node* only_reader(ValueId id) const override {
    if (static_cast<std::size_t>(id) >= consumers_.size()) return nullptr;
    const auto& readers = consumers_[static_cast<std::size_t>(id)];
    return readers.size() != 1 || readers[0] == kOutput ? nullptr : &out_.graph.nodes[readers[0]];
  }
  void take(const Node& reader) override {
    fused_[static_cast<std::size_t>(&reader - out_.graph.nodes.data())] = true;
    outputs_ = reader.outputs;
  }
  ValueId result() const override { return outputs_[0]; }

  std::optional<VectorFunction> take_activation(const Node& node, bool by_name) override {
    const ValueId made = node.outputs.size() == 1 ? result() : node.outputs[0];
    const Node* next = only_reader(made);
    if (next == nullptr) return std::nullopt;
    const std::optional<VectorFunction> f = vector_function_of(*next, *this);
    if (!f || next->inputs[0] != made) return std::nullopt;
    if (by_name) {  // a convolution's is given by its name, without parameters
      if (f->kind != VectorFunction::Kind::activation) return std::nullopt;
      const auto named = attempt([&] { return activation_from_name(f->name); });
      if (!named || *named != f->activation) return std::nullopt;
    }
    take(*next);
    return f;
  }

 private:
  static constexpr std::size_t kOutput = static_cast<std::size_t>(-1);

  bool on_card(ValueId id) const {
    const TensorType& type = value(id).type;
    return type.is_static() && fits_card(type.type, type.shape());
  }

  static bool has_static_shapes(const Graph& graph) {
    return std::ranges::all_of(graph.values, [](const Value& value) { return value.type.is_static(); });
  }

  static std::string ttnn_name(const CardLayer& layer) {
    const CardOp* op = layer.op();
    return op->ttnn_name != nullptr ? op->ttnn_name(layer) : std::string(name(op->kind));
  }
  static std::string ttnn_name(const Node& node, const CardLayer& layer) {
    return layer.op() == nullptr ? host_step_name(name(node.op)) : ttnn_name(layer);
  }

  void add(const Node& node, CardLayer layer) {
    LoweredNode lowered{node.name, ttnn_name(node, layer), std::move(layer), {}, {}};
    for (const ValueId id : inputs_)
      if (id != kNoValue && !is_constant(id)) lowered.inputs.push_back(id);
    for (const ValueId id : outputs_)
      if (id != kNoValue) lowered.outputs.push_back(id);
    check(!lowered.outputs.empty(), Code::internal, "nobody asked for a result of '{}'", node.name);
    out_.nodes.push_back(std::move(lowered));
  }

  void add_parts(const Node& node, std::vector<CardLayer> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string op = ttnn_name(node, parts[i]);
      out_.nodes.push_back(
          {fmt::format("{}:{}", node.name, i), std::move(op), std::move(parts[i]), {inputs_[0]}, {node.outputs[i]}});
    }
  }

  Lowered lower_node(const Node& node) {
    for (const ValueId id : node.inputs)
      if (id != kNoValue && !is_constant(id) && !on_card(id))
        return Refusal{fmt::format("its input '{}' is {}, and the card's operators work on float values of known shape "
                                   "with a batch and channels",
                                   value(id).name, value(id).type.to_string()),
                       ""};
    for (const ValueId id : node.outputs)
      if (id != kNoValue && !on_card(id))
        return Refusal{fmt::format("its result '{}' is {}", value(id).name, value(id).type.to_string()), ""};
    const bool flattened =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return id != kNoValue && out_.pixels.contains(id); });
    const bool turned = std::ranges::any_of(
        node.inputs, [&](ValueId id) { return id != kNoValue && !is_constant(id) && columns(id) != 1; });
    for (const CardOp* op : card_ops()) {
      if (op->lower == nullptr || (flattened && !op->reads_flattened)) continue;
      std::optional<Lowered> result = op->lower(node, *this);
      if (!result) continue;
      if (turned && !op->any_columns && !std::holds_alternative<Refusal>(*result))
        for (ValueId& id : inputs_)
          if (id != kNoValue && !is_constant(id)) id = with_columns(id, 1);
      return *std::move(result);
    }
    if (flattened) return Refusal{"it reads a flattened image, whose elements are in another order on the card", ""};
    return Refusal{"TTNN's vision operators do not include it", "cut the model before this node, or replace it"};
  }

  LowerOptions options_;
  LoweredGraph out_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<bool> fused_;
  std::vector<ValueId> inputs_, outputs_;             // of the node that is lowered, what is fused into it included
  std::map<std::pair<ValueId, int>, ValueId> moved_;  // values with other columns
};

}  // namespace

int LoweredGraph::columns_of(ValueId id) const {
  const auto found = columns.find(id);
  return found == columns.end() ? 1 : found->second;
}

Extent2d LoweredGraph::matrix(ValueId id) const {
  const Shape shape = graph.value(id).type.shape();
  const int dim = columns_of(id);
  if (shape.rank() < 2 || shape[dim] == 0) return {0, shape.rank() < 2 ? 0 : shape[dim]};
  return {shape.volume() / shape[dim], shape[dim]};
}

LoweredGraph lower(Graph graph, const LowerOptions& options) { return GraphLowering(std::move(graph), options).run(); }

namespace {

// A value as `before` blocks of `columns` slices of `behind` elements.
struct Blocks {
  std::int64_t before = 1, columns = 1, behind = 1;

  Blocks(const Shape& shape, int dim) : columns(shape[dim]) {
    for (int d = 0; d < shape.rank(); ++d)
      if (d != dim) (d < dim ? before : behind) *= shape[d];
  }
};

}  // namespace

std::vector<float> rows_from_array(const Array& x, int columns) {
  const auto from = x.as<float>();
  const Blocks b(x.shape(), columns);
  std::vector<float> rows(from.size());
  for (std::int64_t n = 0; n < b.before; ++n)
    for (std::int64_t c = 0; c < b.columns; ++c) {
      const float* in = from.data() + (n * b.columns + c) * b.behind;
      float* out = rows.data() + n * b.behind * b.columns + c;
      for (std::int64_t p = 0; p < b.behind; ++p) out[p * b.columns] = in[p];
    }
  return rows;
}

Array array_from_rows(std::span<const float> rows, const Shape& shape, std::int64_t pixels, int columns) {
  Array x(ElementType::float32, shape);
  float* to = x.as<float>().data();
  Blocks b(shape, columns);
  b.columns /= pixels;
  b.behind *= pixels;
  for (std::int64_t n = 0; n < b.before; ++n)
    for (std::int64_t c = 0; c < b.columns; ++c) {
      const float* in = rows.data() + n * b.behind * b.columns + c;
      float* out = to + (n * b.columns + c) * b.behind;
      for (std::int64_t p = 0; p < b.behind; ++p) out[p] = in[p * b.columns];
    }
  return x;
}

}  // namespace tessera::tensix
