#include "tessera/targets/tensix/network/lower.h"

#include "tessera/core/refusal.h"
#include "tessera/core/text.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/targets/tensix/network/graph_window.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tensix {
namespace {

using Lowered = std::variant<CardLayer, Refusal>;  // why a node has no operator on the card

std::int64_t rows_of(const Shape& shape) { return shape.rank() < 2 || shape[1] == 0 ? 0 : shape.volume() / shape[1]; }

// Of TTNN's functions the one that computes the same.
std::optional<VectorFunction> function_of(const Unary& op) {
  using Kind = Unary::Kind;
  const auto plain = [](std::string_view name) { return vector_function(name); };
  const auto with = [](std::string_view name, float alpha) { return vector_function(name, std::span(&alpha, 1)); };
  switch (op.kind) {
    case Kind::abs: return plain("abs");
    case Kind::elu: return with("elu", op.alpha);
    case Kind::exp: return plain("exp");
    case Kind::gelu: return plain("gelu");
    case Kind::hard_sigmoid:
      if (std::abs(op.alpha - 1.0f / 6) > 1e-6f || op.beta != 0.5f) return std::nullopt;
      return plain("hardsigmoid");
    case Kind::hard_swish: return plain("hardswish");
    case Kind::leaky_relu: return with("leaky_relu", op.alpha);
    case Kind::log: return plain("log");
    case Kind::mish: return plain("mish");
    case Kind::neg: return plain("neg");
    case Kind::reciprocal: return plain("reciprocal");
    case Kind::relu: return plain("relu");
    case Kind::sigmoid: return plain("sigmoid");
    case Kind::silu:
      if (op.alpha != 0 && op.alpha != 1) return std::nullopt;
      return plain("silu");
    case Kind::softplus: return plain("softplus");
    case Kind::sqrt: return plain("sqrt");
    case Kind::tanh: return plain("tanh");
    default: return std::nullopt;
  }
}

class Lowering {
 public:
  Lowering(Graph graph, const LowerOptions& options) : options_(options) {
    out_.graph = std::move(graph);
    run_passes(out_.graph, {.off = {"fuse_epilogue"}});
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
      if (const auto* split = std::get_if<Split>(&node.op)) {
        if (lower_split(node, *split)) continue;
      }
      Lowered result = lower_node(node);
      if (Refusal* refusal = std::get_if<Refusal>(&result)) {
        if (!options_.host_fallback)
          fail(Code::unsupported,
               Hint{refusal->hint.empty() ? "--fallback host computes it on the host"
                                          : refusal->hint + "; or --fallback host, which computes it on the host"},
               "node '{}' ({}) has no operator on the card: {}", node.name, name(node.op), refusal->message);
        result = CardLayer(HostLayer{i});
      }
      add(i, std::get<CardLayer>(std::move(result)));
    }
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kOutput = static_cast<std::size_t>(-1);

  const Value& value(ValueId id) const { return out_.graph.value(id); }
  Shape shape(ValueId id) const { return value(id).type.shape(); }
  bool is_constant(ValueId id) const { return value(id).constant != nullptr; }
  bool on_card(ValueId id) const {
    const TensorType& type = value(id).type;
    return type.type == ElementType::float32 && type.is_static() && type.shape().rank() >= 2 &&
           type.shape().volume() > 0;
  }
  static Constant input_constant(const Graph& graph, const Node& node, std::size_t i) {
    return i < node.inputs.size() && node.inputs[i] != kNoValue ? graph.value(node.inputs[i]).constant : nullptr;
  }
  Constant constant(const Node& node, std::size_t i) const { return input_constant(out_.graph, node, i); }

  void add(std::size_t i, CardLayer layer) {
    const Node& node = out_.graph.nodes[i];
    LoweredNode lowered{node.name, "", std::move(layer), {}, node.outputs};
    for (const ValueId id : node.inputs)
      if (id != kNoValue && !is_constant(id)) lowered.inputs.push_back(id);
    std::visit([&](auto& l) { name_and_fuse(node, lowered, l); }, lowered.layer);
    out_.nodes.push_back(std::move(lowered));
  }

  template <class Layer>
  void name_and_fuse(const Node& node, LoweredNode& lowered, Layer& layer) {
    using T = Layer;
    if constexpr (std::is_same_v<T, ConvLayer>) {
      lowered.op = layer.transposed ? "conv_transpose2d" : "conv2d";
      if (!layer.transposed)
        if (const auto f = take_activation(node, lowered, true)) layer.activation = f->name;
    } else if constexpr (std::is_same_v<T, PoolLayer>) {
      lowered.op = layer.maximum ? "max_pool2d" : "avg_pool2d";
    } else if constexpr (std::is_same_v<T, LinearLayer>) {
      lowered.op = "linear";
    } else if constexpr (std::is_same_v<T, BinaryLayer>) {
      lowered.op = op_name(layer.kind);
      layer.activation = take_activation(node, lowered, false);
    } else if constexpr (std::is_same_v<T, UnaryLayer>) {
      lowered.op = layer.function.name;
    } else if constexpr (std::is_same_v<T, ConcatLayer>) {
      lowered.op = "concat";
    } else if constexpr (std::is_same_v<T, SliceLayer>) {
      lowered.op = "slice";
    } else if constexpr (std::is_same_v<T, UpsampleLayer>) {
      lowered.op = "upsample";
    } else if constexpr (std::is_same_v<T, SoftmaxLayer>) {
      lowered.op = "softmax";
    } else if constexpr (std::is_same_v<T, HostLayer>) {
      lowered.op = fmt::format("{} (host)", name(node.op));
    } else {
      lowered.op = "reshape";
    }
  }

  // The function that alone reads the node's result, if the operator can work it out on the way.
  std::optional<VectorFunction> take_activation(const Node& node, LoweredNode& lowered, bool by_name) {
    const auto& readers = consumers_[static_cast<std::size_t>(node.outputs[0])];
    if (readers.size() != 1 || readers[0] == kOutput) return std::nullopt;
    const Node& next = out_.graph.nodes[readers[0]];
    const std::optional<VectorFunction> f = activation(next);
    if (!f || next.inputs[0] != node.outputs[0]) return std::nullopt;
    if (by_name) {  // a convolution's is given by its name, without parameters
      if (f->kind != VectorFunction::Kind::activation) return std::nullopt;
      const auto named = attempt([&] { return activation_from_name(f->name); });
      if (!named || *named != f->activation) return std::nullopt;
    }
    fused_[readers[0]] = true;
    lowered.outputs = next.outputs;
    return f;
  }

  std::optional<VectorFunction> activation(const Node& node) const {
    if (const auto* unary = std::get_if<Unary>(&node.op)) return function_of(*unary);
    if (!std::holds_alternative<Clip>(node.op)) return std::nullopt;
    float bounds[2] = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
    for (std::size_t i = 1; i < 3; ++i) {
      if (i >= node.inputs.size() || node.inputs[i] == kNoValue) continue;
      const Constant c = constant(node, i);
      if (!c || c->type() != ElementType::float32 || c->count() != 1) return std::nullopt;
      bounds[i - 1] = c->as<float>()[0];
    }
    if (bounds[0] == 0 && bounds[1] == 6) return vector_function("relu6");
    return vector_function("clamp", bounds);
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
    for (const ValueId id : node.inputs)
      if (id != kNoValue && out_.pixels.contains(id) && !std::holds_alternative<Gemm>(node.op) && !activation(node))
        return Refusal{fmt::format("it reads a flattened image, whose elements are in another order on the card"), ""};
    return std::visit([&](const auto& op) { return lower_op(node, op); }, static_cast<const AnyOp&>(node.op));
  }

  template <class Other>
  Lowered lower_op(const Node& node, const Other&) {
    if (const auto f = activation(node)) {
      if (const auto found = out_.pixels.find(node.inputs[0]); found != out_.pixels.end())
        out_.pixels[node.outputs[0]] = found->second;
      return CardLayer(UnaryLayer{*f});
    }
    if constexpr (std::is_same_v<Other, Unary>)
      return Refusal{"the vector unit has no such function, or not with these parameters", ""};
    return Refusal{"TTNN's vision operators do not include it", "cut the model before this node, or replace it"};
  }

  Lowered lower_op(const Node& node, const Conv& op) {
    const Shape in = shape(node.inputs[0]);
    const Constant weights = constant(node, 1), bias = constant(node, 2);
    if (in.rank() != 4) return Refusal{fmt::format("the image has rank {}", in.rank()), "conv2d takes N C H W"};
    if (!weights || (node.inputs.size() > 2 && node.inputs[2] != kNoValue && !bias))
      return Refusal{"its weights are computed", "conv2d takes weights that are known"};
    tessera::Window window = op.window;
    window.kernel = {weights->shape()[2], weights->shape()[3]};
    ConvLayer layer;
    layer.problem.batch = in[0];
    layer.problem.height = in[2];
    layer.problem.width = in[3];
    layer.problem.in_channels = in[1];
    layer.problem.out_channels = weights->shape()[0];
    layer.problem.groups = op.groups;
    layer.problem.window = window_of(resolve(window, {in[2], in[3]}, false, Conv::kName));
    layer.problem.has_bias = bias != nullptr;
    layer.weights = weights;
    layer.bias = bias;
    return CardLayer(std::move(layer));
  }

  Lowered lower_op(const Node& node, const ConvTranspose& op) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    const Constant weights = constant(node, 1), bias = constant(node, 2);
    if (in.rank() != 4) return Refusal{fmt::format("the image has rank {}", in.rank()), "conv2d takes N C H W"};
    if (!weights || (node.inputs.size() > 2 && node.inputs[2] != kNoValue && !bias))
      return Refusal{"its weights are computed", "conv_transpose2d takes weights that are known"};
    if (op.window.auto_pad != AutoPad::none || !op.output_shape.empty())
      return Refusal{"its padding follows from the output's size", "give pads and output_padding instead"};
    const auto at = [](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
      return list.empty() ? otherwise : list[i];
    };
    ConvLayer layer;
    layer.transposed = true;
    layer.problem.batch = in[0];
    layer.problem.height = in[2];
    layer.problem.width = in[3];
    layer.problem.in_channels = in[1];
    layer.problem.out_channels = out[1];
    layer.problem.groups = op.groups;
    layer.problem.window = {.kernel_h = weights->shape()[2],
                            .kernel_w = weights->shape()[3],
                            .stride_h = at(op.window.strides, 0, 1),
                            .stride_w = at(op.window.strides, 1, 1),
                            .dilation_h = at(op.window.dilations, 0, 1),
                            .dilation_w = at(op.window.dilations, 1, 1),
                            .top = at(op.window.pads, 0, 0),
                            .bottom = at(op.window.pads, 2, 0),
                            .left = at(op.window.pads, 1, 0),
                            .right = at(op.window.pads, 3, 0)};
    layer.problem.has_bias = bias != nullptr;
    layer.output_pad_h = at(op.output_padding, 0, 0);
    layer.output_pad_w = at(op.output_padding, 1, 0);
    layer.weights = weights;
    layer.bias = bias;
    return CardLayer(std::move(layer));
  }

  Lowered pool(const Node& node, const tessera::Window& window, bool ceil_mode, bool maximum, bool count_pad,
               std::string_view op) {
    const Shape in = shape(node.inputs[0]);
    if (in.rank() != 4) return Refusal{fmt::format("the image has rank {}", in.rank()), "pools take N C H W"};
    PoolLayer layer{maximum, {.batch = in[0], .height = in[2], .width = in[3], .channels = in[1]}};
    layer.pool.window = window_of(resolve(window, {in[2], in[3]}, ceil_mode, op));
    layer.pool.ceil_mode = ceil_mode;
    layer.pool.count_include_pad = count_pad;
    return CardLayer(std::move(layer));
  }
  Lowered lower_op(const Node& node, const MaxPool& op) {
    if (op.with_indices && node.outputs.size() > 1 && node.outputs[1] != kNoValue)
      return Refusal{"it returns the positions of its maxima too", ""};
    return pool(node, op.window, op.ceil_mode, true, false, MaxPool::kName);
  }
  Lowered lower_op(const Node& node, const AveragePool& op) {
    return pool(node, op.window, op.ceil_mode, false, op.count_include_pad, AveragePool::kName);
  }
  Lowered lower_op(const Node& node, const GlobalPool& op) {
    if (op.kind == GlobalPool::Kind::lp) return Refusal{"pools on the card are maxima and averages", ""};
    const Shape in = shape(node.inputs[0]);
    if (in.rank() != 4) return Refusal{fmt::format("the image has rank {}", in.rank()), "pools take N C H W"};
    tessera::Window window;
    window.kernel = {in[2], in[3]};
    return pool(node, window, false, op.kind == GlobalPool::Kind::max, true, GlobalPool::kName);
  }

  Lowered lower_op(const Node& node, const Gemm& op) {
    const Constant weights = constant(node, 1), bias = constant(node, 2);
    const bool biased = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    if (op.transpose_a || !weights || (biased && !bias))
      return Refusal{"linear takes an input as it is and constant weights", ""};
    if (op.alpha != 1 || (biased && op.beta != 1))
      return Refusal{fmt::format("alpha is {} and beta {}", op.alpha, op.beta), "fold them into the weights"};
    LinearLayer layer{weights, bias, op.transpose_b};
    const std::int64_t n = weights->shape()[op.transpose_b ? 0 : 1];
    if (bias && bias->count() != n) return Refusal{fmt::format("its bias has shape {}", bias->shape().to_string()), ""};
    if (const auto found = out_.pixels.find(node.inputs[0]); found != out_.pixels.end()) layer.pixels = found->second;
    return CardLayer(std::move(layer));
  }

  Lowered lower_op(const Node& node, const Binary& op) {
    using Kind = Binary::Kind;
    switch (op.kind) {
      case Kind::add:
      case Kind::sub:
      case Kind::mul:
      case Kind::div:
      case Kind::min:
      case Kind::max: break;
      default: return Refusal{"the card's element-wise operators are add, sub, mul, div, min and max", ""};
    }
    BinaryLayer layer{op.kind, {}, nullptr, false};
    const Shape out = shape(node.outputs[0]);
    const Constant a = constant(node, 0), b = constant(node, 1);
    if (a || b) {
      layer.constant = a ? a : b;
      layer.constant_first = a != nullptr;
      const ValueId operand = node.inputs[a ? 1 : 0];
      const Shape& c = layer.constant->shape();
      // One for each channel: N C H W with C alone.
      bool channels = layer.constant->count() == out[1] && c.rank() <= out.rank();
      for (int d = 1; channels && d <= c.rank(); ++d) channels = c[c.rank() - d] == (out.rank() - d == 1 ? out[1] : 1);
      if (shape(operand) != out || layer.constant->type() != ElementType::float32 ||
          (layer.constant->count() != 1 && !channels))
        return Refusal{
            fmt::format("its constant of shape {} is neither a number nor one for each channel", c.to_string()), ""};
      return CardLayer(std::move(layer));
    }
    const Shape x = shape(node.inputs[0]), y = shape(node.inputs[1]);
    const auto fits = [&](const Shape& s) {
      if (s == out) return true;
      // A row for all pixels of the one image that there is.
      return s.rank() == out.rank() && out[0] == 1 && s[1] == out[1] && s.volume() == s[1];
    };
    if (!fits(x) || !fits(y))
      return Refusal{fmt::format("shapes {} and {} are broadcast", x.to_string(), y.to_string()),
                     out.rank() > 1 && out[0] > 1 ? "with a batch of 1 a value for each channel can be"
                                                  : "a value for each channel can be"};
    return CardLayer(std::move(layer));
  }

  Lowered lower_op(const Node& node, const Concat& op) {
    const Shape out = shape(node.outputs[0]);
    const std::int64_t axis = op.axis < 0 ? op.axis + out.rank() : op.axis;
    for (const ValueId id : node.inputs)
      if (is_constant(id)) return Refusal{"a constant is among what it joins", ""};
    if (axis == 1) return CardLayer(ConcatLayer{true});
    // Rows of one image behind those of another.
    std::int64_t before = 1;
    for (int d = 0; d < axis; ++d) before *= d == 1 ? 1 : out[d];
    if (before != 1) return Refusal{fmt::format("it joins along axis {} of {}", axis, out.to_string()), ""};
    return CardLayer(ConcatLayer{false});
  }

  Lowered lower_op(const Node& node, const Slice&) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    for (int d = 0; d < in.rank(); ++d)
      if (d != 1 && in[d] != out[d]) return Refusal{fmt::format("it cuts axis {}", d), "channels can be cut"};
    std::int64_t begin = 0, step = 1;
    const Constant starts = constant(node, 1), axes = constant(node, 3), steps = constant(node, 4);
    if (!starts || (node.inputs.size() > 3 && node.inputs[3] != kNoValue && !axes))
      return Refusal{"its bounds are computed", ""};
    const std::vector<std::int64_t> first = starts->to_int64();
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::int64_t axis = axes ? axes->to_int64()[i] : static_cast<std::int64_t>(i);
      if (axis < 0) axis += in.rank();
      if (steps && steps->to_int64()[i] != 1) step = steps->to_int64()[i];
      if (axis == 1) begin = first[i] < 0 ? first[i] + in[1] : first[i];
    }
    if (step != 1) return Refusal{fmt::format("it takes every {}th element", step), ""};
    begin = std::clamp<std::int64_t>(begin, 0, in[1]);
    return CardLayer(SliceLayer{begin, begin + out[1]});
  }

  // Several results: a slice for each.
  bool lower_split(const Node& node, const Split& op) {
    const Shape in = shape(node.inputs[0]);
    if (!on_card(node.inputs[0]) || out_.pixels.contains(node.inputs[0]) ||
        (op.axis < 0 ? op.axis + in.rank() : op.axis) != 1)
      return false;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) return false;
      begin += shape(node.outputs[i])[1];
    }
    if (begin != in[1]) return false;
    begin = 0;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::int64_t end = begin + shape(node.outputs[i])[1];
      out_.nodes.push_back(
          {fmt::format("{}:{}", node.name, i), "slice", SliceLayer{begin, end}, {node.inputs[0]}, {node.outputs[i]}});
      begin = end;
    }
    return true;
  }

  Lowered lower_op(const Node& node, const Resize& op) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    const Hint whole{"images grow by whole factors on the card, nearest or bilinear with half-pixel centres"};
    if (in.rank() != 4 || in[0] != out[0] || in[1] != out[1] || out[2] % in[2] != 0 || out[3] % in[3] != 0)
      return Refusal{fmt::format("it makes {} of {}", out.to_string(), in.to_string()), whole.text};
    UpsampleLayer layer{in[0], in[2], in[3], in[1], out[2] / in[2], out[3] / in[3], UpsampleMode::nearest};
    if (op.antialias || op.mode == Resize::Mode::cubic) return Refusal{"it interpolates otherwise", whole.text};
    if (op.mode == Resize::Mode::linear) {
      layer.mode = UpsampleMode::bilinear;
      if (op.coordinates != Resize::Coordinates::half_pixel &&
          (op.coordinates != Resize::Coordinates::pytorch_half_pixel || out[2] == 1 || out[3] == 1))
        return Refusal{"its pixels lie elsewhere", whole.text};
      return CardLayer(layer);
    }
    // Which pixel is the nearest is a matter of many rules: ask the definition, over one column and one row.
    for (const int d : {2, 3}) {
      const std::int64_t n = in[d], scale = out[d] / n;
      Array ramp(ElementType::float32, Shape{1, 1, d == 2 ? n : 1, d == 3 ? n : 1});
      for (std::int64_t i = 0; i < n; ++i) ramp.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
      const std::vector<float> factors{1, 1, d == 2 ? static_cast<float>(scale) : 1.0f,
                                       d == 3 ? static_cast<float>(scale) : 1.0f};
      const Array scales = Array::of<float>(Shape{4}, factors);
      Resize plain = op;
      plain.axes.clear();
      plain.aspect = Resize::Aspect::stretch;
      const Array* operands[] = {&ramp, nullptr, &scales};
      const Array y = reference(Op(plain), operands)[0];
      for (std::int64_t i = 0; i < n * scale; ++i)
        if (y.as<float>()[static_cast<std::size_t>(i)] != static_cast<float>(i / scale))
          return Refusal{"its nearest pixels are others", whole.text};
    }
    return CardLayer(layer);
  }

  Lowered lower_op(const Node& node, const Softmax& op) {
    const Shape in = shape(node.inputs[0]);
    const std::int64_t axis = op.axis < 0 ? op.axis + in.rank() : op.axis;
    if (op.log || axis != 1 || (op.flatten && rows_of(in) != in[0]))
      return Refusal{fmt::format("it runs along axis {}{}", axis, op.log ? " and takes logarithms" : ""),
                     "softmax over channels can be had"};
    return CardLayer(SoftmaxLayer{});
  }

  Lowered lower_op(const Node& node, const Reshape&) { return reshaped(node); }
  Lowered lower_op(const Node& node, const Flatten&) { return reshaped(node); }
  Lowered lower_op(const Node& node, const Squeeze&) { return reshaped(node); }
  Lowered lower_op(const Node& node, const Unsqueeze&) { return reshaped(node); }
  Lowered reshaped(const Node& node) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    if (in[0] == out[0] && in[1] == out[1]) return CardLayer(ViewLayer{});
    if (out.rank() == 2 && in[0] == out[0]) {
      const std::int64_t pixels = in.volume() / (in[0] * in[1]);
      if (pixels == 1) return CardLayer(ViewLayer{});
      out_.pixels[node.outputs[0]] = pixels;
      return CardLayer(FlattenLayer{pixels});
    }
    return Refusal{fmt::format("it makes {} of {}: rows and columns of the card are pixels and channels",
                               out.to_string(), in.to_string()),
                   "extents behind the channels can be changed, and images flattened"};
  }

  LowerOptions options_;
  LoweredGraph out_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<bool> fused_;
};

}  // namespace

std::int64_t ConvLayer::out_h() const {
  const Window& w = problem.window;
  if (!transposed) return problem.out_h();
  return (problem.height - 1) * w.stride_h - w.top - w.bottom + w.dilation_h * (w.kernel_h - 1) + output_pad_h + 1;
}
std::int64_t ConvLayer::out_w() const {
  const Window& w = problem.window;
  if (!transposed) return problem.out_w();
  return (problem.width - 1) * w.stride_w - w.left - w.right + w.dilation_w * (w.kernel_w - 1) + output_pad_w + 1;
}

Extent2d LoweredGraph::matrix(ValueId id) const {
  const Shape shape = graph.value(id).type.shape();
  return {rows_of(shape), shape[1]};
}

LoweredGraph lower(Graph graph, const LowerOptions& options) { return Lowering(std::move(graph), options).run(); }

std::vector<float> rows_from_array(const Array& x) {
  const auto from = x.as<float>();
  const Shape& shape = x.shape();
  const std::int64_t channels = shape[1], rest = rows_of(shape) / std::max<std::int64_t>(shape[0], 1);
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
  const std::int64_t rest = pixels * (rows_of(shape) / std::max<std::int64_t>(shape[0], 1));
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* in = rows.data() + n * rest * channels + c;
      float* out = to + (n * channels + c) * rest;
      for (std::int64_t p = 0; p < rest; ++p) out[p] = in[p * channels];
    }
  return x;
}

std::vector<float> linear_matrix(const LinearLayer& layer, std::int64_t n) {
  const auto given = layer.weights->as<float>();
  const std::int64_t k = layer.weights->count() / n, channels = k / layer.pixels;
  std::vector<float> matrix(given.size());
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t p = 0; p < layer.pixels; ++p) {
      const std::int64_t from = c * layer.pixels + p, to = p * channels + c;
      for (std::int64_t j = 0; j < n; ++j)
        matrix[static_cast<std::size_t>(to * n + j)] =
            given[static_cast<std::size_t>(layer.transposed ? j * k + from : from * n + j)];
    }
  return matrix;
}

}  // namespace tessera::tensix
