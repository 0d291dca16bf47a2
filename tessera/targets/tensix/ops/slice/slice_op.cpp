#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/slice/slice_layer.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

// A part of an image in DRAM, made rows on the way.
void count_slice(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  ProgramWork& work = w.work;
  work.activations_double_buffered = true;
  if (!w.out().sharded()) {
    work.sent_pieces = tiled(w.out()) ? mine.tiles : mine.rows;
    work.sent_bytes = mine.bytes;
    work.dram_written_bytes = dram_bytes_of(w.out());
  }
  if (tiled(w.in()) && tiled(w.out())) {
    work.fetched_pages = mine.tiles;
    work.fetched_bytes = mine.bytes;
  } else if (tiled(w.in())) {
    const double tile_rows = mine.rows / kTile;
    const auto across = static_cast<double>(ceil_div(w.in().columns, kTile));
    work.untilized_rows = tile_rows;
    work.untilized_tiles = tile_rows * across;
    work.fetched_pages = work.untilized_tiles;
    work.fetched_bytes = work.untilized_tiles * page_bytes(w.in());
    work.window_reads = 2 * mine.rows;  // out of the untilized rows and into the shard
    work.window_bytes = mine.bytes;
    work.blocks = std::max(tile_rows, 1.0);
  } else {
    work.sliced_rows = mine.rows;
    work.fetched_pages = mine.rows;
    work.fetched_bytes = mine.bytes;
  }
  work.dram_read_bytes = w.in().in_dram() ? std::min(bytes_of(w.in()), bytes_of(w.out())) : 0;
}

// A part of an image goes to its place in DRAM.
void count_slice_write(TensorWork& w) {
  const TensorShare mine = w.share_of(w.in());
  w.work.sliced_rows = w.work.sent_pieces = tiled(w.in()) ? mine.tiles : mine.rows;
  w.work.sent_bytes = mine.bytes;
  w.work.dram_written_bytes = w.out().in_dram() ? bytes_of(w.in()) : 0;
}

Lowered lower_cut(const Node& node, const Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  for (int d = 0; d < in.rank(); ++d)
    if (d != 1 && in[d] != out[d]) return Refusal{fmt::format("it cuts axis {}", d), "channels can be cut"};
  std::int64_t begin = 0, step = 1;
  const Constant starts = graph.constant(node, 1), axes = graph.constant(node, 3), steps = graph.constant(node, 4);
  if (!starts || (node.inputs.size() > 3 && node.inputs[3] != kNoValue && !axes))
    return Refusal{"its bounds are computed", ""};
  const std::vector<std::int64_t> first = starts->to_int64();
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::int64_t axis = axes ? axes->to_int64()[i] : static_cast<std::int64_t>(i);
    if (axis < 0) axis += in.rank();
    if (steps && steps->to_int64()[i] != 1) step = steps->to_int64()[i];
    if (axis == 1) begin = first[i] < 0 ? first[i] + in[1] : first[i];
  }
  if (step != 1) return Refusal{fmt::format("it takes every {}th element", step), ""};
  begin = std::clamp<std::int64_t>(begin, 0, in[1]);
  return CardLayer(SliceLayer{begin, begin + out[1]});
}

// Several results: a slice for each.
std::optional<Lowered> lower_split(const Node& node, const Split& op, const Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]);
  if ((op.axis < 0 ? op.axis + in.rank() : op.axis) != 1) return std::nullopt;
  std::vector<CardLayer> slices;
  std::int64_t begin = 0;
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) return std::nullopt;
    const std::int64_t end = begin + graph.shape(id)[1];
    slices.emplace_back(SliceLayer{begin, end});
    begin = end;
  }
  if (begin != in[1]) return std::nullopt;
  return slices;
}

std::optional<Lowered> lower_slice(const Node& node, Lowering& graph) {
  if (std::holds_alternative<Slice>(node.op)) return lower_cut(node, graph);
  if (const auto* op = std::get_if<Split>(&node.op)) return lower_split(node, *op, graph);
  return std::nullopt;
}

std::string slice_digest(const SliceLayer& s) { return fmt::format("{}..{}", s.begin, s.end); }

DeviceTensor run_slice(const SliceLayer& layer, NodeRun& node) {
  const Extent2d in = node.input_matrix();
  const std::int64_t begins[] = {0, 0, 0, layer.begin}, ends[] = {1, 1, in.height, layer.end}, steps[] = {1, 1, 1, 1};
  return node.near_or_far([&] { return slice(node.input(), begins, ends, steps); },
                          [&] { return slice(in_dram(node.input()), begins, ends, steps); });
}

std::string emit_slice(const SliceLayer& layer, TtnnCall& call) {
  return call.assign("ttnn.slice",
                     {call.input(), fmt::format("[0, 0, 0, {}]", layer.begin),
                      fmt::format("[1, 1, {}, {}]", call.input_matrix().height, layer.end), "[1, 1, 1, 1]"});
}

}  // namespace

const CardOp card_op_slice = {.kind = ProgramKind::slice,
                              .count = count_slice,
                              .lower = lower_slice,
                              .digest = on_layer<slice_digest>,
                              .run = on_layer<run_slice>,
                              .emit = on_layer<emit_slice>};
const CardOp card_op_padded_slice = {.kind = ProgramKind::padded_slice, .count = count_slice};
const CardOp card_op_slice_write = {.kind = ProgramKind::slice_write, .count = count_slice_write};

const CardOp* SliceLayer::op() const { return &card_op_slice; }

}  // namespace tessera::tensix
