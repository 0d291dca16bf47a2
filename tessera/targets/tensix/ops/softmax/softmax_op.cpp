#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/softmax/softmax_layer.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_softmax(const Node& node, Lowering& graph) {
  const auto* softmax = std::get_if<Softmax>(&node.op);
  if (softmax == nullptr) return std::nullopt;
  const Softmax& op = *softmax;
  const Shape in = graph.shape(node.inputs[0]);
  const int axis = graph.dim(node.inputs[0], op.axis);
  std::int64_t behind = 1;
  for (int d = axis + 1; d < in.rank(); ++d) behind *= in[d];
  if (op.log || axis == 0 || (op.flatten && behind != 1))
    return Refusal{fmt::format("it runs along axis {}{}{}", axis, op.flatten ? " and all behind it" : "",
                               op.log ? " and takes logarithms" : ""),
                   "softmax over channels can be had"};
  graph.read({graph.with_columns(node.inputs[0], axis)});
  graph.set_columns(node.outputs[0], axis);
  return CardLayer(SoftmaxLayer{});
}

DeviceTensor run_softmax(const SoftmaxLayer&, NodeRun& node) {
  return node.near_or_far([&] { return softmax(node.tiles_near(node.input()), -1, std::nullopt, node.compute()); },
                          [&] { return softmax(in_tiles(in_dram(node.input())), -1, std::nullopt, node.compute()); });
}

std::string emit_softmax(const SoftmaxLayer&, TtnnCall& call) {
  return call.assign("ttnn.softmax", {call.near_tiles(), "dim=-1",
                                      fmt::format("compute_kernel_config={}", py_compute(call.compute()))});
}

}  // namespace

const CardOp card_op_softmax = {.kind = ProgramKind::softmax,
                                .count = count_normalized_rows,
                                .lower = lower_softmax,
                                .any_columns = true,
                                .run = on_layer<run_softmax>,
                                .emit = on_layer<emit_softmax>};

const CardOp* SoftmaxLayer::op() const { return &card_op_softmax; }

}  // namespace tessera::tensix
