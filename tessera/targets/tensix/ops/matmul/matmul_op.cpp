#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/matmul/linear_layer.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_linear(const Node& node, Lowering& graph) {
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

std::string linear_name(const LinearLayer&) { return "linear"; }

std::optional<CallRole> linear_role(std::string_view name) {
  if (name == "linear" || name == "matmul") return CallRole::product;
  return std::nullopt;
}

std::string linear_digest(const LinearLayer& l) {
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

}  // namespace

const CardOp card_op_matmul = {.kind = ProgramKind::matmul,
                               .lower = lower_linear,
                               .reads_flattened = true,
                               .ttnn_name = on_layer<linear_name>,
                               .named_role = linear_role,
                               .digest = on_layer<linear_digest>,
                               .run = on_layer<run_linear>,
                               .emit = on_layer<emit_linear>};

const CardOp* LinearLayer::op() const { return &card_op_matmul; }

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
