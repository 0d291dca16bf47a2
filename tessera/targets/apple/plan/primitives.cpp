#include "tessera/targets/apple/plan/primitives.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tessera::apple {
namespace {

// An element-wise function: how many primitives MLX makes of it, and how many of those are slow ones.
struct FunctionCost {
  const char* name = "";
  int primitives = 1;
  int specials = 0;
};

std::optional<FunctionCost> cost_of(const Unary& op) {
  using Kind = Unary::Kind;
  switch (op.kind) {
    case Kind::identity: return FunctionCost{"identity", 0, 0};
    case Kind::abs: return FunctionCost{"abs", 1, 0};
    case Kind::ceil: return FunctionCost{"ceil", 1, 0};
    case Kind::floor: return FunctionCost{"floor", 1, 0};
    case Kind::neg: return FunctionCost{"negative", 1, 0};
    case Kind::relu: return FunctionCost{"relu", 1, 0};
    case Kind::round: return FunctionCost{"round", 1, 0};
    case Kind::sign: return FunctionCost{"sign", 1, 0};
    case Kind::cos: return FunctionCost{"cos", 1, 1};
    case Kind::erf: return FunctionCost{"erf", 1, 1};
    case Kind::exp: return FunctionCost{"exp", 1, 1};
    case Kind::log: return FunctionCost{"log", 1, 1};
    case Kind::reciprocal: return FunctionCost{"reciprocal", 1, 1};
    case Kind::sigmoid: return FunctionCost{"sigmoid", 1, 1};
    case Kind::sin: return FunctionCost{"sin", 1, 1};
    case Kind::softplus: return FunctionCost{"softplus", 1, 1};
    case Kind::sqrt: return FunctionCost{"sqrt", 1, 1};
    case Kind::tanh: return FunctionCost{"tanh", 1, 1};
    case Kind::elu: return FunctionCost{"elu", 5, 1};
    case Kind::gelu: return FunctionCost{"gelu", 5, 1};
    case Kind::hard_sigmoid: return FunctionCost{"hard_sigmoid", 4, 0};
    case Kind::hard_swish: return FunctionCost{"hard_swish", 5, 1};
    case Kind::leaky_relu: return FunctionCost{"leaky_relu", 3, 0};
    case Kind::mish: return FunctionCost{"mish", 3, 2};
    case Kind::silu: return FunctionCost{"silu", op.alpha == 0 || op.alpha == 1 ? 2 : 3, 1};
    case Kind::softsign: return FunctionCost{"softsign", 3, 1};
    default: return std::nullopt;
  }
}

std::optional<FunctionCost> cost_of(Binary::Kind kind) {
  using Kind = Binary::Kind;
  switch (kind) {
    case Kind::add: return FunctionCost{"add", 1, 0};
    case Kind::sub: return FunctionCost{"subtract", 1, 0};
    case Kind::mul: return FunctionCost{"multiply", 1, 0};
    case Kind::min: return FunctionCost{"minimum", 1, 0};
    case Kind::max: return FunctionCost{"maximum", 1, 0};
    case Kind::div: return FunctionCost{"divide", 1, 1};
    case Kind::pow: return FunctionCost{"power", 1, 1};
    case Kind::prelu: return FunctionCost{"prelu", 3, 0};
    default: return std::nullopt;
  }
}

constexpr std::int64_t kElementBytes = 4;  // float32

class Lowering {
 public:
  explicit Lowering(MlxProgram& program, std::vector<std::string>& refused) : program_(program), refused_(refused) {}

  // `given`: arrays that stand for inputs of the graph; none: they come from the caller.
  std::vector<int> run(const Graph& graph, const std::vector<int>& given, int repeats) {
    graph_ = &graph;
    repeats_ = repeats;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ValueId id = graph.inputs[i];
      at_[id] = given.empty() ? new_array(id, MlxArray::Place::input) : given[i];
    }
    for (const Node& node : graph.nodes) {
      node_ = static_cast<int>(program_.nodes.size());
      program_.nodes.push_back(node.name);
      program_.ops.push_back(std::string(name(node.op)));
      why_.clear();
      const bool known = std::all_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return id == kNoValue || graph.value(id).type.is_static(); });
      if (!known) why_ = "its shape is known only when it runs";
      const bool done =
          known && std::visit([&](const auto& op) { return lower(node, op); }, static_cast<const AnyOp&>(node.op));
      if (!done) {
        refused_.push_back(fmt::format("'{}' ({}{})", node.name, name(node.op), why_.empty() ? "" : ": " + why_));
        for (const ValueId id : node.outputs)
          if (id != kNoValue) at_[id] = -1;
      }
    }
    std::vector<int> out;
    for (const ValueId id : graph.outputs) out.push_back(array_of(id));
    return out;
  }

 private:
  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }
  const TensorType& type(ValueId id) const { return graph_->value(id).type; }
  Shape shape(ValueId id) const { return type(id).shape(); }
  bool has(const Node& node, std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  const Array* constant(const Node& node, std::size_t i) const {
    return has(node, i) ? graph_->value(node.inputs[i]).constant.get() : nullptr;
  }

  int add_array(std::string name, MlxArray::Place place, std::int64_t elements) {
    const int at = static_cast<int>(program_.arrays.size());
    program_.arrays.push_back({std::move(name), place, elements, elements * kElementBytes, at});
    return at;
  }
  int new_array(ValueId id, MlxArray::Place place = MlxArray::Place::computed) {
    return add_array(graph_->value(id).name, place, type(id).is_static() ? shape(id).volume() : 0);
  }
  // -1: a number, which stands in the code, or what was refused before.
  int array_of(ValueId id) {
    const auto there = at_.find(id);
    if (there != at_.end()) return there->second;
    const Value& value = graph_->value(id);
    int at = -1;
    if (value.constant && value.constant->count() > 1) at = new_array(id, MlxArray::Place::weight);
    at_[id] = at;
    return at;
  }
  std::vector<int> operands(const Node& node, std::size_t first = 0, std::size_t last = SIZE_MAX) {
    std::vector<int> out;
    for (std::size_t i = first; i < std::min(last, node.inputs.size()); ++i)
      if (has(node, i))
        if (const int at = array_of(node.inputs[i]); at >= 0) out.push_back(at);
    return out;
  }

  int add(Primitive::Kind kind, std::string name, std::vector<int> inputs, int output, double flops = 0,
          double specials = 0, int launches = 1) {
    std::erase(inputs, -1);
    if (kind == Primitive::Kind::view && !inputs.empty())
      program_.arrays[static_cast<std::size_t>(output)].root =
          program_.arrays[static_cast<std::size_t>(inputs[0])].root;
    program_.primitives.push_back({kind, std::move(name), node_, std::move(inputs), output, flops, specials, launches});
    program_.repeats.push_back(repeats_);
    return output;
  }
  int kernel(std::string name, std::vector<int> inputs, std::int64_t elements, double flops = 0, double specials = 0,
             int launches = 1) {
    return add(Primitive::Kind::kernel, std::move(name), std::move(inputs),
               add_array({}, MlxArray::Place::computed, elements), flops, specials, launches);
  }
  int element_wise(std::string name, std::vector<int> inputs, std::int64_t elements, double specials = 0) {
    const auto n = static_cast<double>(elements);
    return add(Primitive::Kind::element_wise, std::move(name), std::move(inputs),
               add_array({}, MlxArray::Place::computed, elements), n, specials * n);
  }
  // A chain of element-wise primitives; the last has all inputs that come late.
  int chain(std::vector<int> inputs, std::int64_t elements, const FunctionCost& cost) {
    int at = -1;
    for (int i = 0; i < cost.primitives; ++i) {
      std::vector<int> reads = i == 0 ? inputs : std::vector<int>{at};
      if (i > 0 && i + 1 == cost.primitives && !inputs.empty()) reads.push_back(inputs[0]);
      at = element_wise(cost.name, std::move(reads), elements, i < cost.specials ? 1 : 0);
    }
    return at;
  }
  void made(ValueId id, int array) {
    program_.arrays[static_cast<std::size_t>(array)].name = graph_->value(id).name;
    at_[id] = array;
  }
  bool is(const Node& node, int array) {
    made(node.outputs[0], array);
    return true;
  }
  std::int64_t count(const Node& node) const { return shape(node.outputs[0]).volume(); }
  double flops(const Node& node) const { return work(*graph_, node).flops; }

  template <class Other>
  bool lower(const Node&, const Other&) {
    return false;
  }

  bool lower(const Node& node, const Unary& op) {
    const auto cost = cost_of(op);
    if (!cost) return no("no such function");
    if (cost->primitives == 0) {
      at_[node.outputs[0]] = array_of(node.inputs[0]);
      return true;
    }
    return is(node, chain(operands(node), count(node), *cost));
  }
  bool lower(const Node& node, const Binary& op) {
    const auto cost = cost_of(op.kind);
    if (!cost) return no("no such operation");
    return is(node, chain(operands(node), count(node), *cost));
  }
  bool lower(const Node& node, const Clip&) {
    if ((has(node, 1) && constant(node, 1) == nullptr) || (has(node, 2) && constant(node, 2) == nullptr))
      return no("its bounds are computed");
    const int bounds = static_cast<int>(has(node, 1)) + static_cast<int>(has(node, 2));
    if (bounds == 0) return same(node);
    return is(node, chain(operands(node, 0, 1), count(node), {"clip", bounds, 0}));
  }
  bool lower(const Node& node, const Dropout&) { return same(node); }
  bool same(const Node& node) {
    at_[node.outputs[0]] = array_of(node.inputs[0]);
    return true;
  }
  bool biased(const Node& node, int product) {
    return is(node, has(node, 2) ? element_wise("add", {product, array_of(node.inputs[2])}, count(node)) : product);
  }

  bool lower(const Node& node, const Conv& op) {
    const Shape in = shape(node.inputs[0]);
    if (in.rank() != 4) return no(fmt::format("rank {}", in.rank()));
    if (constant(node, 1) == nullptr || (has(node, 2) && constant(node, 2) == nullptr))
      return no("its weights are computed");
    tessera::Window window = op.window;
    window.kernel = {constant(node, 1)->shape()[2], constant(node, 1)->shape()[3]};
    const ResolvedWindow w = resolve(window, {in[2], in[3]}, false, Conv::kName);
    int x = array_of(node.inputs[0]);
    if (w.begins != w.ends)
      x = kernel("pad", {x}, in[0] * in[1] * (in[2] + w.begins[0] + w.ends[0]) * (in[3] + w.begins[1] + w.ends[1]));
    const double bias = has(node, 2) ? static_cast<double>(count(node)) : 0;
    return biased(node, kernel("convolution", {x, array_of(node.inputs[1])}, count(node), flops(node) - bias));
  }
  bool lower(const Node& node, const ConvTranspose& op) {
    if (shape(node.inputs[0]).rank() != 4) return no(fmt::format("rank {}", shape(node.inputs[0]).rank()));
    if (constant(node, 1) == nullptr || (has(node, 2) && constant(node, 2) == nullptr))
      return no("its weights are computed");
    if (op.groups != 1) return no(fmt::format("{} groups", op.groups));
    const double bias = has(node, 2) ? static_cast<double>(count(node)) : 0;
    return biased(node, kernel("convolution", operands(node, 0, 2), count(node), flops(node) - bias));
  }
  bool lower(const Node& node, const BatchNorm& op) {
    if (op.training) return no("in training");
    for (const std::size_t i : {1, 2, 3, 4})
      if (constant(node, i) == nullptr) return no("its statistics are computed");
    const std::int64_t channels = constant(node, 1)->count();
    const int scale = add_array(node.name + ".scale", MlxArray::Place::weight, channels);
    const int shift = add_array(node.name + ".shift", MlxArray::Place::weight, channels);
    const int scaled = element_wise("multiply", {array_of(node.inputs[0]), scale}, count(node));
    return is(node, element_wise("add", {scaled, shift}, count(node)));
  }

  // One view for each place of the window, joined by `join`.
  int pooled(const Node& node, const tessera::Window& given, bool ceil_mode, std::string_view op, const char* join) {
    const Shape in = shape(node.inputs[0]);
    const ResolvedWindow w = resolve(given, {in[2], in[3]}, ceil_mode, op);
    int x = array_of(node.inputs[0]);
    std::int64_t around = in[0] * in[1];
    bool wider = false;
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t extent = in[static_cast<int>(d) + 2] + w.begins[d] + w.ends[d];
      const std::int64_t reach = (w.output[d] - 1) * w.strides[d] + (w.kernel[d] - 1) * w.dilations[d] + 1;
      wider = wider || extent != in[static_cast<int>(d) + 2] || reach > extent;
      around *= std::max(extent, reach);
    }
    if (wider) x = kernel("pad", {x}, around);
    int sum = -1;
    for (std::int64_t i = 0; i < w.kernel[0] * w.kernel[1]; ++i) {
      const int tap = add_array({}, MlxArray::Place::computed, count(node));
      add(Primitive::Kind::view, "slice", {x}, tap);
      sum = sum < 0 ? tap : element_wise(join, {sum, tap}, count(node));
    }
    return sum;
  }
  bool lower(const Node& node, const MaxPool& op) {
    if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return no("it returns positions");
    if (shape(node.inputs[0]).rank() != 4) return no(fmt::format("rank {}", shape(node.inputs[0]).rank()));
    return is(node, pooled(node, op.window, op.ceil_mode, MaxPool::kName, "maximum"));
  }
  bool lower(const Node& node, const AveragePool& op) {
    if (shape(node.inputs[0]).rank() != 4) return no(fmt::format("rank {}", shape(node.inputs[0]).rank()));
    const int sum = pooled(node, op.window, op.ceil_mode, AveragePool::kName, "add");
    return is(node, element_wise("divide", {sum}, count(node), 1));
  }
  int reduced(const char* name, int x, std::int64_t elements, double of, bool mean) {
    const int sum = kernel(name, {x}, elements, of);
    return mean ? element_wise("multiply", {sum}, elements) : sum;
  }
  double in_elements(const Node& node) const { return static_cast<double>(shape(node.inputs[0]).volume()); }
  bool lower(const Node& node, const GlobalPool& op) {
    if (op.kind == GlobalPool::Kind::lp || shape(node.inputs[0]).rank() != 4) return no("a norm, or no image");
    const bool mean = op.kind == GlobalPool::Kind::average;
    return is(node, reduced(mean ? "sum" : "max", array_of(node.inputs[0]), count(node), in_elements(node), mean));
  }
  bool lower(const Node& node, const Reduce& op) {
    using Kind = Reduce::Kind;
    if (op.kind != Kind::sum && op.kind != Kind::mean && op.kind != Kind::max && op.kind != Kind::min)
      return no("no such reduction");
    if (op.axes.empty() && has(node, 1) && constant(node, 1) == nullptr) return no("its axes are computed");
    if (op.axes.empty() && !has(node, 1) && op.no_axes_means_none) return same(node);
    return is(node, reduced("reduce", array_of(node.inputs[0]), count(node), in_elements(node), op.kind == Kind::mean));
  }

  bool lower(const Node& node, const Gemm& op) {
    const double bias = has(node, 2) ? static_cast<double>(count(node)) : 0;
    int y = kernel("matmul", operands(node, 0, 2), count(node), flops(node) - bias);
    if (op.alpha != 1) y = element_wise("multiply", {y}, count(node));
    if (has(node, 2)) {
      int c = array_of(node.inputs[2]);
      if (op.beta != 1 && c >= 0)
        c = element_wise("multiply", {c}, program_.arrays[static_cast<std::size_t>(c)].elements);
      y = element_wise("add", {y, c}, count(node));
    }
    return is(node, y);
  }
  bool lower(const Node& node, const MatMul&) {
    return is(node, kernel("matmul", operands(node), count(node), flops(node)));
  }
  bool lower(const Node& node, const Softmax& op) {
    if (op.log || op.flatten) return no("a variant of it");
    return is(node, kernel("softmax", operands(node), count(node), 3 * in_elements(node), in_elements(node)));
  }
  bool lower(const Node& node, const LayerNorm& op) {
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) return no("it returns statistics");
    const int rank = shape(node.inputs[0]).rank();
    if ((op.axis < 0 ? op.axis + rank : op.axis) == rank - 1)
      return is(node, kernel("layer_norm", operands(node), count(node), 6 * in_elements(node)));
    return is(node, spelled_norm(node, array_of(node.inputs[0]), rows_of(node, op.axis), true));
  }
  bool lower(const Node& node, const RmsNorm& op) {
    const int rank = shape(node.inputs[0]).rank();
    if ((op.axis < 0 ? op.axis + rank : op.axis) == rank - 1)
      return is(node, kernel("rms_norm", operands(node), count(node), 4 * in_elements(node)));
    return is(node, spelled_norm(node, array_of(node.inputs[0]), rows_of(node, op.axis), false));
  }
  // So many are normalised apart from each other.
  std::int64_t rows_of(const Node& node, std::int64_t axis) const {
    const Shape in = shape(node.inputs[0]);
    std::int64_t rows = 1;
    for (int d = 0; d < (axis < 0 ? axis + in.rank() : axis); ++d) rows *= in[d];
    return rows;
  }
  bool lower(const Node& node, const InstanceNorm&) {
    if (shape(node.inputs[0]).rank() != 4) return no("no image");
    const Shape in = shape(node.inputs[0]);
    return is(node, spelled_norm(node, array_of(node.inputs[0]), in[0] * in[1], true));
  }
  bool lower(const Node& node, const GroupNorm& op) {
    if (op.per_group_scale) return no("a scale for each group");
    if (shape(node.inputs[0]).rank() != 4) return no("no image");
    return is(node, spelled_norm(node, array_of(node.inputs[0]), shape(node.inputs[0])[0] * op.groups, true));
  }
  // Two reductions, with what is between and behind them element by element.
  int spelled_norm(const Node& node, int x, std::int64_t rows, bool centred) {
    const std::int64_t n = count(node);
    if (centred) x = element_wise("subtract", {x, reduced("sum", x, rows, static_cast<double>(n), true)}, n);
    const int squares = element_wise("multiply", {x}, n);
    int spread = reduced("sum", squares, rows, static_cast<double>(n), true);
    spread = element_wise("add", {spread}, rows);
    spread = element_wise("rsqrt", {spread}, rows, 1);
    int y = element_wise("multiply", {x, spread}, n);
    if (has(node, 1)) y = element_wise("multiply", {y, array_of(node.inputs[1])}, n);
    if (has(node, 2)) y = element_wise("add", {y, array_of(node.inputs[2])}, n);
    return y;
  }

  bool lower(const Node& node, const Concat&) {
    std::vector<int> parts = operands(node);
    const int launches = std::max(1, static_cast<int>(parts.size()));
    return is(node, kernel("concatenate", std::move(parts), count(node), 0, 0, launches));
  }
  bool view(const Node& node, const char* name) {
    const int at = new_array(node.outputs[0]);
    add(Primitive::Kind::view, name, operands(node, 0, 1), at);
    return is(node, at);
  }
  bool lower(const Node& node, const Split&) {
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      const int at = new_array(id);
      add(Primitive::Kind::view, "slice", operands(node, 0, 1), at);
      made(id, at);
    }
    return true;
  }
  bool lower(const Node& node, const Slice&) {
    for (const std::size_t i : {1, 2, 3, 4})
      if (has(node, i) && constant(node, i) == nullptr) return no("its bounds are computed");
    return view(node, "slice");
  }
  bool lower(const Node& node, const Transpose&) { return view(node, "transpose"); }
  // Images lie with their channels last: what does not keep them apart from rows and columns is written anew.
  bool reshaped(const Node& node) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    const bool pixels = in.rank() == 4 && in[2] * in[3] > 1 && in[1] > 1;
    const bool to_pixels = out.rank() == 4 && out[2] * out[3] > 1 && out[1] > 1;
    if (!pixels && !to_pixels) return view(node, "reshape");
    return is(node, kernel("copy", operands(node, 0, 1), count(node)));
  }
  bool lower(const Node& node, const Reshape&) { return reshaped(node); }
  bool lower(const Node& node, const Flatten&) { return reshaped(node); }
  bool lower(const Node& node, const Squeeze&) { return reshaped(node); }
  bool lower(const Node& node, const Unsqueeze&) { return reshaped(node); }
  bool lower(const Node& node, const Expand&) { return view(node, "broadcast"); }
  bool lower(const Node& node, const TileRepeat&) {
    if (constant(node, 1) == nullptr) return no("its repeats are computed");
    return is(node, kernel("tile", operands(node, 0, 1), count(node)));
  }
  bool lower(const Node& node, const Gather&) {
    // An index that counts steps of a loop is a slice.
    if (constant(node, 1) == nullptr && repeats_ == 1) return no("its positions are computed");
    if (constant(node, 1) == nullptr || constant(node, 1)->shape().rank() == 0) return view(node, "slice");
    return is(node, kernel("gather", operands(node), count(node)));
  }
  bool lower(const Node& node, const DepthToSpace&) { return is(node, kernel("copy", operands(node), count(node))); }
  bool lower(const Node& node, const SpaceToDepth&) { return is(node, kernel("copy", operands(node), count(node))); }
  bool lower(const Node& node, const Pad& op) {
    if (op.mode != Pad::Mode::constant || constant(node, 1) == nullptr || shape(node.inputs[0]).rank() != 4)
      return no("only constants around an image");
    return is(node, kernel("pad", operands(node, 0, 1), count(node)));
  }
  bool lower(const Node& node, const Resize& op) {
    const Shape in = shape(node.inputs[0]), out = shape(node.outputs[0]);
    if (in.rank() != 4 || in[0] != out[0] || in[1] != out[1]) return no("only rows and columns");
    if (op.coordinates == Resize::Coordinates::tf_crop_and_resize) return no("it crops");
    const std::int64_t half = out[0] * out[1] * out[2] * in[3];
    const int x = array_of(node.inputs[0]);
    if (op.mode == Resize::Mode::nearest && out[2] % in[2] == 0 && out[3] % in[3] == 0)
      return is(node, kernel("repeat", {kernel("repeat", {x}, half)}, count(node)));
    const int rows = add_array(node.name + ".rows", MlxArray::Place::weight, in[2] * out[2]);
    const int columns = add_array(node.name + ".columns", MlxArray::Place::weight, in[3] * out[3]);
    const double first = 2.0 * static_cast<double>(half) * static_cast<double>(in[2]);
    const double second = 2.0 * static_cast<double>(count(node)) * static_cast<double>(in[3]);
    return is(node, kernel("matmul", {kernel("matmul", {x, rows}, half, first), columns}, count(node), second));
  }

  // Its steps are written one after the other.
  bool lower(const Node& node, const Loop& op) {
    if (!has(node, 0) || constant(node, 0) == nullptr) return no("the number of its steps is computed");
    const std::int64_t steps = constant(node, 0)->to_int64()[0];
    constexpr std::int64_t kMostSteps = 1 << 20;
    if (steps < 0 || steps > kMostSteps) return no(fmt::format("{} steps", steps));
    if (repeats_ != 1) return no("a loop in a loop");
    Graph body = *op.body;
    std::vector<int> given;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      if (i >= 2 && i < node.inputs.size() && has(node, i)) body.value(body.inputs[i]).type = type(node.inputs[i]);
      given.push_back(i >= 2 && has(node, i) ? array_of(node.inputs[i]) : -1);
    }
    infer_types(body);
    const int at = node_;
    Lowering inner(program_, refused_);
    const std::vector<int> results = inner.run(body, given, static_cast<int>(std::max<std::int64_t>(1, steps)));
    node_ = at;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const int last = i + 1 < results.size() ? results[i + 1] : -1;
      if (static_cast<int>(i) < op.carried) {
        at_[node.outputs[i]] = last;
        continue;
      }
      const int all = new_array(node.outputs[i]);  // mx.stack of all steps
      add(Primitive::Kind::kernel, "stack", {last}, all, 0, 0, static_cast<int>(std::max<std::int64_t>(1, steps)));
      at_[node.outputs[i]] = all;
    }
    return true;
  }

  MlxProgram& program_;
  std::vector<std::string>& refused_;
  const Graph* graph_ = nullptr;
  std::map<ValueId, int> at_;
  int node_ = 0, repeats_ = 1;
  std::string why_;
};

}  // namespace

Graph lowered_for_mlx(Graph graph) {
  if (expand_liquid_cells(graph)) infer_types(graph);
  run_passes(graph, {.off = {"fuse_epilogue"}});
  return graph;
}

MlxProgram mlx_program(const Graph& graph) {
  MlxProgram program;
  std::vector<std::string> refused;
  program.outputs = Lowering(program, refused).run(graph, {}, 1);
  std::erase(program.outputs, -1);
  check(refused.empty(), Code::unsupported, Hint{"cut the model before them, or replace them"},
        "{} of {} operators cannot be written as MLX code: {}", refused.size(), graph.nodes.size(),
        fmt::join(refused, ", "));
  return program;
}

}  // namespace tessera::apple
