#include "tessera/targets/tensix/network/graph_values.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"
#include "tessera/targets/tensix/ops/graph_window.h"
#include "tessera/targets/tensix/ops/matmul/product_values.h"
#include "tessera/targets/tensix/ops/pool/pool_values.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera::tensix {
namespace {

using Operands = std::span<const Array* const>;

// Blocks of the reduction of a dense layer, in tiles: a few at a time, as its inputs are sent around.
constexpr std::int64_t kDenseBlock = 2 * kTile;

bool is_image(const Array& x) { return x.shape().rank() == 4; }

// As the card has it: channels last, a matrix of all rows.
struct Rows {
  std::vector<float> values;
  Extent2d extent;
};

Rows rows_of(const Array& x) {
  const auto from = x.as<float>();
  const Shape& shape = x.shape();
  if (!is_image(x)) {
    const std::int64_t width = shape.rank() == 0 ? 1 : shape[-1];
    return {{from.begin(), from.end()}, {width == 0 ? 0 : x.count() / width, width}};
  }
  Rows rows{std::vector<float>(from.size()), {shape[0] * shape[2] * shape[3], shape[1]}};
  const std::int64_t channels = shape[1], plane = shape[2] * shape[3];
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* in = from.data() + (b * channels + c) * plane;
      float* out = rows.values.data() + b * plane * channels + c;
      for (std::int64_t p = 0; p < plane; ++p) out[p * channels] = in[p];
    }
  return rows;
}

Array array_of(std::span<const float> rows, const Shape& shape) {
  if (shape.rank() != 4) return Array::of<float>(shape, rows);
  Array x(ElementType::float32, shape);
  float* to = x.as<float>().data();
  const std::int64_t channels = shape[1], plane = shape[2] * shape[3];
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* in = rows.data() + b * plane * channels + c;
      float* out = to + (b * channels + c) * plane;
      for (std::int64_t p = 0; p < plane; ++p) out[p] = in[p * channels];
    }
  return x;
}

Array packed(std::span<const float> rows, const Shape& shape, DType dtype, Rounding rounding) {
  if (rows.empty()) return Array(ElementType::float32, shape);
  const std::int64_t width = shape.rank() == 0 ? 1 : shape.rank() == 4 ? shape[1] : shape[-1];
  const Extent2d extent{static_cast<std::int64_t>(rows.size()) / width, width};
  return array_of(stored_values(rows, extent, dtype, rounding), shape);
}

// A function that can be worked out on Dst; none for any other operator.
std::optional<DstActivation> activation_of(const Op& op, Operands operands) {
  if (const auto* unary = std::get_if<Unary>(&op)) {
    switch (unary->kind) {
      case Unary::Kind::bitwise_not:
      case Unary::Kind::is_inf:
      case Unary::Kind::is_nan:
      case Unary::Kind::logical_not: return std::nullopt;
      default: return DstActivation{*unary};
    }
  }
  if (!std::holds_alternative<Clip>(op) || operands.size() < 3) return std::nullopt;
  const Array *low = operands[1], *high = operands[2];
  if (low == nullptr || high == nullptr || low->type() != ElementType::float32 || low->as<float>()[0] != 0)
    return std::nullopt;
  return DstActivation{{Unary::Kind::relu}, high->as<float>()[0]};
}

// Numbers go through as they are, and so does their type.
bool only_moves(const Op& op) {
  return std::visit(
      [](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        return std::is_same_v<T, Reshape> || std::is_same_v<T, Flatten> || std::is_same_v<T, Squeeze> ||
               std::is_same_v<T, Unsqueeze> || std::is_same_v<T, Transpose> || std::is_same_v<T, Slice> ||
               std::is_same_v<T, Concat> || std::is_same_v<T, Split> || std::is_same_v<T, Gather> ||
               std::is_same_v<T, Pad> || std::is_same_v<T, Expand> || std::is_same_v<T, Dropout> ||
               std::is_same_v<T, DepthToSpace> || std::is_same_v<T, SpaceToDepth>;
      },
      static_cast<const AnyOp&>(op));
}

// One step on the card: an operator, and the function that follows it in Dst.
class Step {
 public:
  Step(const GraphPrecision& precision, std::optional<DstActivation> then)
      : precision_(precision), then_(std::move(then)) {}

  std::vector<Array> run(const Op& op, Operands operands) const {
    if (std::optional<Array> y = on_card(op, operands)) {
      std::vector<Array> results;
      results.push_back(std::move(*y));
      return results;
    }
    std::vector<Array> results = reference(op, operands);
    for (Array& result : results)
      if (result.type() == ElementType::float32 && (then_ || !only_moves(op))) result = finish(result);
    return results;
  }

 private:
  std::optional<Array> on_card(const Op& op, Operands operands) const {
    for (const Array* x : operands)
      if (x != nullptr && x->type() != ElementType::float32) return std::nullopt;
    if (const auto* conv = std::get_if<Conv>(&op)) return convolve(*conv, operands);
    if (const auto* gemm = std::get_if<Gemm>(&op)) return multiply(*gemm, operands);
    if (const auto* binary = std::get_if<Binary>(&op)) return combine(*binary, operands);
    if (const auto* pool = std::get_if<MaxPool>(&op))
      return pool->with_indices ? std::nullopt : maximum(*pool, operands);
    if (const auto* pool = std::get_if<AveragePool>(&op)) return average(*pool, operands);
    if (const auto* pool = std::get_if<GlobalPool>(&op)) return global(*pool, operands);
    if (const auto* softmax = std::get_if<Softmax>(&op)) return exponentials(*softmax, operands);
    if (const std::optional<DstActivation> function = activation_of(op, operands)) {
      const Rows x = rows_of(*operands[0]);
      return store(unary_values(*function, x.values, precision_.compute), operands[0]->shape());
    }
    return std::nullopt;
  }

  // What the definition gave, with the function behind it if there is one.
  Array finish(const Array& x) const {
    const Rows rows = rows_of(x);
    if (then_) return store(unary_values(*then_, rows.values, precision_.compute), x.shape());
    return packed(rows.values, x.shape(), precision_.activations, Rounding::packer);
  }

  Array store(std::span<const float> rows, const Shape& shape) const {
    return packed(rows, shape, precision_.activations, Rounding::packer);
  }
  // Pools write rows, which block floats do not come in.
  Array store_pool(std::vector<float> rows, const Shape& shape) const {
    const DType dtype = is_block_float(precision_.activations) ? DType::bfloat16 : precision_.activations;
    if (then_) apply(*then_, rows, precision_.compute.fp32_dest_acc_en);
    return packed(rows, shape, dtype, Rounding::packer);
  }

  std::vector<float> stored_bias(const Array* bias, std::int64_t count) const {
    if (bias == nullptr) return {};
    return stored_values(bias->as<float>(), {1, count}, precision_.weights, Rounding::host);
  }

  std::optional<Array> convolve(const Conv& op, Operands operands) const {
    const Array &x = *operands[0], &w = *operands[1];
    if (!is_image(x)) return std::nullopt;
    const Shape &in = x.shape(), &kernel = w.shape();
    tessera::Window window = op.window;
    window.kernel = {kernel[2], kernel[3]};
    const ResolvedWindow resolved = resolve(window, {in[2], in[3]}, false, Conv::kName);
    Conv2dValues conv;
    conv.batch = in[0];
    conv.height = in[2];
    conv.width = in[3];
    conv.in_channels = in[1];
    conv.out_channels = kernel[0];
    conv.groups = op.groups;
    conv.window = window_of(resolved);
    conv.order = default_order(in[1], conv.window);
    conv.compute = precision_.compute;
    const std::vector<float> bias = stored_bias(operands.size() > 2 ? operands[2] : nullptr, kernel[0]);
    conv.partials_dtype = partials_dtype(conv.compute, precision_.activations, conv.order.part_blocks, !bias.empty());
    conv.tilized_dtype = as_matmul(conv.window) ? DType::float32 : precision_.activations;
    conv.activation = then_;
    const Shape out{in[0], kernel[0], resolved.output[0], resolved.output[1]};
    return store(
        conv2d_values(conv, rows_of(x).values, stored_weights(w.as<float>(), kernel[0], precision_.weights), bias),
        out);
  }

  std::optional<Array> multiply(const Gemm& op, Operands operands) const {
    const Array &a = *operands[0], &b = *operands[1];
    const Array* c = operands.size() > 2 ? operands[2] : nullptr;
    const std::int64_t k = b.shape()[op.transpose_b ? 1 : 0], n = b.shape()[op.transpose_b ? 0 : 1];
    if (op.alpha != 1 || op.beta != 1 || op.transpose_a || (c != nullptr && c->count() != n)) return std::nullopt;
    const auto given = b.as<float>();
    std::vector<float> weights(given.begin(), given.end());
    if (op.transpose_b)
      for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          weights[static_cast<std::size_t>(i * n + j)] = given[static_cast<std::size_t>(j * k + i)];
    weights = stored_values(weights, {k, n}, precision_.weights, Rounding::host);
    const std::vector<float> bias = stored_bias(c, n);
    Product product{.m = a.shape()[0], .n = n, .k = k, .k_block = kDenseBlock};
    product.compute = precision_.compute;
    product.bias = bias.empty() ? nullptr : bias.data();
    product.partials_dtype = partials_dtype(product.compute, precision_.activations, product.blocks(), !bias.empty());
    product.activation = then_;
    return store(product_values(product, a.as<float>().data(), weights.data()), Shape{product.m, n});
  }

  std::optional<Array> combine(const Binary& op, Operands operands) const {
    const auto& [kind] = op;
    if (kind != Binary::Kind::add && kind != Binary::Kind::sub && kind != Binary::Kind::mul) return std::nullopt;
    const Array &a = *operands[0], &b = *operands[1];
    if (a.shape() != b.shape()) return broadcast(op, operands);
    return store(binary_values(kind, rows_of(a).values, precision_.activations, rows_of(b).values,
                               precision_.activations, precision_.compute, then_),
                 a.shape());
  }

  // The smaller operand is repeated by adding it to zeros of the result's shape, which is exact.
  std::optional<Array> broadcast(const Binary& op, Operands operands) const {
    const Array sum = reference(Op(Binary{Binary::Kind::add}), operands)[0];
    const Array zeros(ElementType::float32, sum.shape());
    const auto spread = [&](const Array* x) {
      const Array* both[] = {x, &zeros};
      return reference(Op(Binary{Binary::Kind::add}), both)[0];
    };
    const Array a = spread(operands[0]), b = spread(operands[1]);
    const Array* both[] = {&a, &b};
    return combine(op, both);
  }

  static bool as_matmul(const SlidingWindow& w) {
    return w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.top == 0 && w.bottom == 0 &&
           w.left == 0 && w.right == 0;
  }

  PoolValues pool_of(const Array& x, const tessera::Window& window, bool ceil_mode, std::string_view name) const {
    const Shape& in = x.shape();
    PoolValues pool{.batch = in[0], .height = in[2], .width = in[3], .channels = in[1]};
    pool.window = window_of(resolve(window, {in[2], in[3]}, ceil_mode, name));
    pool.ceil_mode = ceil_mode;
    pool.compute = precision_.compute;
    return pool;
  }
  static Shape pooled_shape(const PoolValues& pool) {
    return Shape{pool.batch, pool.channels, pool.out_h(), pool.out_w()};
  }

  std::optional<Array> maximum(const MaxPool& op, Operands operands) const {
    if (!is_image(*operands[0])) return std::nullopt;
    const PoolValues pool = pool_of(*operands[0], op.window, op.ceil_mode, MaxPool::kName);
    return store_pool(max_pool_values(pool, rows_of(*operands[0]).values), pooled_shape(pool));
  }

  std::optional<Array> average(const AveragePool& op, Operands operands) const {
    if (!is_image(*operands[0])) return std::nullopt;
    PoolValues pool = pool_of(*operands[0], op.window, op.ceil_mode, AveragePool::kName);
    pool.count_include_pad = op.count_include_pad;
    return store_pool(average_pool_values(pool, rows_of(*operands[0]).values), pooled_shape(pool));
  }

  std::optional<Array> global(const GlobalPool& op, Operands operands) const {
    const Array& x = *operands[0];
    if (!is_image(x) || op.kind != GlobalPool::Kind::average) return std::nullopt;
    PoolValues pool{.batch = x.shape()[0], .height = x.shape()[2], .width = x.shape()[3], .channels = x.shape()[1]};
    pool.window.kernel_h = pool.height;
    pool.window.kernel_w = pool.width;
    pool.compute = precision_.compute;
    return store_pool(average_pool_values(pool, rows_of(x).values), pooled_shape(pool));
  }

  std::optional<Array> exponentials(const Softmax& op, Operands operands) const {
    const Array& x = *operands[0];
    const int rank = x.shape().rank();
    if (rank == 0 || is_image(x) || op != Softmax{.axis = op.axis} || (op.axis != -1 && op.axis != rank - 1))
      return std::nullopt;
    const Rows rows = rows_of(x);
    std::vector<float> y = softmax_values(rows.values, rows.extent.height, rows.extent.width, precision_.compute);
    if (then_) apply(*then_, y, precision_.compute.fp32_dest_acc_en);
    return store(y, x.shape());
  }

  const GraphPrecision& precision_;
  std::optional<DstActivation> then_;
};

// A node and all that is fused into it. A function is taken along by the step before it.
std::vector<Array> run_node(const Node& node, Operands operands, const GraphPrecision& precision) {
  struct Part {
    const Op* op;
    std::vector<int> operands;
  };
  std::vector<Part> parts{{&node.op, {}}};
  for (std::size_t i = 0; i < node.op_inputs(); ++i) parts[0].operands.push_back(static_cast<int>(i));
  for (const FusedOp& fused : node.fused) parts.push_back({&fused.op, fused.operands});

  std::vector<Array> results;
  const auto gather = [&](const Part& part) {
    std::vector<const Array*> of_part;
    for (const int at : part.operands)
      of_part.push_back(at == FusedOp::kChained ? &results.at(0) : operands[static_cast<std::size_t>(at)]);
    return of_part;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<const Array*> of_part = gather(parts[i]);
    std::optional<DstActivation> then;
    if (i + 1 < parts.size()) {
      std::vector<const Array*> of_next;
      for (const int at : parts[i + 1].operands)
        of_next.push_back(at == FusedOp::kChained ? nullptr : operands[static_cast<std::size_t>(at)]);
      then = activation_of(*parts[i + 1].op, of_next);
    }
    results = Step(precision, then).run(*parts[i].op, of_part);
    if (then) ++i;
  }
  return results;
}

}  // namespace

Conv2dOrder default_order(std::int64_t in_channels, const SlidingWindow& window) {
  const bool wide = in_channels >= kFace;
  return {round_up(in_channels, wide ? kFace : std::int64_t{8}), 1, window.kernel_h};
}

DType partials_dtype(const ComputeConfig& compute, DType output, std::int64_t blocks, bool bias) {
  if (!compute.packer_l1_acc || blocks <= (bias ? 1 : 2)) return output;
  return compute.fp32_dest_acc_en ? DType::float32 : DType::bfloat16;
}

std::vector<Array> graph_values(const Graph& graph, const std::vector<Array>& inputs, const GraphPrecision& precision,
                                const std::function<void(const Node&, const Array&)>& observer) {
  check(inputs.size() == graph.inputs.size(), Code::invalid_argument, "the graph takes {} inputs, {} were given",
        graph.inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(graph, i, inputs[i]);
  const DType input_dtype = is_block_float(precision.activations) ? DType::bfloat16 : precision.activations;

  std::vector<int> uses(graph.values.size());
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.inputs)
      if (id != kNoValue) ++uses[static_cast<std::size_t>(id)];
  for (const ValueId id : graph.outputs) ++uses[static_cast<std::size_t>(id)];

  std::vector<std::optional<Array>> kept(graph.values.size());
  std::vector<const Array*> at(graph.values.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(graph.inputs[i]);
    kept[id] = inputs[i].type() == ElementType::float32
                   ? packed(rows_of(inputs[i]).values, inputs[i].shape(), input_dtype, Rounding::host)
                   : inputs[i];
    at[id] = &*kept[id];
  }
  for (const Node& node : graph.nodes) {
    std::vector<const Array*> operands;
    for (const ValueId id : node.inputs) {
      const Array* value = id == kNoValue ? nullptr : at[static_cast<std::size_t>(id)];
      operands.push_back(id != kNoValue && value == nullptr ? graph.value(id).constant.get() : value);
    }
    std::vector<Array> results = with_context(fmt::format("while running node '{}' ({})", node.name, name(node.op)),
                                              [&] { return run_node(node, operands, precision); });
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const auto id = static_cast<std::size_t>(node.outputs[i]);
      kept[id] = std::move(results.at(i));
      at[id] = &*kept[id];
    }
    if (observer && node.outputs[0] != kNoValue) observer(node, *at[static_cast<std::size_t>(node.outputs[0])]);
    for (const ValueId id : node.inputs)
      if (id != kNoValue && --uses[static_cast<std::size_t>(id)] == 0) kept[static_cast<std::size_t>(id)].reset();
  }
  std::vector<Array> outputs;
  for (const ValueId id : graph.outputs) {
    const Array* value = at[static_cast<std::size_t>(id)];
    outputs.push_back(value != nullptr ? *value : *graph.value(id).constant);
  }
  return outputs;
}

}  // namespace tessera::tensix
