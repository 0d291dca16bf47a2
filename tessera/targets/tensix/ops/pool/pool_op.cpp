#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/graph_window.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/pool/pool.h"
#include "tessera/targets/tensix/ops/pool/pool_layer.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

Lowered lower_pool(const Node& node, const tessera::Window& window, bool ceil_mode, bool maximum, bool count_pad,
                   std::string_view op, const Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]);
  if (in.rank() != 4) return Refusal{fmt::format("the image has rank {}", in.rank()), "pools take N C H W"};
  PoolLayer layer{maximum, {.batch = in[0], .height = in[2], .width = in[3], .channels = in[1]}};
  layer.pool.window = window_of(resolve(window, {in[2], in[3]}, ceil_mode, op));
  layer.pool.ceil_mode = ceil_mode;
  layer.pool.count_include_pad = count_pad;
  return CardLayer(std::move(layer));
}

// Over all rows of each image, whatever their dimensions are: N T C and N H W C as N C H W.
std::optional<Lowered> lower_reduction(const Node& node, const Reduce& op, Lowering& graph) {
  if (op.kind != Reduce::Kind::mean && op.kind != Reduce::Kind::max) return std::nullopt;
  const Shape in = graph.shape(node.inputs[0]);
  const int columns = graph.columns(node.inputs[0]);
  const Constant given = graph.constant(node, 1);
  std::vector<std::int64_t> axes = op.axes;
  if (axes.empty() && given) axes = given->to_int64();
  std::vector<bool> gone(static_cast<std::size_t>(in.rank()));
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(graph.dim(node.inputs[0], axis))] = true;
  for (int d = 0; d < in.rank(); ++d)
    if (gone[static_cast<std::size_t>(d)] != (d != 0 && d != columns && in[d] != 1) && in[d] != 1) return std::nullopt;
  if (columns == 0 || axes.empty()) return std::nullopt;
  PoolLayer layer{op.kind == Reduce::Kind::max,
                  {.batch = in[0], .height = in.volume() / in[0] / in[columns], .width = 1, .channels = in[columns]}};
  layer.pool.window.kernel_h = layer.pool.height;
  layer.pool.window.kernel_w = 1;
  int left = columns;
  for (int d = 0; d < columns && !op.keep_dims; ++d) left -= gone[static_cast<std::size_t>(d)] ? 1 : 0;
  graph.read({node.inputs[0]});
  graph.set_columns(node.outputs[0], left);
  return CardLayer(std::move(layer));
}

std::optional<Lowered> lower_any_pool(const Node& node, Lowering& graph) {
  if (const auto* op = std::get_if<Reduce>(&node.op)) return lower_reduction(node, *op, graph);
  if (!std::holds_alternative<MaxPool>(node.op) && !std::holds_alternative<AveragePool>(node.op) &&
      !std::holds_alternative<GlobalPool>(node.op))
    return std::nullopt;
  graph.read({graph.with_columns(node.inputs[0], 1)});
  if (const auto* op = std::get_if<MaxPool>(&node.op)) {
    if (op->with_indices && node.outputs.size() > 1 && node.outputs[1] != kNoValue)
      return Refusal{"it returns the positions of its maxima too", ""};
    return lower_pool(node, op->window, op->ceil_mode, true, false, MaxPool::kName, graph);
  }
  if (const auto* op = std::get_if<AveragePool>(&node.op))
    return lower_pool(node, op->window, op->ceil_mode, false, op->count_include_pad, AveragePool::kName, graph);
  if (const auto* op = std::get_if<GlobalPool>(&node.op)) {
    if (op->kind == GlobalPool::Kind::lp) return Refusal{"pools on the card are maxima and averages", ""};
    const Shape in = graph.shape(node.inputs[0]);
    if (in.rank() != 4) return Refusal{fmt::format("the image has rank {}", in.rank()), "pools take N C H W"};
    tessera::Window window;
    window.kernel = {in[2], in[3]};
    return lower_pool(node, window, false, op->kind == GlobalPool::Kind::max, true, GlobalPool::kName, graph);
  }
  return std::nullopt;
}

std::string pool_digest(const PoolLayer& p) {
  return fmt::format("{}x{}x{}x{} {}{}{}", p.pool.batch, p.pool.height, p.pool.width, p.pool.channels,
                     digest_text(p.pool.window), p.pool.ceil_mode ? " ceil" : "",
                     p.pool.count_include_pad ? " with padding" : "");
}

DeviceTensor run_pool(const PoolLayer& layer, NodeRun& node) {
  const PoolValues& p = layer.pool;
  PoolOptions o;
  o.batch = p.batch;
  o.height = p.height;
  o.width = p.width;
  o.channels = p.channels;
  o.window = p.window;
  o.ceil_mode = p.ceil_mode;
  o.count_include_pad = p.count_include_pad;
  o.dtype = node.input_dtype();
  o.compute = node.compute();
  const LayerConfig own = node.config();
  if (own.gives("shard_layout")) o.scheme = own.conv.shard_layout;
  if (own.gives("reallocate_halo_output")) o.reallocate_halo = own.conv.reallocate_halo_output;
  if (own.gives("output_layout")) o.layout = own.conv.output_layout;
  if (o.layout == Layout::tile) o.dtype = node.result_dtype();
  const PoolKind kind = layer.maximum ? PoolKind::max : PoolKind::average;
  return node.near_or_far(
      [&] {
        // Asked before there is a second handle.
        o.deallocate_input = node.may_consume() && node.input().spec().memory_config().is_l1();
        DeviceTensor x = node.input();
        return pool2d(kind, x, o);
      },
      [&] {
        o.deallocate_input = false;
        DeviceTensor x = in_dram(node.input());
        return pool2d(kind, x, o);
      });
}

std::string emit_pool(const PoolLayer& layer, TtnnCall& call) {
  const PoolValues& p = layer.pool;
  const SlidingWindow& w = p.window;
  const bool tiled = call.config().gives("output_layout") && call.config().conv.output_layout == Layout::tile;
  std::vector<std::string> arguments{
      call.input(),
      fmt::format("batch_size={}", p.batch),
      fmt::format("input_h={}", p.height),
      fmt::format("input_w={}", p.width),
      fmt::format("channels={}", p.channels),
      fmt::format("kernel_size=[{}, {}]", w.kernel_h, w.kernel_w),
      fmt::format("stride=[{}, {}]", w.stride_h, w.stride_w),
      fmt::format("padding=[{}, {}, {}, {}]", w.top, w.bottom, w.left, w.right),
  };
  if (layer.maximum) arguments.push_back(fmt::format("dilation=[{}, {}]", w.dilation_h, w.dilation_w));
  arguments.push_back(fmt::format("ceil_mode={}", emit::py(p.ceil_mode)));
  if (!layer.maximum) {
    arguments.push_back(fmt::format("count_include_pad={}", emit::py(p.count_include_pad)));
    arguments.push_back(fmt::format("compute_kernel_config={}", py_compute(call.compute())));
  }
  if (call.config().gives("shard_layout") && call.config().conv.shard_layout)
    arguments.push_back(
        fmt::format("applied_shard_scheme=ttnn.TensorMemoryLayout.{}", name(*call.config().conv.shard_layout)));
  if (call.config().gives("reallocate_halo_output"))
    arguments.push_back(fmt::format("reallocate_halo_output={}", emit::py(call.config().conv.reallocate_halo_output)));
  if (call.may_consume() && call.place().memory.is_l1()) arguments.push_back("deallocate_input=True");
  if (tiled) arguments.push_back("output_layout=TILE");
  arguments.push_back(fmt::format("dtype={}", py_dtype(tiled ? call.result_dtype() : DType::bfloat16)));
  return call.assign(layer.maximum ? "ttnn.max_pool2d" : "ttnn.avg_pool2d", arguments);
}

void set_pool_images(PoolLayer& layer, std::int64_t images) { layer.pool.batch = images; }

void group_pool(PoolLayer& layer, std::int64_t images) {
  layer.pool.batch /= images;
  layer.pool.channels *= images;
}

constexpr CardOp pool_row(ProgramKind kind) {
  return {.kind = kind,
          .digest = on_layer<pool_digest>,
          .run = on_layer<run_pool>,
          .emit = on_layer<emit_pool>,
          .set_images = on_layer<set_pool_images>,
          .can_group = always,
          .group = on_layer<group_pool>};
}

constexpr CardOp with_lowering(CardOp row) {
  row.lower = lower_any_pool;
  row.any_columns = true;
  return row;
}

}  // namespace

const CardOp card_op_max_pool2d = with_lowering(pool_row(ProgramKind::max_pool2d));  // of averages too
const CardOp card_op_avg_pool2d = pool_row(ProgramKind::avg_pool2d);

const CardOp* PoolLayer::op() const { return maximum ? &card_op_max_pool2d : &card_op_avg_pool2d; }

}  // namespace tessera::tensix
