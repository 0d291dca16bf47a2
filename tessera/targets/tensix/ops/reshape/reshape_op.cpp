#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/reshape/reshape_layer.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_reshape(const Node& node, Lowering& graph) {
  if (!std::holds_alternative<Reshape>(node.op) && !std::holds_alternative<Flatten>(node.op) &&
      !std::holds_alternative<Squeeze>(node.op) && !std::holds_alternative<Unsqueeze>(node.op))
    return std::nullopt;
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  if (in[0] == out[0] && in[1] == out[1]) return CardLayer(ReshapeLayer{});
  if (out.rank() == 2 && in[0] == out[0]) {
    const std::int64_t pixels = in.volume() / (in[0] * in[1]);
    if (pixels > 1) graph.set_pixels(node.outputs[0], pixels);
    return CardLayer(ReshapeLayer{pixels});
  }
  return Refusal{fmt::format("it makes {} of {}: rows and columns of the card are pixels and channels", out.to_string(),
                             in.to_string()),
                 "extents behind the channels can be changed, and images flattened"};
}

std::string reshape_digest(const ReshapeLayer& r) { return r.is_view() ? "view" : fmt::format("{} pixels", r.pixels); }

DeviceTensor run_reshape(const ReshapeLayer& layer, NodeRun& node) {
  if (layer.is_view()) return node.input();
  const Extent2d out = node.output_matrix();
  return node.fit([&] { return reshape(in_rows(in_dram(node.input())), Shape{1, 1, out.height, out.width}); }, false);
}

std::string emit_reshape(const ReshapeLayer& layer, TtnnCall& call) {
  if (layer.is_view()) {
    call.in_place_of(0);
    return fmt::format("    {} = {}\n", call.result(), call.input());
  }
  const Extent2d out = call.output_matrix();
  const std::string far = call.place().memory == kDramMemoryConfig ? call.input() : py_in_dram(call.input());
  return call.assign("ttnn.reshape", {call.is_tiled() ? py_in_layout(far, Layout::row_major) : far,
                                      fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

bool is_view(const ReshapeLayer& layer) { return layer.is_view(); }

}  // namespace

const CardOp card_op_reshape = {.kind = ProgramKind::reshape,
                                .count = count_streamed_rows,
                                .lower = lower_reshape,
                                .any_columns = true,
                                .digest = on_layer<reshape_digest>,
                                .run = on_layer<run_reshape>,
                                .emit = on_layer<emit_reshape>,
                                .can_group = on_layer<is_view>};

const CardOp* ReshapeLayer::op() const { return &card_op_reshape; }

}  // namespace tessera::tensix
