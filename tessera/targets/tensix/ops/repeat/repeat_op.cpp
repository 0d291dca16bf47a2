#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/repeat/expand_layer.h"
#include "tessera/targets/tensix/ops/repeat/repeat.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_expand(const Node& node, Lowering& graph) {
  if (!std::holds_alternative<Expand>(node.op) || graph.is_constant(node.inputs[0])) return std::nullopt;
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  if (in.rank() != out.rank()) return Refusal{fmt::format("it makes {} of {}", out.to_string(), in.to_string()), ""};
  const int columns = graph.columns(node.inputs[0]);
  ExpandLayer layer;
  for (int i = 0; i < in.rank(); ++i) {
    const int d = i + 1 == in.rank() ? columns : i < columns ? i : i + 1;
    // Rows that stay are one dimension.
    if (d != columns && !layer.dims.empty() && in[d] == out[d] && layer.dims.back() == layer.expanded.back()) {
      layer.dims.back() = layer.expanded.back() = layer.dims.back() * in[d];
      continue;
    }
    layer.dims.push_back(in[d]);
    layer.expanded.push_back(out[d]);
  }
  graph.set_columns(node.outputs[0], columns);
  return CardLayer(std::move(layer));
}

std::string expand_digest(const ExpandLayer& e) {
  return fmt::format("[{}] to [{}]", fmt::join(e.dims, ", "), fmt::join(e.expanded, ", "));
}

DeviceTensor run_expand(const ExpandLayer& layer, NodeRun& node) {
  const Extent2d out = node.output_matrix();
  return node.fit(
      [&] {
        const DeviceTensor x = reshape(in_rows(in_dram(node.input())), Shape(layer.dims));
        return reshape(expand(x, layer.expanded), Shape{1, 1, out.height, out.width});
      },
      false);
}

std::string emit_expand(const ExpandLayer& layer, TtnnCall& call) {
  const Extent2d out = call.output_matrix();
  std::string x = call.place().memory == kDramMemoryConfig ? call.input() : py_in_dram(call.input());
  if (call.is_tiled()) x = py_in_layout(x, Layout::row_major);
  std::string text = emit::py_call(4, "x = ttnn.reshape(", {x, emit::py_list(Shape(layer.dims))});
  text += emit::py_call(4, "x = ttnn.expand(", {"x", emit::py_list(Shape(layer.expanded))});
  return text + call.assign("ttnn.reshape", {"x", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

bool never(const ExpandLayer&) { return false; }

}  // namespace

const CardOp card_op_repeat = {.kind = ProgramKind::repeat,
                               .count = count_streamed_rows,
                               .lower = lower_expand,
                               .any_columns = true,
                               .role = CallRole::converts,
                               .digest = on_layer<expand_digest>,
                               .run = on_layer<run_expand>,
                               .emit = on_layer<emit_expand>,
                               .keeps_images_apart = on_layer<never>};

const CardOp* ExpandLayer::op() const { return &card_op_repeat; }

}  // namespace tessera::tensix
