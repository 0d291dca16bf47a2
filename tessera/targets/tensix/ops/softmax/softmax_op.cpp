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
  const std::int64_t axis = op.axis < 0 ? op.axis + in.rank() : op.axis;
  if (op.log || axis != 1 || (op.flatten && card_rows(in) != in[0]))
    return Refusal{fmt::format("it runs along axis {}{}", axis, op.log ? " and takes logarithms" : ""),
                   "softmax over channels can be had"};
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
                                .run = on_layer<run_softmax>,
                                .emit = on_layer<emit_softmax>};

const CardOp* SoftmaxLayer::op() const { return &card_op_softmax; }

}  // namespace tessera::tensix
