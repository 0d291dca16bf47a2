#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/matmul/linear_layer.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/matmul/product_layer.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

// The sum with one number for each column that alone reads the product.
Constant take_bias(Lowering& graph, std::int64_t columns) {
  const Node* sum = graph.only_reader(graph.result());
  const auto* binary = sum == nullptr ? nullptr : std::get_if<Binary>(&sum->op);
  if (binary == nullptr || binary->kind != Binary::Kind::add || !sum->fused.empty()) return nullptr;
  const Constant row = graph.constant(*sum, sum->inputs[0] == graph.result() ? 1 : 0);
  if (!row || row->type() != ElementType::float32 || row->count() != columns || row->shape()[-1] != columns ||
      graph.shape(sum->outputs[0]) != graph.shape(graph.result()))
    return nullptr;
  graph.take(*sum);
  return std::make_shared<const Array>(row->reshaped(Shape{columns}));
}

// Of two computed values.
std::optional<Lowered> lower_products(const Node& node, Lowering& graph) {
  const Shape a = graph.shape(node.inputs[0]), b = graph.shape(node.inputs[1]);
  ProductLayer layer;
  for (int d = 0; d + 2 < a.rank(); ++d) {
    if (a.rank() != b.rank() || a[d] != b[d])
      return Refusal{fmt::format("products of {} and {}", a.to_string(), b.to_string()),
                     "as many matrices on both sides can be had"};
    layer.count *= a[d];
  }
  if (a.rank() != b.rank())
    return Refusal{fmt::format("products of {} and {}", a.to_string(), b.to_string()),
                   "as many matrices on both sides can be had"};
  layer.images = a.rank() > 2 ? a[0] : 1;
  const int last = a.rank() - 1;
  graph.read({graph.with_columns(node.inputs[0], last), graph.with_columns(node.inputs[1], last)});
  graph.set_columns(node.outputs[0], last);
  return CardLayer(layer);
}

// Tokens times constant weights, and their bias.
std::optional<Lowered> lower_product(const Node& node, Lowering& graph) {
  const Constant weights = graph.constant(node, 1);
  const ValueId x = node.inputs[0];
  if (!graph.is_constant(x) && !graph.is_constant(node.inputs[1])) return lower_products(node, graph);
  if (graph.is_constant(x) || !weights || weights->shape().rank() != 2 || weights->type() != ElementType::float32 ||
      graph.pixels(x))
    return std::nullopt;
  const int last = graph.value(x).type.rank() - 1;
  graph.read({graph.with_columns(x, last), node.inputs[1]});
  LinearLayer layer{weights, take_bias(graph, weights->shape()[1])};
  graph.set_columns(graph.result(), last);
  return CardLayer(std::move(layer));
}

std::optional<Lowered> lower_linear(const Node& node, Lowering& graph) {
  if (std::holds_alternative<MatMul>(node.op)) return lower_product(node, graph);
  const auto* gemm = std::get_if<Gemm>(&node.op);
  if (gemm == nullptr) return std::nullopt;
  const Gemm& op = *gemm;
  const Constant weights = graph.constant(node, 1), bias = graph.constant(node, 2);
  const bool biased = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  if (op.transpose_a || !weights || (biased && !bias))
    return Refusal{"linear takes an input as it is and constant weights", ""};
  if (op.alpha != 1 || (biased && op.beta != 1))
    return Refusal{fmt::format("alpha is {} and beta {}", op.alpha, op.beta), "fold them into the weights"};
  LinearLayer layer{weights, bias, op.transpose_b};
  const std::int64_t n = weights->shape()[op.transpose_b ? 0 : 1];
  if (bias && bias->count() != n) return Refusal{fmt::format("its bias has shape {}", bias->shape().to_string()), ""};
  layer.pixels = graph.pixels(node.inputs[0]).value_or(1);
  return CardLayer(std::move(layer));
}

std::string linear_name(const CardLayer& layer) { return layer.is<LinearLayer>() ? "linear" : "matmul"; }

std::optional<CallRole> linear_role(std::string_view name) {
  if (name == "linear") return CallRole::product;
  if (name == "matmul") return CallRole::computes;  // of what is computed, or with numbers that are no weights
  return std::nullopt;
}

std::string linear_digest(const CardLayer& layer) {
  if (const auto* products = layer.as<ProductLayer>()) return fmt::format("{} products", products->count);
  const LinearLayer& l = *layer.as<LinearLayer>();
  return fmt::format("{} pixels {}{}", l.pixels, l.weights->shape().to_string(), l.bias ? " bias" : "");
}

DeviceTensor run_linear(const LinearLayer& layer, NodeRun& node) {
  const std::int64_t n = node.output_matrix().width;
  const DeviceTensor weights = node.send_weights(Shape{1, 1, layer.weights->count() / n, n}, node.weights_dtype(),
                                                 [&] { return linear_matrix(layer, n); });
  MatmulOptions o;
  if (layer.bias) o.bias = node.send_row(layer.bias->as<float>(), node.weights_dtype());
  o.dtype = node.result_dtype();
  o.compute = node.compute();
  return node.near_or_far([&] { return matmul(node.tiles_near(node.input()), weights, o); },
                          [&] { return matmul(in_tiles(in_dram(node.input())), weights, o); });
}

Constant linear_weights(const LinearLayer& layer, std::int64_t n) {
  const std::vector<float> matrix = linear_matrix(layer, n);
  return std::make_shared<const Array>(Array::of<float>(Shape{layer.weights->count() / n, n}, matrix));
}

std::string emit_linear(const LinearLayer& layer, TtnnCall& call) {
  const std::int64_t n = call.output_matrix().width, k = layer.weights->count() / n;
  call.keep_weight(call.node() + ".weight", linear_weights(layer, n), {1, 1, k, n});
  std::vector<std::string> arguments{
      call.near_tiles(),
      fmt::format("weights({}, {})", emit::py(call.node() + ".weight"), py_dtype(call.weights_dtype())),
  };
  if (layer.bias) {
    call.keep_weight(call.node() + ".bias", layer.bias, {1, 1, 1, n});
    arguments.push_back(
        fmt::format("bias=weights({}, {})", emit::py(call.node() + ".bias"), py_dtype(call.weights_dtype())));
  }
  arguments.push_back(fmt::format("dtype={}", py_dtype(call.result_dtype())));
  arguments.push_back(fmt::format("compute_kernel_config={}", py_compute(call.compute())));
  return call.assign("ttnn.linear", arguments);
}

Shape matrices_of(const Extent2d& all, std::int64_t count) { return Shape{1, count, all.height / count, all.width}; }

DeviceTensor run_products(const ProductLayer& layer, NodeRun& node) {
  const Extent2d out = node.output_matrix();
  MatmulOptions o;
  o.dtype = node.result_dtype();
  o.compute = node.compute();
  return node.fit(
      [&] {
        const auto operand = [&](std::size_t i) {
          const Shape& all = node.input(i).spec().logical_shape();
          return in_tiles(reshape(in_rows(in_dram(node.input(i))), matrices_of({all[2], all[3]}, layer.count)));
        };
        return reshape(matmul(operand(0), operand(1), o), Shape{1, 1, out.height, out.width});
      },
      false);
}

std::string emit_products(const ProductLayer& layer, TtnnCall& call) {
  std::string text;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Placement& place = call.place(i);
    std::string x = place.memory == kDramMemoryConfig ? call.input(i) : py_in_dram(call.input(i));
    if (call.is_tiled(i)) x = py_in_layout(x, Layout::row_major);
    text += emit::py_call(4, fmt::format("{} = ttnn.reshape(", i == 0 ? "a" : "b"),
                          {x, emit::py_list(matrices_of({place.shape[2], place.shape[3]}, layer.count))});
  }
  const Extent2d out = call.output_matrix();
  text += emit::py_call(4, "y = ttnn.matmul(",
                        {py_in_layout("a", Layout::tile), py_in_layout("b", Layout::tile),
                         fmt::format("dtype={}", py_dtype(call.result_dtype())),
                         fmt::format("compute_kernel_config={}", py_compute(call.compute()))});
  return text + call.assign("ttnn.reshape", {"y", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

DeviceTensor run_any_product(const CardLayer& layer, NodeRun& node) {
  const auto* products = layer.as<ProductLayer>();
  return products != nullptr ? run_products(*products, node) : run_linear(*layer.as<LinearLayer>(), node);
}

std::string emit_any_product(const CardLayer& layer, TtnnCall& call) {
  const auto* products = layer.as<ProductLayer>();
  return products != nullptr ? emit_products(*products, call) : emit_linear(*layer.as<LinearLayer>(), call);
}

void set_product_images(CardLayer& layer, std::int64_t images) {
  auto* products = layer.as<ProductLayer>();
  if (products == nullptr) return;
  products->count = products->count / products->images * images;
  products->images = images;
}

}  // namespace

const CardOp card_op_matmul = {.kind = ProgramKind::matmul,
                               .lower = lower_linear,
                               .reads_flattened = true,
                               .any_columns = true,
                               .ttnn_name = linear_name,
                               .named_role = linear_role,
                               .digest = linear_digest,
                               .run = run_any_product,
                               .emit = emit_any_product,
                               .set_images = set_product_images};

const CardOp* LinearLayer::op() const { return &card_op_matmul; }
const CardOp* ProductLayer::op() const { return &card_op_matmul; }

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
