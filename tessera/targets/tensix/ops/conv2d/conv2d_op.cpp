#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/graph_window.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

Lowered lower_conv(const Node& node, const Conv& op, Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]);
  const Constant weights = graph.constant(node, 1), bias = graph.constant(node, 2);
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
  if (const auto f = graph.take_activation(node, true)) layer.activation = f->name;
  return CardLayer(std::move(layer));
}

Lowered lower_transposed(const Node& node, const ConvTranspose& op, const Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  const Constant weights = graph.constant(node, 1), bias = graph.constant(node, 2);
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

std::optional<Lowered> lower_convolution(const Node& node, Lowering& graph) {
  if (const auto* op = std::get_if<Conv>(&node.op)) return lower_conv(node, *op, graph);
  if (const auto* op = std::get_if<ConvTranspose>(&node.op)) return lower_transposed(node, *op, graph);
  return std::nullopt;
}

std::string conv_name(const ConvLayer& layer) { return layer.transposed ? "conv_transpose2d" : "conv2d"; }

std::optional<CallRole> conv_role(std::string_view name) {
  if (name == "conv2d" || name == "conv_transpose2d") return CallRole::convolution;
  return std::nullopt;
}

std::string conv_digest(const ConvLayer& c) {
  const Conv2dProblem& p = c.problem;
  return fmt::format("{}x{}x{}x{} to {} g{} {}{}{}{}", p.batch, p.height, p.width, p.in_channels, p.out_channels,
                     p.groups, digest_text(p.window), c.bias ? " bias" : "", c.activation ? " " + *c.activation : "",
                     c.transposed ? fmt::format(" transposed +{},{}", c.output_pad_h, c.output_pad_w) : "");
}

DeviceTensor run_conv(const ConvLayer& layer, NodeRun& node) { return node.convolution(layer); }

std::string py_pair(std::int64_t a, std::int64_t b) { return fmt::format("({}, {})", a, b); }
std::string padding_of(const SlidingWindow& w) {
  if (w.top == w.bottom && w.left == w.right) return py_pair(w.top, w.left);
  return fmt::format("({}, {}, {}, {})", w.top, w.bottom, w.left, w.right);
}

// All that differs from what a Conv2dConfig is by itself.
std::vector<std::string> conv_fields(const ConvLayer& layer, const TtnnCall& call) {
  Conv2dConfig c;
  c.weights_dtype = call.weights_dtype();
  c.activation = layer.activation;
  c.reshard_if_not_optimal = true;
  call.config().apply_to(c);
  const Conv2dConfig plain;
  if (!call.config().gives("deallocate_activation"))
    c.deallocate_activation = call.may_consume() && call.place().memory.is_l1();
  std::vector<std::string> out;
  const auto flag = [&](const char* name, bool value, bool normal) {
    if (value != normal) out.push_back(fmt::format("{}={}", name, emit::py(value)));
  };
  const auto number = [&](const char* name, std::int64_t value, std::int64_t normal) {
    if (value != normal) out.push_back(fmt::format("{}={}", name, value));
  };
  if (c.weights_dtype) out.push_back(fmt::format("weights_dtype={}", py_dtype(*c.weights_dtype)));
  if (c.activation)  // "relu", or with its parameter, "leaky_relu(0.1)"; without, the usual one
    out.push_back(
        fmt::format("activation={}", py_function({.activation = activation_from_name(*c.activation),
                                                  .name = c.activation->substr(0, c.activation->find('('))})));
  if (c.shard_layout) out.push_back(fmt::format("shard_layout=ttnn.TensorMemoryLayout.{}", name(*c.shard_layout)));
  if (c.core_grid) out.push_back(fmt::format("core_grid={}", py_cores(*c.core_grid)));
  number("act_block_h_override", c.act_block_h_override, plain.act_block_h_override);
  number("act_block_w_div", c.act_block_w_div, plain.act_block_w_div);
  flag("deallocate_activation", c.deallocate_activation, plain.deallocate_activation);
  flag("reallocate_halo_output", c.reallocate_halo_output, plain.reallocate_halo_output);
  flag("config_tensors_in_dram", c.config_tensors_in_dram, plain.config_tensors_in_dram);
  flag("reshard_if_not_optimal", c.reshard_if_not_optimal, plain.reshard_if_not_optimal);
  flag("override_sharding_config", c.override_sharding_config, plain.override_sharding_config);
  flag("transpose_shards", c.transpose_shards, plain.transpose_shards);
  if (c.output_layout != plain.output_layout) out.push_back("output_layout=ROWS");
  flag("enable_act_double_buffer", c.enable_act_double_buffer, plain.enable_act_double_buffer);
  flag("enable_weights_double_buffer", c.enable_weights_double_buffer, plain.enable_weights_double_buffer);
  flag("full_inner_dim", c.full_inner_dim, plain.full_inner_dim);
  if (c.enable_kernel_stride_folding)
    flag("enable_kernel_stride_folding", *c.enable_kernel_stride_folding, !*c.enable_kernel_stride_folding);
  flag("enable_activation_reuse", c.enable_activation_reuse, plain.enable_activation_reuse);
  if (c.force_split_reader) flag("force_split_reader", *c.force_split_reader, !*c.force_split_reader);
  flag("override_output_sharding_config", c.override_output_sharding_config, plain.override_output_sharding_config);
  return out;
}

std::string emit_conv(const ConvLayer& layer, TtnnCall& call) {
  const Conv2dProblem& p = layer.problem;
  const SlidingWindow& w = p.window;
  std::vector<std::int64_t> shape;
  for (int d = 0; d < 4; ++d) shape.push_back(layer.weights->shape()[d]);
  call.keep_weight(call.node() + ".weight", layer.weights, shape);
  if (layer.bias) call.keep_weight(call.node() + ".bias", layer.bias, {p.out_channels});
  // Slices come from DRAM.
  std::string text;
  if (call.config().height_slices && call.place().memory != kDramMemoryConfig) text = call.move_to_dram(0);
  std::vector<std::string> arguments{
      call.input(),
      emit::py(call.node()),
      fmt::format("image=({}, {}, {})", p.batch, p.height, p.width),
      fmt::format("channels={}", py_pair(p.in_channels, p.out_channels)),
      fmt::format("kernel={}", py_pair(w.kernel_h, w.kernel_w)),
      fmt::format("stride={}", py_pair(w.stride_h, w.stride_w)),
      fmt::format("padding={}", padding_of(w)),
      fmt::format("dilation={}", py_pair(w.dilation_h, w.dilation_w)),
      fmt::format("groups={}", p.groups),
      fmt::format("dtype={}", py_dtype(call.result_dtype())),
      fmt::format("compute_config={}", py_compute(call.compute())),
  };
  if (layer.transposed)
    arguments.push_back(fmt::format("output_padding={}", py_pair(layer.output_pad_h, layer.output_pad_w)));
  if (call.config().height_slices)
    arguments.push_back(fmt::format("slices=dict(slice_type=ttnn.Conv2dDRAMSlice{}, num_slices={})",
                                    *call.config().height_slices ? "Height" : "Width", call.config().slices));
  if (call.config().memory == BufferType::dram) arguments.push_back("memory_config=DRAM");
  std::string config = emit::py_call(8, "config=dict(", conv_fields(layer, call));
  arguments.push_back(config.substr(8, config.size() - 9));
  return text + call.assign("convolution", arguments);
}

void set_conv_images(ConvLayer& layer, std::int64_t images) { layer.problem.batch = images; }

void group_conv(ConvLayer& layer, std::int64_t images) {
  Conv2dProblem& p = layer.problem;
  p.batch /= images;
  p.in_channels *= images;
  p.out_channels *= images;
  p.groups *= images;
  layer.weights = repeated(layer.weights, images);
  layer.bias = repeated(layer.bias, images);
}

}  // namespace

const CardOp card_op_conv2d = {.kind = ProgramKind::conv2d,
                               .lower = lower_convolution,
                               .ttnn_name = on_layer<conv_name>,
                               .named_role = conv_role,
                               .digest = on_layer<conv_digest>,
                               .run = on_layer<run_conv>,
                               .emit = on_layer<emit_conv>,
                               .takes_memory_config = true,
                               .set_images = on_layer<set_conv_images>,
                               .can_group = always,
                               .group = on_layer<group_conv>};

const CardOp* ConvLayer::op() const { return &card_op_conv2d; }

std::int64_t ConvLayer::out_h() const {
  const SlidingWindow& w = problem.window;
  if (!transposed) return problem.out_h();
  return (problem.height - 1) * w.stride_h - w.top - w.bottom + w.dilation_h * (w.kernel_h - 1) + output_pad_h + 1;
}
std::int64_t ConvLayer::out_w() const {
  const SlidingWindow& w = problem.window;
  if (!transposed) return problem.out_w();
  return (problem.width - 1) * w.stride_w - w.left - w.right + w.dilation_w * (w.kernel_w - 1) + output_pad_w + 1;
}

}  // namespace tessera::tensix
