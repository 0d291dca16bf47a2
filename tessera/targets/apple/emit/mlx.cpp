#include "tessera/targets/apple/emit/mlx.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/apple/emit/mlx_functions.h"
#include "tessera/targets/apple/emit/mlx_prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace tessera::apple {
namespace {

class MlxWriter {
 public:
  MlxWriter(Graph graph, const std::string& model, const std::string& weights_file)
      : graph_(std::move(graph)), model_(model) {
    run_passes(graph_, {.off = {"fuse_epilogue"}});
    script_.weights_file = weights_file;
  }

  emit::Script run() && {
    std::vector<std::string> parameters{"w"}, inputs, outputs, results;
    std::string body;
    for (const ValueId id : graph_.inputs) {
      const TensorType& type = graph_.value(id).type;
      check(type.is_static() && type.type == ElementType::float32, Code::unsupported,
            "input '{}' is {}: MLX code is written for float32 of known shape", graph_.value(id).name,
            type.to_string());
      parameters.push_back(made(id));
      if (is_image(id)) body += fmt::format("    {0} = nhwc({0})\n", made(id));
      inputs.push_back(fmt::format("{}: {}", emit::py(graph_.value(id).name), emit::py_tuple(extents_of(shape(id)))));
    }
    for (const Node& node : graph_.nodes) {
      std::optional<std::string> text = node.fused.empty() ? write(node) : std::nullopt;
      if (text)
        body += *text;
      else
        refused_.push_back(fmt::format("'{}' ({}{})", node.name, name(node.op), why_.empty() ? "" : ": " + why_));
      why_.clear();
    }
    check(refused_.empty(), Code::unsupported, Hint{"cut the model before them, or replace them"},
          "{} of {} operators cannot be written as MLX code: {}", refused_.size(), graph_.nodes.size(),
          fmt::join(refused_, ", "));
    for (const ValueId id : graph_.outputs) {
      results.push_back(is_image(id) ? fmt::format("nchw({})", operand(id)) : operand(id));
      outputs.push_back(emit::py(graph_.value(id).name));
    }
    script_.text = fmt::format(R"("""{} in MLX, written by Tessera.

    python FILE.py [--input x.npy] [--output DIR] [--runs N] [--cpu]

Needs mlx and numpy, and its weights beside it. Inputs and outputs are N C H W.
"""

)",
                               emit::py_comment(model_));
    script_.text += std::string(kMlxHead.substr(1)) + std::string(emit::kReadSafetensors) + "\n\n";
    script_.text += kMlxImages.substr(1);
    script_.text +=
        fmt::format("WEIGHTS_FILE = {}\n", script_.weights.empty() ? emit::py("") : emit::py(script_.weights_file));
    script_.text += emit::py_call(0, "INPUTS = {", inputs, "}") + emit::py_call(0, "OUTPUTS = [", outputs, "]");
    script_.text += "FIXED = True\n\n\n";
    script_.text += emit::py_call(0, "def network(", parameters, "):") + body +
                    emit::py_call(4, "return (", {fmt::format("{},", fmt::join(results, ", "))}, ")") + "\n";
    script_.text += kMlxTail;
    return std::move(script_);
  }

 private:
  Shape shape(ValueId id) const { return graph_.value(id).type.shape(); }
  bool is_image(ValueId id) const { return graph_.value(id).type.shape().rank() == 4; }
  const Array* constant(const Node& node, std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != kNoValue ? graph_.value(node.inputs[i]).constant.get() : nullptr;
  }
  bool has(const Node& node, std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  std::optional<std::string> no(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  static std::string made(ValueId id) { return fmt::format("v{}", id); }

  std::string weight(const std::string& name, const Array& array) {
    const auto same = [&](const emit::ScriptWeight& each) { return each.name == name; };
    if (std::none_of(script_.weights.begin(), script_.weights.end(), same))
      script_.weights.push_back({name, extents_of(array.shape()), std::make_shared<const Array>(array)});
    return fmt::format("w[{}]", emit::py(name));
  }

  // A value as the script has it: images N H W C. Constants as operands of something of this rank.
  std::string operand(ValueId id, int rank = -1) {
    const Value& value = graph_.value(id);
    if (!value.constant) {
      const int own = shape(id).rank();
      if (rank != 4 || own == 4) return made(id);
      Extents padded(static_cast<std::size_t>(4 - own), 1);
      for (const std::int64_t extent : extents_of(shape(id))) padded.push_back(extent);
      return fmt::format("nhwc(mx.reshape({}, {}))", made(id), emit::py_tuple(padded));
    }
    const Array& array = *value.constant;
    if (array.count() == 1) return emit::py(double{array.as<float>()[0]});
    if (rank != 4 && array.shape().rank() != 4) return weight(value.name, array);
    Extents padded(static_cast<std::size_t>(4 - array.shape().rank()), 1);
    for (const std::int64_t extent : extents_of(array.shape())) padded.push_back(extent);
    return weight(value.name, permuted(array.reshaped(Shape(padded)), {0, 2, 3, 1}));
  }
  std::string in_order(ValueId id) { return is_image(id) ? fmt::format("nchw({})", operand(id)) : operand(id); }
  std::string from_order(ValueId id, const std::string& text) const {
    return is_image(id) ? fmt::format("nhwc({})", text) : text;
  }

  // Where an axis of N C H W is.
  std::int64_t axis(std::int64_t a, int rank) const {
    if (a < 0) a += rank;
    constexpr std::int64_t kImage[] = {0, 3, 1, 2};
    return rank == 4 ? kImage[a] : a;
  }

  std::string line(const Node& node, const std::string& text) const {
    return fmt::format("    {} = {}  # {}\n", made(node.outputs[0]), text, emit::py_comment(node.name));
  }
  std::string call(const Node& node, const std::string& function, const std::vector<std::string>& arguments) const {
    return fmt::format("    # {}\n", emit::py_comment(node.name)) +
           emit::py_call(4, fmt::format("{} = {}(", made(node.outputs[0]), function), arguments);
  }

  std::optional<std::string> write(const Node& node) {
    for (const ValueId id : node.inputs)
      if (id != kNoValue && !graph_.value(id).type.is_static()) return no("its shapes are not known");
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue && graph_.value(node.outputs[i]).type.type != ElementType::float32)
        return no("its result is no float32");
    return std::visit([&](const auto& op) { return write_op(node, op); }, static_cast<const AnyOp&>(node.op));
  }

  template <class Other>
  std::optional<std::string> write_op(const Node&, const Other&) {
    return std::nullopt;
  }

  std::optional<std::string> write_op(const Node& node, const Unary& op) {
    const auto text = function_text(op, operand(node.inputs[0]));
    return text ? std::optional(line(node, *text)) : no("no such function");
  }
  std::optional<std::string> write_op(const Node& node, const Binary& op) {
    const int rank = shape(node.outputs[0]).rank();
    const auto text = binary_text(op.kind, operand(node.inputs[0], rank), operand(node.inputs[1], rank));
    return text ? std::optional(line(node, *text)) : no("no such operation");
  }
  std::optional<std::string> write_op(const Node& node, const Clip&) {
    std::string bounds;
    for (const std::size_t i : {1, 2}) {
      if (has(node, i) && constant(node, i) == nullptr) return no("its bounds are computed");
      bounds += has(node, i) ? ", " + emit::py(double{constant(node, i)->as<float>()[0]}) : std::string(", None");
    }
    return line(node, fmt::format("mx.clip({}{})", operand(node.inputs[0]), bounds));
  }
  std::optional<std::string> write_op(const Node& node, const Dropout&) { return line(node, operand(node.inputs[0])); }

  std::string padded_image(const std::string& x, const ResolvedWindow& w) {
    if (w.begins == w.ends) return x;
    return fmt::format("padded({}, [{}, {}, {}, {}])", x, w.begins[0], w.ends[0], w.begins[1], w.ends[1]);
  }
  std::string with_bias(const Node& node, std::string text) {
    if (const Array* bias = constant(node, 2))
      text +=
          fmt::format("    {0} = {0} + {1}\n", made(node.outputs[0]), weight(graph_.value(node.inputs[2]).name, *bias));
    return text;
  }

  std::optional<std::string> write_op(const Node& node, const Conv& op) {
    const Shape in = shape(node.inputs[0]);
    const Array* weights = constant(node, 1);
    if (in.rank() != 4) return no(fmt::format("rank {}", in.rank()));
    if (weights == nullptr || (has(node, 2) && constant(node, 2) == nullptr)) return no("its weights are computed");
    tessera::Window window = op.window;
    window.kernel = {weights->shape()[2], weights->shape()[3]};
    const ResolvedWindow w = resolve(window, {in[2], in[3]}, false, Conv::kName);
    const bool even = w.begins == w.ends;
    return with_bias(
        node, call(node, "mx.conv2d",
                   {padded_image(operand(node.inputs[0]), w),
                    weight(graph_.value(node.inputs[1]).name, permuted(*weights, {0, 2, 3, 1})),
                    fmt::format("stride={}", emit::py_tuple(w.strides)),
                    fmt::format("padding={}", even ? emit::py_tuple(w.begins) : "(0, 0)"),
                    fmt::format("dilation={}", emit::py_tuple(w.dilations)), fmt::format("groups={}", op.groups)}));
  }

  std::optional<std::string> write_op(const Node& node, const ConvTranspose& op) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    const Array* weights = constant(node, 1);
    if (in.rank() != 4) return no(fmt::format("rank {}", in.rank()));
    if (weights == nullptr || (has(node, 2) && constant(node, 2) == nullptr)) return no("its weights are computed");
    if (op.groups != 1) return no(fmt::format("{} groups", op.groups));
    const auto at = [](const Extents& list, std::size_t i, std::int64_t otherwise) {
      return list.empty() ? otherwise : list[i];
    };
    const Extents stride{at(op.window.strides, 0, 1), at(op.window.strides, 1, 1)};
    const Extents dilation{at(op.window.dilations, 0, 1), at(op.window.dilations, 1, 1)};
    const Extents pads{at(op.window.pads, 0, 0), at(op.window.pads, 1, 0)};
    if (op.window.auto_pad != AutoPad::none || !op.output_shape.empty()) return no("its padding is worked out");
    // Without padding all of it comes out; what padding takes off is cut.
    const Extents full{(in[2] - 1) * stride[0] + dilation[0] * (weights->shape()[2] - 1) + 1,
                       (in[3] - 1) * stride[1] + dilation[1] * (weights->shape()[3] - 1) + 1};
    std::string text =
        call(node, "mx.conv_transpose2d",
             {operand(node.inputs[0]), weight(graph_.value(node.inputs[1]).name, permuted(*weights, {1, 2, 3, 0})),
              fmt::format("stride={}", emit::py_tuple(stride)), fmt::format("dilation={}", emit::py_tuple(dilation))});
    const Extents cut{-pads[0], out[2] + pads[0] - full[0], -pads[1], out[3] + pads[1] - full[1]};
    if (cut != Extents{0, 0, 0, 0})
      text += fmt::format("    {0} = padded({0}, {1})\n", made(node.outputs[0]), emit::py_list(cut));
    return with_bias(node, text);
  }

  std::optional<std::string> write_op(const Node& node, const BatchNorm& op) {
    if (op.training) return no("in training");
    for (const std::size_t i : {1, 2, 3, 4})
      if (constant(node, i) == nullptr) return no("its statistics are computed");
    const auto s = constant(node, 1)->as<float>(), b = constant(node, 2)->as<float>();
    const auto m = constant(node, 3)->as<float>(), v = constant(node, 4)->as<float>();
    Array scale(ElementType::float32, Shape{static_cast<std::int64_t>(s.size())}), shift = scale;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const double factor = s[i] / std::sqrt(static_cast<double>(v[i]) + op.epsilon);
      scale.as<float>()[i] = static_cast<float>(factor);
      shift.as<float>()[i] = static_cast<float>(b[i] - m[i] * factor);
    }
    if (shape(node.inputs[0]).rank() != 4 && shape(node.inputs[0]).rank() != 2) return no("no image");
    return line(node, fmt::format("{} * {} + {}", operand(node.inputs[0]), weight(node.name + ".scale", scale),
                                  weight(node.name + ".shift", shift)));
  }

  struct PoolText {
    ResolvedWindow w;
    std::string size, kernel, stride, dilation;
    Extents reach;  // rows and columns that windows reach beyond image and padding
  };
  std::optional<PoolText> pool(const Node& node, const tessera::Window& window, bool ceil_mode,
                               std::string_view op_name) {
    const Shape in = shape(node.inputs[0]);
    if (in.rank() != 4) {
      why_ = fmt::format("rank {}", in.rank());
      return std::nullopt;
    }
    PoolText p{resolve(window, {in[2], in[3]}, ceil_mode, op_name), {}, {}, {}, {}, {}};
    p.size = emit::py_tuple(p.w.output);
    p.kernel = emit::py_tuple(p.w.kernel);
    p.stride = emit::py_tuple(p.w.strides);
    p.dilation = emit::py_tuple(p.w.dilations);
    for (std::size_t d = 0; d < 2; ++d)
      p.reach.push_back(std::max<std::int64_t>(0, (p.w.output[d] - 1) * p.w.strides[d] +
                                                      (p.w.kernel[d] - 1) * p.w.dilations[d] + 1 -
                                                      (in[static_cast<int>(d) + 2] + p.w.begins[d] + p.w.ends[d])));
    return p;
  }

  std::optional<std::string> write_op(const Node& node, const MaxPool& op) {
    if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return no("it returns positions");
    const auto p = pool(node, op.window, op.ceil_mode, MaxPool::kName);
    if (!p) return std::nullopt;
    return call(node, "max_pool",
                {operand(node.inputs[0]), p->size, p->kernel, p->stride, p->dilation,
                 fmt::format("[{}, {}, {}, {}]", p->w.begins[0], p->w.ends[0] + p->reach[0], p->w.begins[1],
                             p->w.ends[1] + p->reach[1])});
  }

  std::optional<std::string> write_op(const Node& node, const AveragePool& op) {
    const auto p = pool(node, op.window, op.ceil_mode, AveragePool::kName);
    if (!p) return std::nullopt;
    // How many pixels each window counts, by the definition: averages of ones, the other way round.
    const Shape in = shape(node.inputs[0]);
    Array ones(ElementType::float32, Shape{1, 1, in[2], in[3]});
    for (float& one : ones.as<float>()) one = 1;
    const ResolvedWindow& w = p->w;
    Array divisors(ElementType::float32, Shape{1, w.output[0], w.output[1], 1});
    const auto counted = [&](std::size_t d, std::int64_t at, std::int64_t extent) {
      std::int64_t count = 0;
      for (std::int64_t k = 0; k < w.kernel[d]; ++k) {
        const std::int64_t position = at * w.strides[d] - w.begins[d] + k * w.dilations[d];
        const bool inside = position >= 0 && position < extent;
        const bool in_padding = position >= -w.begins[d] && position < extent + w.ends[d];
        count += op.count_include_pad ? in_padding : inside;
      }
      return count;
    };
    for (std::int64_t y = 0; y < w.output[0]; ++y)
      for (std::int64_t x = 0; x < w.output[1]; ++x)
        divisors.as<float>()[static_cast<std::size_t>(y * w.output[1] + x)] =
            static_cast<float>(std::max<std::int64_t>(1, counted(0, y, in[2]) * counted(1, x, in[3])));
    const auto counts = divisors.as<float>();
    const bool all_same = std::all_of(counts.begin(), counts.end(), [&](float c) { return c == counts[0]; });
    return call(node, "average_pool",
                {operand(node.inputs[0]), p->size, p->kernel, p->stride, p->dilation,
                 fmt::format("[{}, {}, {}, {}]", w.begins[0], w.ends[0], w.begins[1], w.ends[1]),
                 fmt::format("({}, {})", p->reach[0], p->reach[1]),
                 all_same ? emit::py(double{counts[0]}) : weight(node.name + ".divisors", divisors)});
  }

  std::optional<std::string> write_op(const Node& node, const GlobalPool& op) {
    if (op.kind == GlobalPool::Kind::lp || shape(node.inputs[0]).rank() != 4) return no("a norm, or no image");
    return line(node, fmt::format("mx.{}({}, axis=(1, 2), keepdims=True)",
                                  op.kind == GlobalPool::Kind::max ? "max" : "mean", operand(node.inputs[0])));
  }

  std::optional<std::string> write_op(const Node& node, const Gemm& op) {
    std::string a = operand(node.inputs[0]), b = operand(node.inputs[1]);
    if (op.transpose_a) a = fmt::format("mx.transpose({})", a);
    if (op.transpose_b) b = fmt::format("mx.transpose({})", b);
    std::string text = fmt::format("{} @ {}", a, b);
    if (op.alpha != 1) text = fmt::format("{} * ({})", emit::py(double{op.alpha}), text);
    if (has(node, 2))
      text += op.beta == 1 ? fmt::format(" + {}", operand(node.inputs[2]))
                           : fmt::format(" + {} * {}", emit::py(double{op.beta}), operand(node.inputs[2]));
    return line(node, text);
  }
  std::optional<std::string> write_op(const Node& node, const MatMul&) {
    return line(
        node, from_order(node.outputs[0], fmt::format("{} @ {}", in_order(node.inputs[0]), in_order(node.inputs[1]))));
  }

  std::optional<std::string> write_op(const Node& node, const Concat& op) {
    std::vector<std::string> parts;
    for (const ValueId id : node.inputs) parts.push_back(operand(id, shape(node.outputs[0]).rank()));
    return line(node, fmt::format("mx.concatenate([{}], axis={})", fmt::join(parts, ", "),
                                  axis(op.axis, shape(node.outputs[0]).rank())));
  }
  std::optional<std::string> write_op(const Node& node, const Split& op) {
    const int rank = shape(node.inputs[0]).rank();
    std::vector<std::string> names;
    Extents ends;
    std::int64_t end = 0;
    const auto along = static_cast<int>(op.axis < 0 ? op.axis + rank : op.axis);
    const Array* sizes = constant(node, 1);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      names.push_back(id == kNoValue ? "_" : made(id));
      if (id != kNoValue)
        end += shape(id)[along];
      else if (sizes != nullptr)
        end += sizes->to_int64()[i];
      else if (!op.sizes.empty())
        end += op.sizes[i];
      else
        return no("a part of unknown size that nobody reads");
      ends.push_back(end);
    }
    ends.pop_back();
    return fmt::format("    {} = mx.split({}, {}, axis={})  # {}\n", fmt::join(names, ", "), operand(node.inputs[0]),
                       emit::py_list(ends), axis(op.axis, rank), emit::py_comment(node.name));
  }
  std::optional<std::string> write_op(const Node& node, const Slice&) {
    const Shape in = shape(node.inputs[0]);
    const int rank = in.rank();
    const Array *starts = constant(node, 1), *ends = constant(node, 2), *axes = constant(node, 3);
    const Array* steps = constant(node, 4);
    if (starts == nullptr || ends == nullptr || (has(node, 3) && axes == nullptr) || (has(node, 4) && steps == nullptr))
      return no("its bounds are computed");
    std::vector<std::string> ranges(static_cast<std::size_t>(rank), ":");
    const auto first = starts->to_int64(), last = ends->to_int64();
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::int64_t a = axes != nullptr ? axes->to_int64()[i] : static_cast<std::int64_t>(i);
      if (a < 0) a += rank;
      const std::int64_t step = steps != nullptr ? steps->to_int64()[i] : 1, n = in[static_cast<int>(a)];
      if (step < 1) return no("it goes backwards");
      const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n); };
      ranges[static_cast<std::size_t>(axis(a, rank))] = fmt::format("{}:{}:{}", bound(first[i]), bound(last[i]), step);
    }
    return line(node, fmt::format("{}[{}]", operand(node.inputs[0]), fmt::join(ranges, ", ")));
  }
  std::optional<std::string> write_op(const Node& node, const Softmax& op) {
    if (op.log || op.flatten) return no("a variant of it");
    return line(node, fmt::format("mx.softmax({}, axis={})", operand(node.inputs[0]),
                                  axis(op.axis, shape(node.inputs[0]).rank())));
  }
  std::optional<std::string> write_op(const Node& node, const Transpose& op) {
    Extents order = op.perm;
    if (order.empty())
      for (int d = shape(node.inputs[0]).rank(); d-- > 0;) order.push_back(d);
    return line(node, from_order(node.outputs[0],
                                 fmt::format("mx.transpose({}, {})", in_order(node.inputs[0]), emit::py_tuple(order))));
  }
  std::optional<std::string> write_op(const Node& node, const Reshape&) { return reshaped(node); }
  std::optional<std::string> write_op(const Node& node, const Flatten&) { return reshaped(node); }
  std::optional<std::string> write_op(const Node& node, const Squeeze&) { return reshaped(node); }
  std::optional<std::string> write_op(const Node& node, const Unsqueeze&) { return reshaped(node); }
  std::optional<std::string> reshaped(const Node& node) {
    return line(node, from_order(node.outputs[0], fmt::format("mx.reshape({}, {})", in_order(node.inputs[0]),
                                                              emit::py_tuple(extents_of(shape(node.outputs[0]))))));
  }
  std::optional<std::string> write_op(const Node& node, const Expand&) {
    return line(node, from_order(node.outputs[0], fmt::format("mx.broadcast_to({}, {})", in_order(node.inputs[0]),
                                                              emit::py_tuple(extents_of(shape(node.outputs[0]))))));
  }
  std::optional<std::string> write_op(const Node& node, const TileRepeat&) {
    if (constant(node, 1) == nullptr) return no("its repeats are computed");
    return line(node, from_order(node.outputs[0], fmt::format("mx.tile({}, {})", in_order(node.inputs[0]),
                                                              emit::py_tuple(constant(node, 1)->to_int64()))));
  }
  std::optional<std::string> write_op(const Node& node, const Gather& op) {
    const Array* indices = constant(node, 1);
    if (indices == nullptr) return no("its positions are computed");
    const Shape in = shape(node.inputs[0]);
    const std::int64_t along = op.axis < 0 ? op.axis + in.rank() : op.axis, extent = in[static_cast<int>(along)];
    Extents at = indices->to_int64();
    for (std::int64_t& each : at)
      if (each < 0) each += extent;
    return line(node, from_order(node.outputs[0], fmt::format("mx.take({}, {}, axis={})", in_order(node.inputs[0]),
                                                              positions(node, at, indices->shape()), along)));
  }
  // Positions in the text where they are few, else among the weights: float32 holds them exactly up to 2^24.
  std::string positions(const Node& node, const Extents& at, const Shape& form) {
    constexpr std::size_t kMostInText = 16;
    if (form.rank() == 0) return fmt::format("{}", at[0]);
    if (at.size() <= kMostInText)
      return fmt::format("mx.reshape(mx.array({}), {})", emit::py_list(at), emit::py_tuple(extents_of(form)));
    Array numbers(ElementType::float32, form);
    std::ranges::transform(at, numbers.as<float>().begin(), [](std::int64_t v) { return static_cast<float>(v); });
    return fmt::format("{}.astype(mx.int32)", weight(node.name + ".positions", numbers));
  }

  std::optional<std::string> write_op(const Node& node, const LayerNorm& op) {
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) return no("it returns statistics");
    const int rank = shape(node.inputs[0]).rank();
    Extents axes;
    for (std::int64_t a = op.axis < 0 ? op.axis + rank : op.axis; a < rank; ++a) axes.push_back(a);
    return line(node,
                from_order(node.outputs[0],
                           fmt::format("layer_norm({}, {}, {}, {}, {})", in_order(node.inputs[0]), factor(node, 1),
                                       factor(node, 2), emit::py_tuple(axes), emit::py(double{op.epsilon}))));
  }
  std::optional<std::string> write_op(const Node& node, const RmsNorm& op) {
    const int rank = shape(node.inputs[0]).rank();
    Extents axes;
    for (std::int64_t a = op.axis < 0 ? op.axis + rank : op.axis; a < rank; ++a) axes.push_back(a);
    return line(node, from_order(node.outputs[0],
                                 fmt::format("rms_norm({}, {}, {}, {})", in_order(node.inputs[0]), factor(node, 1),
                                             emit::py_tuple(axes), emit::py(double{op.epsilon}))));
  }
  // As it lies in the network, whatever its rank; "None" where it is left out.
  std::string factor(const Node& node, std::size_t i) {
    if (!has(node, i)) return "None";
    const Value& value = graph_.value(node.inputs[i]);
    return value.constant ? weight(value.name, *value.constant) : in_order(node.inputs[i]);
  }
  std::optional<std::string> write_op(const Node& node, const InstanceNorm& op) {
    return normed_image(node, shape(node.inputs[0])[1], op.epsilon);
  }
  std::optional<std::string> write_op(const Node& node, const GroupNorm& op) {
    if (op.per_group_scale) return no("a scale for each group");
    return normed_image(node, op.groups, op.epsilon);
  }
  std::optional<std::string> normed_image(const Node& node, std::int64_t groups, float epsilon) {
    if (shape(node.inputs[0]).rank() != 4) return no("no image");
    return line(node, fmt::format("group_norm({}, {}, {}, {}, {})", operand(node.inputs[0]), factor(node, 1),
                                  factor(node, 2), groups, emit::py(double{epsilon})));
  }
  std::optional<std::string> write_op(const Node& node, const DepthToSpace& op) {
    const Shape in = shape(node.inputs[0]);
    const std::int64_t b = op.block, c = in[1] / (b * b);
    const Extents apart =
        op.column_row_depth ? Extents{in[0], c, b, b, in[2], in[3]} : Extents{in[0], b, b, c, in[2], in[3]};
    const char* order = op.column_row_depth ? "(0, 1, 4, 2, 5, 3)" : "(0, 3, 4, 1, 5, 2)";
    return moved_blocks(node, apart, order);
  }
  std::optional<std::string> write_op(const Node& node, const SpaceToDepth& op) {
    const Shape in = shape(node.inputs[0]);
    const std::int64_t b = op.block;
    return moved_blocks(node, {in[0], in[1], in[2] / b, b, in[3] / b, b}, "(0, 3, 5, 1, 2, 4)");
  }
  std::optional<std::string> moved_blocks(const Node& node, const Extents& apart, const char* order) {
    return line(node, from_order(node.outputs[0], fmt::format("mx.reshape(mx.transpose(mx.reshape({}, {}), {}), {})",
                                                              in_order(node.inputs[0]), emit::py_tuple(apart), order,
                                                              emit::py_tuple(extents_of(shape(node.outputs[0]))))));
  }
  std::optional<std::string> write_op(const Node& node, const Reduce& op) {
    using Kind = Reduce::Kind;
    const char* function = op.kind == Kind::sum    ? "sum"
                           : op.kind == Kind::mean ? "mean"
                           : op.kind == Kind::max  ? "max"
                           : op.kind == Kind::min  ? "min"
                                                   : nullptr;
    if (function == nullptr) return no("no such reduction");
    Extents axes = op.axes;
    if (axes.empty() && has(node, 1)) {
      if (constant(node, 1) == nullptr) return no("its axes are computed");
      axes = constant(node, 1)->to_int64();
    }
    if (axes.empty() && op.no_axes_means_none) return line(node, operand(node.inputs[0]));
    return line(node, from_order(node.outputs[0],
                                 fmt::format("mx.{}({}, axis={}, keepdims={})", function, in_order(node.inputs[0]),
                                             axes.empty() ? "None" : emit::py_tuple(axes), emit::py(op.keep_dims))));
  }
  std::optional<std::string> write_op(const Node& node, const Pad& op) {
    const Array *pads = constant(node, 1), *fill = constant(node, 2);
    if (op.mode != Pad::Mode::constant || pads == nullptr || shape(node.inputs[0]).rank() != 4 || has(node, 3) ||
        (has(node, 2) && fill == nullptr))
      return no("only constants around an image");
    const auto p = pads->to_int64();
    if (p[0] != 0 || p[1] != 0 || p[4] != 0 || p[5] != 0) return no("only rows and columns");
    return line(node, fmt::format("padded({}, [{}, {}, {}, {}], {})", operand(node.inputs[0]), p[2], p[6], p[3], p[7],
                                  emit::py(fill != nullptr ? double{fill->as<float>()[0]} : 0.0)));
  }

  // What becomes of a row or a column of pixels, by the definition: each pixel a weighted sum of others.
  static Array weights_along(const Resize& op, std::int64_t n, std::int64_t m) {
    Array identity(ElementType::float32, Shape{1, 1, n, n});
    for (std::int64_t i = 0; i < n; ++i) identity.as<float>()[static_cast<std::size_t>(i * n + i)] = 1;
    const std::vector<std::int64_t> sizes{1, 1, m, n};
    const Array wanted = Array::of<std::int64_t>(Shape{4}, sizes);
    Resize plain = op;
    plain.axes.clear();
    plain.aspect = Resize::Aspect::stretch;
    const Array* operands[] = {&identity, nullptr, nullptr, &wanted};
    return reference(Op(plain), operands)[0].reshaped(Shape{m, n});
  }
  std::optional<std::string> write_op(const Node& node, const Resize& op) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    if (in.rank() != 4 || in[0] != out[0] || in[1] != out[1]) return no("only rows and columns");
    if (op.coordinates == Resize::Coordinates::tf_crop_and_resize) return no("it crops");
    // Scales that are no whole numbers are not the quotient of the extents.
    if (has(node, 2) && constant(node, 2) != nullptr && constant(node, 2)->count() == 4 &&
        (out[2] % in[2] != 0 || out[3] % in[3] != 0))
      return no("scaled by fractions");
    const Array rows = weights_along(op, in[2], out[2]), columns = weights_along(op, in[3], out[3]);
    const auto repeats = [](const Array& a) {
      const std::int64_t m = a.shape()[0], n = a.shape()[1];
      if (m % n != 0) return false;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          if (a.as<float>()[static_cast<std::size_t>(i * n + j)] != (i / (m / n) == j ? 1.0f : 0.0f)) return false;
      return true;
    };
    if (repeats(rows) && repeats(columns))
      return line(node, fmt::format("mx.repeat(mx.repeat({}, {}, axis=1), {}, axis=2)", operand(node.inputs[0]),
                                    out[2] / in[2], out[3] / in[3]));
    return line(node, fmt::format("resized({}, {}, {})", operand(node.inputs[0]), weight(node.name + ".rows", rows),
                                  weight(node.name + ".columns", columns)));
  }

  Graph graph_;
  std::string model_, why_;
  emit::Script script_;
  std::vector<std::string> refused_;
};

}  // namespace

emit::Script mlx_script(Graph graph, const std::string& model, const std::string& weights_file) {
  return MlxWriter(std::move(graph), model, weights_file).run();
}

}  // namespace tessera::apple
