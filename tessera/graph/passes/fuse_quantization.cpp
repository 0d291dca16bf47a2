// A QuantizeLinear at the end of float arithmetic that began with DequantizeLinear becomes that arithmetic in integers:
//
//   DQ(x), DQ(w), bias -> Conv, Gemm, MatMul [-> Relu, Clip] -> Q      QLinearConv, QLinearMatMul [+ Clip of bytes]
//   DQ(a), DQ(b) -> Add [-> Relu, Clip] -> Q                           QLinearAdd, in the convolution that made a or b
//   DQ(x) -> GlobalAveragePool [-> ...] -> Q                           QLinearGlobalAveragePool
//   DQ(x) -> MaxPool, Reshape, Transpose, Concat, ... -> Q             the same of bytes
//   DQ(x) -> functions of each element -> Q                            ByteLookup, or nothing
//
// Bounds become bounds of bytes exactly: quantising never turns an order of numbers around. Products and sums are exact
// in integers where float rounds; what can differ is a result whose value lies halfway between two bytes but for that
// rounding, then by one.

#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/internal/one_byte.h"
#include "tessera/graph/passes/internal/quantization.h"
#include "tessera/graph/passes/internal/symbolic_extents.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace tessera {
namespace {

using internal::ByteScale;
using internal::input;
using internal::Quantized;
using internal::QuantizedWeights;
using internal::Rewriter;

constexpr std::int64_t kMostTaps = 256;  // of a window: larger ones have no kernel in integers

// What is between an operator and QuantizeLinear: bounds on the bytes.
struct End {
  ByteScale scale;
  std::int64_t low = 0, high = 255;
  ValueId made = kNoValue;  // by the operator

  bool bounds() const { return low > least() || high < least() + 255; }
  std::int64_t least() const { return scale.type == ElementType::int8 ? -128 : 0; }
};

// The numbers that Relu or a Clip with constant bounds keeps; none for other operators.
std::optional<std::pair<double, double>> bounds_of(const Rewriter& r, const Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!node.fused.empty()) return std::nullopt;
  if (internal::is_unary(node, Unary::Kind::relu)) return std::pair(0.0, kInfinity);
  if (!std::holds_alternative<Clip>(node.op)) return std::nullopt;
  std::pair bounds(-kInfinity, kInfinity);
  for (const std::size_t i : {1, 2}) {
    if (input(node, i) == kNoValue) continue;
    const std::optional<double> bound = internal::scalar_of(r, node.inputs[i]);
    if (!bound || std::isnan(*bound)) return std::nullopt;
    (i == 1 ? bounds.first : bounds.second) = *bound;
  }
  return bounds;
}

End end_of(const Rewriter& r, const Node& quantize, const ByteScale& scale) {
  End end{scale, scale.type == ElementType::int8 ? -128 : 0, 0, quantize.inputs[0]};
  end.high = end.low + 255;
  std::vector<std::pair<double, double>> bounds;  // last first
  for (Node* node = r.maker(end.made); node != nullptr && r.uses(end.made) == 1; node = r.maker(end.made)) {
    const auto found = bounds_of(r, *node);
    if (!found) break;
    bounds.push_back(*found);
    end.made = node->inputs[0];
  }
  for (auto it = bounds.rbegin(); it != bounds.rend(); ++it) {
    const std::int64_t low = internal::quantized(scale, it->first), high = internal::quantized(scale, it->second);
    end.low = std::min(std::max(end.low, low), high);
    end.high = std::min(std::max(end.high, low), high);
  }
  return end;
}

class Fusion {
 public:
  Fusion(Rewriter& r, Rewriter::NodeAt at, const ByteScale& scale, internal::SymbolicExtents& extents)
      : r_(r), at_(at), end_(end_of(r, *at, scale)), extents_(extents) {}

  void run() {
    if (by_byte()) return;
    Node* maker = r_.maker(end_.made);
    if (maker == nullptr || r_.uses(end_.made) != 1 || !maker->fused.empty() || maker->outputs.size() != 1) return;
    if (std::holds_alternative<Conv>(maker->op))
      convolve(*maker);
    else if (std::holds_alternative<Gemm>(maker->op))
      gemm(*maker);
    else if (std::holds_alternative<MatMul>(maker->op))
      matmul(*maker);
    else if (internal::is_binary(*maker, Binary::Kind::add))
      add(*maker);
    else if (const auto* pool = std::get_if<GlobalPool>(&maker->op))
      pool->kind == GlobalPool::Kind::average ? average(*maker) : void();
    else
      move(*maker);
  }

 private:
  Node& node() { return *at_; }
  ValueId scalar(const char* what, float value) { return r_.add_constant(node().name + what, Array::scalar(value)); }
  ValueId zero(const char* what, const ByteScale& scale) {
    return r_.add_constant(node().name + what, internal::byte_array(scale.type, Shape{}, std::array{scale.zero}));
  }

  // The node makes what `op` makes, within the bounds.
  void become(Op op, std::vector<ValueId> inputs, const Node& after) {
    const std::string name = after.name;
    std::vector<FusedOp> fused;
    std::size_t more = 0;
    if (end_.bounds()) {
      const int first = static_cast<int>(inputs.size());
      for (const std::int64_t bound : {end_.low, end_.high})
        inputs.push_back(
            r_.add_constant(node().name + ".bound", internal::byte_array(end_.scale.type, Shape{}, std::array{bound})));
      fused.push_back({Clip{}, {FusedOp::kChained, first, first + 1}});
      more = 2;
    }
    r_.become(node(), std::move(op), std::move(inputs));
    node().name = name;
    node().fused = std::move(fused);
    node().fused_inputs = more;
  }

  ValueId lookup(ValueId bytes, const Array& table, const std::string& name) {
    return r_.insert(at_, name, ByteLookup{}, {bytes, r_.add_constant(name + ".table", table)});
  }
  // What QuantizeLinear with one scale makes of bytes with another.
  ValueId rescaled(const Quantized& x) {
    if (x.scale == end_.scale) return x.bytes;
    std::vector<std::int64_t> table;
    for (std::int64_t bits = 0; bits < 256; ++bits) {
      const std::int64_t value = x.scale.type == ElementType::int8 && bits > 127 ? bits - 256 : bits;
      table.push_back(internal::quantized(
          end_.scale, static_cast<double>(static_cast<float>(static_cast<double>(value - x.scale.zero) *
                                                             static_cast<double>(x.scale.scale)))));
    }
    return lookup(x.bytes, internal::byte_array(end_.scale.type, Shape{256}, table), node().name + ".rescale");
  }

  // One byte decides about one byte: all 256 cases are worked out here.
  bool by_byte() {
    internal::OneByte source(r_);
    ValueId y = source.follow(node().inputs[0]);
    if (y == kNoValue) return false;
    Graph& graph = source.graph();
    const ValueId zero_point =
        graph.add_constant("", internal::byte_array(end_.scale.type, Shape{}, std::array{end_.scale.zero}));
    y = graph.add("", QuantizeLinear{}, {y, graph.add_constant("", Array::scalar(end_.scale.scale)), zero_point});
    graph.outputs = {y};
    const Array all = source.all_bytes(), table = evaluate(graph, {all})[0];
    // Two steps that undo each other; an output of the graph keeps its own node.
    if (table == all && r_.replace(node().outputs[0], source.bytes())) return true;
    const std::string name = node().name;
    r_.become(node(), ByteLookup{}, {source.bytes(), r_.add_constant(name + ".table", table)});
    return true;
  }

  // The largest sum of |x - zero| * |w - zero| of each channel; `channel_of` tells whose each weight is.
  template <class ChannelOf>
  std::vector<double> largest_sums(const QuantizedWeights& w, std::int64_t channels, const ChannelOf& channel_of) {
    std::vector<double> sums(static_cast<std::size_t>(channels), 0.0);
    const std::vector<std::int64_t> values = r_.constant(w.bytes)->to_int64();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t channel = channel_of(static_cast<std::int64_t>(i));
      sums[static_cast<std::size_t>(channel)] += 255.0 * static_cast<double>(std::abs(values[i] - w.zero(channel)));
    }
    return sums;
  }

  // Scales and zero points of weights as constants of their own.
  std::pair<ValueId, ValueId> weight_scales(const QuantizedWeights& w) {
    const Shape shape = w.scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(w.scales.size())};
    const ElementType type = r_.constant(w.bytes)->type();
    return {r_.add_constant(node().name + ".w_scale", Array::of<float>(shape, w.scales)),
            r_.add_constant(node().name + ".w_zero", internal::byte_array(type, shape, w.zeros))};
  }

  std::vector<ValueId> product_inputs(const Quantized& x, ValueId bytes, const QuantizedWeights& w) {
    const auto [w_scale, w_zero] = weight_scales(w);
    return {x.bytes, scalar(".x_scale", x.scale.scale),    zero(".x_zero", x.scale),   bytes, w_scale,
            w_zero,  scalar(".y_scale", end_.scale.scale), zero(".y_zero", end_.scale)};
  }

  void add_bias(std::vector<ValueId>& inputs, const Node& maker, const std::vector<std::int32_t>& bias) {
    if (input(maker, 2) == kNoValue) return;
    inputs.push_back(r_.add_constant(maker.name + ".bias",
                                     Array::of<std::int32_t>(Shape{static_cast<std::int64_t>(bias.size())}, bias)));
  }

  void convolve(Node& maker) {
    const auto x = internal::quantized_value(r_, maker.inputs[0]);
    const auto w = internal::quantized_weights(r_, maker.inputs[1], 0);
    if (!x || !w) return;
    const Shape shape = r_.constant(w->bytes)->shape();
    if (shape.rank() < 3 || shape.rank() > 4 || shape.volume() == 0) return;
    const std::int64_t channels = shape[0], each = shape.volume() / channels;
    if (each / shape[1] > kMostTaps) return;
    const auto bias = internal::quantized_bias(r_, input(maker, 2), channels, x->scale.scale, *w, end_.scale.scale);
    if (!bias) return;
    const auto sums = largest_sums(*w, channels, [&](std::int64_t i) { return i / each; });
    if (!internal::stays_exact(sums, *bias, x->scale.scale, *w, end_.scale.scale)) return;
    std::vector<ValueId> inputs = product_inputs(*x, w->bytes, *w);
    add_bias(inputs, maker, *bias);
    const auto& conv = std::get<Conv>(maker.op);
    become(QLinearConv{.window = conv.window, .groups = conv.groups}, std::move(inputs), maker);
  }

  // A dense layer is a convolution of images of one pixel.
  void gemm(Node& maker) {
    const auto& op = std::get<Gemm>(maker.op);
    const int axis = op.transpose_b ? 0 : 1;
    const auto x = internal::quantized_value(r_, maker.inputs[0]);
    const auto w = internal::quantized_weights(r_, maker.inputs[1], axis);
    if (!x || !w || op.alpha != 1 || (op.beta != 1 && input(maker, 2) != kNoValue) || op.transpose_a) return;
    const Array& array = *r_.constant(w->bytes);
    const std::int64_t columns = array.shape()[axis], depth = array.shape()[1 - axis];
    if (array.count() == 0) return;
    const auto bias = internal::quantized_bias(r_, input(maker, 2), columns, x->scale.scale, *w, end_.scale.scale);
    if (!bias) return;
    const auto sums = largest_sums(*w, columns, [&](std::int64_t i) { return axis == 0 ? i / depth : i % columns; });
    if (!internal::stays_exact(sums, *bias, x->scale.scale, *w, end_.scale.scale)) return;
    Array weights(array.type(), Shape{columns, depth, 1});
    for (std::int64_t n = 0; n < columns; ++n)
      for (std::int64_t k = 0; k < depth; ++k)
        weights.bytes()[static_cast<std::size_t>(n * depth + k)] =
            array.bytes()[static_cast<std::size_t>(axis == 0 ? n * depth + k : k * columns + n)];
    Quantized pixels = *x;
    pixels.bytes =
        r_.insert(at_, maker.name + ".pixels", Reshape{},
                  {x->bytes, r_.add_constant(maker.name + ".shape", internal::integer_list({-1, depth, 1}))});
    std::vector<ValueId> inputs =
        product_inputs(pixels, r_.add_constant(r_.graph().value(w->bytes).name, std::move(weights)), *w);
    add_bias(inputs, maker, *bias);
    // The product comes before this node, which becomes the change of shape.
    const std::string name = maker.name;
    Node product{name, QLinearConv{}, std::move(inputs), {}, {}, 0};
    if (end_.bounds()) {
      const int first = static_cast<int>(product.inputs.size());
      for (const std::int64_t bound : {end_.low, end_.high})
        product.inputs.push_back(
            r_.add_constant(name + ".bound", internal::byte_array(end_.scale.type, Shape{}, std::array{bound})));
      product.fused.push_back({Clip{}, {FusedOp::kChained, first, first + 1}});
      product.fused_inputs = 2;
    }
    const ValueId made = r_.add_value(name, infer_node(r_.graph(), product).outputs[0]);
    product.outputs = {made};
    r_.insert(at_, std::move(product));
    r_.become(node(), Reshape{}, {made, r_.add_constant(name + ".shape", internal::integer_list({-1, columns}))});
  }

  void matmul(Node& maker) {
    const auto a = internal::quantized_value(r_, maker.inputs[0]);
    const TensorType& b_type = r_.type(maker.inputs[1]);
    if (!a || !b_type.dims || b_type.rank() < 2 || !r_.type(maker.inputs[0]).dims ||
        r_.type(maker.inputs[0]).rank() < 2)
      return;
    const std::int64_t depth = (*b_type.dims)[b_type.dims->size() - 2];
    if (const auto w = internal::quantized_weights(r_, maker.inputs[1], b_type.rank() - 1)) {
      const Shape shape = r_.constant(w->bytes)->shape();
      if (w->scales.size() != 1 && shape.rank() != 2) return;
      const std::vector<std::int32_t> none(w->scales.size(), 0);
      const std::vector<double> largest(w->scales.size(), 255.0 * 255.0 * static_cast<double>(depth));
      if (!internal::stays_exact(largest, none, a->scale.scale, *w, end_.scale.scale)) return;
      become(QLinearMatMul{}, product_inputs(*a, w->bytes, *w), maker);
    } else if (const auto b = internal::quantized_value(r_, maker.inputs[1]); b && depth != TensorType::kUnknown) {
      const QuantizedWeights right{b->bytes, {b->scale.scale}, {b->scale.zero}};
      if (!internal::stays_exact({255.0 * 255.0 * static_cast<double>(depth)}, {0}, a->scale.scale, right,
                                 end_.scale.scale))
        return;
      std::vector<ValueId> inputs{a->bytes,
                                  scalar(".a_scale", a->scale.scale),
                                  zero(".a_zero", a->scale),
                                  b->bytes,
                                  scalar(".b_scale", b->scale.scale),
                                  zero(".b_zero", b->scale),
                                  scalar(".y_scale", end_.scale.scale),
                                  zero(".y_zero", end_.scale)};
      become(QLinearMatMul{}, std::move(inputs), maker);
    }
  }

  void add(Node& maker) {
    const auto a = internal::quantized_value(r_, maker.inputs[0]), b = internal::quantized_value(r_, maker.inputs[1]);
    if (!a || !b) return;
    if (!r_.type(maker.inputs[0]).dims || !r_.type(maker.inputs[1]).dims ||
        extents_.of(r_.graph(), maker.inputs[0]) != extents_.of(r_.graph(), maker.inputs[1]))
      return;
    become(QLinearAdd{},
           {a->bytes, scalar(".a_scale", a->scale.scale), zero(".a_zero", a->scale), b->bytes,
            scalar(".b_scale", b->scale.scale), zero(".b_zero", b->scale), scalar(".y_scale", end_.scale.scale),
            zero(".y_zero", end_.scale)},
           maker);
  }

  void average(Node& maker) {
    const auto x = internal::quantized_value(r_, maker.inputs[0]);
    if (!x || !r_.type(x->bytes).dims) return;
    double area = 1;  // as far as it is known: sums of more than 2^31 / 255 elements are not exact
    for (std::size_t d = 2; d < r_.type(x->bytes).dims->size(); ++d) {
      const std::int64_t extent = (*r_.type(x->bytes).dims)[d];
      if (extent == TensorType::kUnknown) return;
      area *= static_cast<double>(extent);
    }
    if (area == 0 || area * 255 >= 0x1p31 ||
        !std::isnormal(x->scale.scale / (static_cast<float>(area) * end_.scale.scale)))
      return;
    become(QLinearGlobalAveragePool{},
           {x->bytes, scalar(".x_scale", x->scale.scale), zero(".x_zero", x->scale),
            scalar(".y_scale", end_.scale.scale), zero(".y_zero", end_.scale)},
           maker);
  }

  // Elements are moved or chosen: bytes may be, too.
  void move(Node& maker) {
    const bool joins = std::holds_alternative<Concat>(maker.op);
    if (end_.bounds() || (!joins && !moves_elements(maker.op))) return;
    std::vector<Quantized> parts;
    for (std::size_t i = 0; i < (joins ? maker.inputs.size() : 1); ++i) {
      const auto x = internal::quantized_value(r_, maker.inputs[i]);
      if (!x) return;
      parts.push_back(*x);
    }
    std::vector<ValueId> inputs = maker.inputs;
    for (std::size_t i = 0; i < parts.size(); ++i) inputs[i] = rescaled(parts[i]);
    become(maker.op, std::move(inputs), maker);
  }

  Rewriter& r_;
  Rewriter::NodeAt at_;
  End end_;
  internal::SymbolicExtents& extents_;
};

// A sum goes to the product that made one of its operands, if nobody else reads that: to the later one, which finds the
// other made.
void fuse_sums(Graph& graph, bool& changed) {
  Rewriter r(graph);
  std::unordered_map<const Node*, std::size_t> order;
  std::vector<Node*> products;
  for (Node& node : r.nodes()) {
    order[&node] = order.size();
    const auto* conv = std::get_if<QLinearConv>(&node.op);
    const bool added = std::ranges::any_of(
        node.fused, [](const FusedOp& fused) { return std::holds_alternative<QLinearAdd>(fused.op); });
    if (conv != nullptr && conv->groups == 1 && !added) products.push_back(&node);
  }
  for (auto it = products.rbegin(); it != products.rend(); ++it) {
    Node& node = **it;
    Node* sum = r.only_reader(node.outputs[0]);
    if (sum == nullptr || !std::holds_alternative<QLinearAdd>(sum->op) || sum->inputs[0] == sum->inputs[3]) continue;
    const std::size_t chained = sum->inputs[0] == node.outputs[0] ? 0 : sum->inputs[3] == node.outputs[0] ? 3 : 8;
    if (chained == 8) continue;
    const Node* other = r.maker(sum->inputs[3 - chained]);
    if (other != nullptr && order[other] > order[&node]) {
      r.move_before(node, *sum);
      order[&node] = order[sum];
    }
    // Inputs of the sum follow those of the node; what it reads from the node is chained.
    std::vector<ValueId> inputs = node.inputs;
    std::vector<int> position;
    for (std::size_t i = 0; i < sum->inputs.size(); ++i) {
      position.push_back(i == chained ? FusedOp::kChained : static_cast<int>(inputs.size()));
      if (i != chained) inputs.push_back(sum->inputs[i]);
    }
    std::vector<FusedOp> fused = std::move(node.fused);
    fused.push_back({sum->op, {position.begin(), position.begin() + 8}});
    for (FusedOp then : sum->fused) {
      for (int& operand : then.operands)
        if (operand != FusedOp::kChained) operand = position[static_cast<std::size_t>(operand)];
      fused.push_back(std::move(then));
    }
    const std::size_t more = inputs.size() - node.inputs.size();
    r.set_inputs(node, std::move(inputs));
    node.fused = std::move(fused);
    node.fused_inputs += more;
    r.absorb(node, *sum);
  }
  changed = changed || r.changed();
}

}  // namespace

bool moves_elements(const Op& op) {
  if (const auto* pool = std::get_if<MaxPool>(&op)) return !pool->with_indices;
  if (const auto* resize = std::get_if<Resize>(&op))
    return resize->mode == Resize::Mode::nearest && resize->coordinates != Resize::Coordinates::tf_crop_and_resize;
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
         std::holds_alternative<Squeeze>(op) || std::holds_alternative<Unsqueeze>(op) ||
         std::holds_alternative<Transpose>(op) || std::holds_alternative<Slice>(op) ||
         std::holds_alternative<DepthToSpace>(op) || std::holds_alternative<SpaceToDepth>(op) ||
         std::holds_alternative<Expand>(op) || std::holds_alternative<TileRepeat>(op);
}

bool fuse_quantization(Graph& graph) {
  internal::SymbolicExtents extents;
  for (const Node& node : graph.nodes) extents.follow(graph, node);
  bool changed = internal::rewrite_until_settled(graph, [&](Rewriter& r, Rewriter::NodeAt at) {
    if (const auto scale = internal::quantized_by(r, *at)) Fusion(r, at, *scale, extents).run();
  });
  fuse_sums(graph, changed);
  return changed;
}

}  // namespace tessera
