#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/pad/pad.h"
#include "tessera/targets/tensix/ops/pad/pad_layer.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_pad(const Node& node, Lowering& graph) {
  const auto* op = std::get_if<Pad>(&node.op);
  if (op == nullptr) return std::nullopt;
  if (op->mode != Pad::Mode::constant) return Refusal{"it repeats what is inside", "one number around it can be had"};
  const Shape in = graph.shape(node.inputs[0]);
  const Constant pads = graph.constant(node, 1), value = graph.constant(node, 2), axes = graph.constant(node, 3);
  const auto given = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; };
  if (!pads || (given(2) && !value) || (given(3) && !axes)) return Refusal{"what it adds is computed", ""};
  const std::vector<std::int64_t> list = pads->to_int64();
  std::vector<std::pair<std::int64_t, std::int64_t>> around(static_cast<std::size_t>(in.rank()));
  for (std::size_t i = 0; i < list.size() / 2; ++i) {
    const int d = graph.dim(node.inputs[0], axes ? axes->to_int64()[i] : static_cast<std::int64_t>(i));
    around[static_cast<std::size_t>(d)] = {list[i], list[i + list.size() / 2]};
    if (list[i] < 0 || list[i + list.size() / 2] < 0) return Refusal{"it cuts off", ""};
  }
  PadLayer layer;
  layer.images = in[0];
  if (value) layer.value = static_cast<float>(value->to_double()[0]);
  const int columns = graph.columns(node.inputs[0]);
  for (int i = 0; i < in.rank(); ++i) {
    const int d = i + 1 == in.rank() ? columns : i < columns ? i : i + 1;
    const auto& each = around[static_cast<std::size_t>(d)];
    const bool whole = each.first == 0 && each.second == 0;
    // Rows that nothing is added to are one dimension.
    if (whole && d != columns && !layer.dims.empty() && layer.padding.back() == each) {
      layer.dims.back() *= in[d];
      continue;
    }
    layer.dims.push_back(in[d]);
    layer.padding.push_back(each);
  }
  graph.set_columns(node.outputs[0], columns);
  return CardLayer(std::move(layer));
}

std::string pad_digest(const PadLayer& p) {
  std::string text = fmt::format("[{}] {}", fmt::join(p.dims, ", "), p.value);
  for (const auto& [before, after] : p.padding) text += fmt::format(" {},{}", before, after);
  return text;
}

DeviceTensor run_pad(const PadLayer& layer, NodeRun& node) {
  const Extent2d out = node.output_matrix();
  return node.fit(
      [&] {
        const DeviceTensor x = reshape(in_rows(in_dram(node.input())), Shape(layer.dims));
        return reshape(pad(x, layer.padding, layer.value), Shape{1, 1, out.height, out.width});
      },
      false);
}

std::string emit_pad(const PadLayer& layer, TtnnCall& call) {
  const Extent2d out = call.output_matrix();
  std::string x = call.place().memory == kDramMemoryConfig ? call.input() : py_in_dram(call.input());
  if (call.is_tiled()) x = py_in_layout(x, Layout::row_major);
  std::vector<std::string> around;
  for (const auto& [before, after] : layer.padding) around.push_back(fmt::format("({}, {})", before, after));
  std::string text = emit::py_call(4, "x = ttnn.reshape(", {x, emit::py_list(Shape(layer.dims))});
  text += emit::py_call(
      4, "x = ttnn.pad(",
      {"x", fmt::format("[{}]", fmt::join(around, ", ")), fmt::format("value={}", emit::py(double{layer.value}))});
  return text + call.assign("ttnn.reshape", {"x", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

bool keeps_images(const PadLayer& p) { return p.padding[0].first == 0 && p.padding[0].second == 0; }
void set_pad_images(PadLayer& p, std::int64_t images) {
  p.dims[0] = p.dims[0] / p.images * images;
  p.images = images;
}

}  // namespace

const CardOp card_op_pad = {.kind = ProgramKind::pad,
                            .count = count_streamed_rows,
                            .lower = lower_pad,
                            .any_columns = true,
                            .digest = on_layer<pad_digest>,
                            .run = on_layer<run_pad>,
                            .emit = on_layer<emit_pad>,
                            .keeps_images_apart = on_layer<keeps_images>,
                            .set_images = on_layer<set_pad_images>};

const CardOp* PadLayer::op() const { return &card_op_pad; }

}  // namespace tessera::tensix
