#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/layer_norm/layer_norm.h"
#include "tessera/targets/tensix/ops/layer_norm/layer_norm_layer.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_norm(const Node& node, Lowering& graph) {
  LayerNormLayer layer;
  std::int64_t axis = -1;
  if (const auto* norm = std::get_if<LayerNorm>(&node.op)) {
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) return Refusal{"it returns means and deviations too", ""};
    axis = norm->axis;
    layer.epsilon = norm->epsilon;
  } else if (const auto* root = std::get_if<RmsNorm>(&node.op)) {
    axis = root->axis;
    layer.epsilon = root->epsilon;
    layer.root_mean_square = true;
  } else {
    return std::nullopt;
  }
  const ValueId x = node.inputs[0];
  const Shape in = graph.shape(x);
  const int dim = graph.dim(x, axis);
  if (dim != in.rank() - 1)
    return Refusal{fmt::format("it runs along axis {} of {} and all behind it", dim, in.to_string()),
                   "a norm of the last dimension can be had"};
  layer.weight = graph.constant(node, 1);
  layer.bias = graph.constant(node, 2);
  const bool biased = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  for (const Constant* row : {&layer.weight, &layer.bias})
    if (*row && ((*row)->type() != ElementType::float32 || (*row)->count() != in[dim]))
      return Refusal{fmt::format("its weights have shape {}", (*row)->shape().to_string()), ""};
  if (!layer.weight || (biased && !layer.bias)) return Refusal{"its weights are computed", ""};
  graph.read({graph.with_columns(x, dim)});
  graph.set_columns(node.outputs[0], dim);
  return CardLayer(std::move(layer));
}

std::string norm_name(const LayerNormLayer& layer) { return layer.root_mean_square ? "rms_norm" : "layer_norm"; }

std::optional<CallRole> norm_role(std::string_view name) {
  if (name == "layer_norm" || name == "rms_norm") return CallRole::computes;
  return std::nullopt;
}

std::string norm_digest(const LayerNormLayer& layer) {
  return fmt::format("{}{}", layer.epsilon, layer.bias ? " bias" : "");
}

DeviceTensor run_norm(const LayerNormLayer& layer, NodeRun& node) {
  LayerNormOptions o;
  o.epsilon = layer.epsilon;
  o.weight = node.send_row(layer.weight->as<float>(), DType::bfloat16);
  if (layer.bias) o.bias = node.send_row(layer.bias->as<float>(), DType::bfloat16);
  o.compute = node.compute();
  const RowNorm norm = layer.root_mean_square ? RowNorm::rms : RowNorm::layer;
  return node.near_or_far([&] { return layer_norm(norm, node.tiles_near(node.input()), o); },
                          [&] { return layer_norm(norm, in_tiles(in_dram(node.input())), o); });
}

std::string emit_norm(const LayerNormLayer& layer, TtnnCall& call) {
  std::vector<std::string> arguments{call.near_tiles(), fmt::format("epsilon={}", emit::py(double{layer.epsilon}))};
  const auto row = [&](const std::string& what, const Constant& values) {
    const std::string name = call.node() + "." + what;
    call.keep_weight(name, values, {1, 1, 1, values->count()});
    arguments.push_back(fmt::format("{}=weights({}, ttnn.bfloat16)", what, emit::py(name)));
  };
  row("weight", layer.weight);
  if (layer.bias) row("bias", layer.bias);
  arguments.push_back(fmt::format("compute_kernel_config={}", py_compute(call.compute())));
  return call.assign(fmt::format("ttnn.{}", call.op()), arguments);
}

}  // namespace

const CardOp card_op_layer_norm = {.kind = ProgramKind::layer_norm,
                                   .count = count_normalized_rows,
                                   .lower = lower_norm,
                                   .any_columns = true,
                                   .ttnn_name = on_layer<norm_name>,
                                   .named_role = norm_role,
                                   .digest = on_layer<norm_digest>,
                                   .run = on_layer<run_norm>,
                                   .emit = on_layer<emit_norm>};

const CardOp* LayerNormLayer::op() const { return &card_op_layer_norm; }

}  // namespace tessera::tensix
