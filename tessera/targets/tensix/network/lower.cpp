#include "tessera/targets/tensix/network/lower.h"

#include "tessera/core/error.h"
#include "tessera/core/refusal.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/graph_function.h"

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
      outputs_ = node.outputs;
      Lowered result = lower_node(node);
      if (Refusal* refusal = std::get_if<Refusal>(&result)) {
        if (!options_.host_fallback)
          fail(Code::unsupported,
               Hint{refusal->hint.empty() ? "--fallback host computes it on the host"
                                          : refusal->hint + "; or --fallback host, which computes it on the host"},
               "node '{}' ({}) has no operator on the card: {}", node.name, name(node.op), refusal->message);
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

  std::optional<VectorFunction> take_activation(const Node& node, bool by_name) override {
    const auto& readers = consumers_[static_cast<std::size_t>(node.outputs[0])];
    if (readers.size() != 1 || readers[0] == kOutput) return std::nullopt;
    const Node& next = out_.graph.nodes[readers[0]];
    const std::optional<VectorFunction> f = vector_function_of(next, *this);
    if (!f || next.inputs[0] != node.outputs[0]) return std::nullopt;
    if (by_name) {  // a convolution's is given by its name, without parameters
      if (f->kind != VectorFunction::Kind::activation) return std::nullopt;
      const auto named = attempt([&] { return activation_from_name(f->name); });
      if (!named || *named != f->activation) return std::nullopt;
    }
    fused_[readers[0]] = true;
    outputs_ = next.outputs;
    return f;
  }

 private:
  static constexpr std::size_t kOutput = static_cast<std::size_t>(-1);

  bool on_card(ValueId id) const {
    const TensorType& type = value(id).type;
    return type.is_static() && fits_card(type.type, type.shape());
  }

  static std::string ttnn_name(const Node& node, const CardLayer& layer) {
    const CardOp* op = layer.op();
    if (op == nullptr) return host_step_name(name(node.op));
    return op->ttnn_name != nullptr ? op->ttnn_name(layer) : std::string(name(op->kind));
  }

  void add(const Node& node, CardLayer layer) {
    LoweredNode lowered{node.name, ttnn_name(node, layer), std::move(layer), {}, {}};
    for (const ValueId id : node.inputs)
      if (id != kNoValue && !is_constant(id)) lowered.inputs.push_back(id);
    for (const ValueId id : outputs_)
      if (id != kNoValue) lowered.outputs.push_back(id);
    check(!lowered.outputs.empty(), Code::internal, "nobody asked for a result of '{}'", node.name);
    out_.nodes.push_back(std::move(lowered));
  }

  void add_parts(const Node& node, std::vector<CardLayer> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string op = ttnn_name(node, parts[i]);
      out_.nodes.push_back({fmt::format("{}:{}", node.name, i),
                            std::move(op),
                            std::move(parts[i]),
                            {node.inputs[0]},
                            {node.outputs[i]}});
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
    for (const CardOp* op : card_ops()) {
      if (op->lower == nullptr || (flattened && !op->reads_flattened)) continue;
      if (std::optional<Lowered> result = op->lower(node, *this)) return *std::move(result);
    }
    if (flattened) return Refusal{"it reads a flattened image, whose elements are in another order on the card", ""};
    return Refusal{"TTNN's vision operators do not include it", "cut the model before this node, or replace it"};
  }

  LowerOptions options_;
  LoweredGraph out_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<bool> fused_;
  std::vector<ValueId> outputs_;  // of the node that is lowered, what is fused into it included
};

}  // namespace

Extent2d LoweredGraph::matrix(ValueId id) const {
  const Shape shape = graph.value(id).type.shape();
  return {card_rows(shape), shape.rank() < 2 ? 0 : shape[1]};
}

LoweredGraph lower(Graph graph, const LowerOptions& options) { return GraphLowering(std::move(graph), options).run(); }

std::vector<float> rows_from_array(const Array& x) {
  const auto from = x.as<float>();
  const Shape& shape = x.shape();
  const std::int64_t channels = shape[1], rest = card_rows(shape) / std::max<std::int64_t>(shape[0], 1);
  std::vector<float> rows(from.size());
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* in = from.data() + (n * channels + c) * rest;
      float* out = rows.data() + n * rest * channels + c;
      for (std::int64_t p = 0; p < rest; ++p) out[p * channels] = in[p];
    }
  return rows;
}

Array array_from_rows(std::span<const float> rows, const Shape& shape, std::int64_t pixels) {
  Array x(ElementType::float32, shape);
  float* to = x.as<float>().data();
  const std::int64_t channels = shape[1] / pixels;
  const std::int64_t rest = pixels * (card_rows(shape) / std::max<std::int64_t>(shape[0], 1));
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* in = rows.data() + n * rest * channels + c;
      float* out = to + (n * channels + c) * rest;
      for (std::int64_t p = 0; p < rest; ++p) out[p] = in[p * channels];
    }
  return x;
}

}  // namespace tessera::tensix
