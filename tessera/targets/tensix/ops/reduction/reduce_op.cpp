#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reduction/reduce_layer.h"
#include "tessera/targets/tensix/ops/reduction/reduction.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

// Sums over rows of pixels.
void count_reduce(TensorWork& w) {
  const TensorShare mine = w.share_of(w.in());
  w.work.reduced_tiles = mine.tiles;
  if (!w.in().sharded()) w.work.page_reads = mine.tiles;
  if (!w.out().sharded()) w.work.page_writes = w.share_of(w.out()).tiles;
  w.work.blocks = std::max(mine.tiles, 1.0);
  w.work.activations_double_buffered = true;
  w.all_dram();
}

std::optional<ReduceLayer> layer_of(Reduce::Kind kind) {
  using Kind = Reduce::Kind;
  switch (kind) {
    case Kind::sum: return ReduceLayer{"sum"};
    case Kind::mean: return ReduceLayer{"mean"};
    case Kind::max: return ReduceLayer{"max"};
    case Kind::min: return ReduceLayer{"min"};
    case Kind::sum_square: return ReduceLayer{"sum", true};
    case Kind::l2: return ReduceLayer{"sum", true, true};
    default: return std::nullopt;
  }
}

// Of the dimension that columns are, or can be made.
std::optional<Lowered> lower_reduce(const Node& node, Lowering& graph) {
  const auto* op = std::get_if<Reduce>(&node.op);
  if (op == nullptr) return std::nullopt;
  const Constant given = graph.constant(node, 1);
  std::vector<std::int64_t> axes = op->axes;
  if (axes.empty() && given) axes = given->to_int64();
  std::optional<ReduceLayer> layer = layer_of(op->kind);
  if (axes.size() != 1 || !op->keep_dims || !layer)
    return Refusal{"it is another function, goes over several axes, or leaves them out",
                   "means and maxima of each channel of an image can be had, and sums of one axis that stays"};
  const int dim = graph.dim(node.inputs[0], axes[0]);
  graph.read({graph.with_columns(node.inputs[0], dim)});
  graph.set_columns(node.outputs[0], dim);
  return CardLayer(*std::move(layer));
}

std::string reduce_name(const ReduceLayer& layer) { return layer.reduction; }

std::optional<CallRole> reduce_role(std::string_view name) {
  if (std::ranges::any_of(reductions(), [&](const Reduction& each) { return each.name == name; }))
    return CallRole::computes;
  return std::nullopt;
}

std::string reduce_digest(const ReduceLayer& layer) {
  return fmt::format("{}{}", layer.squares ? "squares" : "", layer.root ? " root" : "");
}

DeviceTensor run_reduce(const ReduceLayer& layer, NodeRun& node) {
  const auto run = [&](const DeviceTensor& tiles) {
    ReduceOptions o;
    o.dims = std::vector<int>{3};
    o.keep_dims = true;
    o.compute = node.compute();
    const DeviceTensor x = layer.squares ? binary(Binary::Kind::mul, tiles, tiles) : tiles;
    const DeviceTensor y = reduce(reduction(layer.reduction), x, o);
    if (!layer.root) return y;
    const VectorFunction root = vector_function("sqrt");
    return unary("sqrt", std::span(&root, 1), y);
  };
  return node.near_or_far([&] { return run(node.tiles_near(node.input())); },
                          [&] { return run(in_tiles(in_dram(node.input()))); });
}

std::string emit_reduce(const ReduceLayer& layer, TtnnCall& call) {
  std::string text = fmt::format("    x = {}\n", call.near_tiles());
  if (layer.squares) text += "    x = ttnn.multiply(x, x)\n";
  const std::string y = fmt::format("ttnn.{}(x, dim=3, keepdim=True, compute_kernel_config={})", layer.reduction,
                                    py_compute(call.compute()));
  if (!layer.root) return text + fmt::format("    {} = {}\n", call.result(), y);
  return text + call.assign("ttnn.sqrt", {y});
}

}  // namespace

// An average over all of an image is one, too.
const CardOp card_op_reduce = {.kind = ProgramKind::reduce,
                               .count = count_reduce,
                               .lower = lower_reduce,
                               .any_columns = true,
                               .ttnn_name = on_layer<reduce_name>,
                               .named_role = reduce_role,
                               .digest = on_layer<reduce_digest>,
                               .run = on_layer<run_reduce>,
                               .emit = on_layer<emit_reduce>};

const CardOp* ReduceLayer::op() const { return &card_op_reduce; }

}  // namespace tessera::tensix
