#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/slice/slice_layer.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// What is taken along a dimension of a value.
struct Range {
  std::int64_t begin = 0, count = 0, step = 1;
};

Lowered slice_of(const Shape& in, int columns, const std::vector<Range>& ranges) {
  bool rows = false;
  for (int d = 0; d < in.rank(); ++d) {
    const Range& r = ranges[static_cast<std::size_t>(d)];
    if (r.step < 1) return Refusal{fmt::format("it goes backwards along axis {}", d), ""};
    rows = rows || (d == columns ? r.step != 1 : r.count != in[d]);
  }
  const Range& own = ranges[static_cast<std::size_t>(columns)];
  if (!rows) return CardLayer(SliceLayer{own.begin, own.begin + own.count});
  SliceLayer layer;
  layer.images = in[0];
  const auto add = [&](int d) {
    const Range& r = ranges[static_cast<std::size_t>(d)];
    // Rows that are taken whole are one dimension.
    const std::size_t last = layer.dims.size();
    const bool whole = r.count == in[d] && d != columns;
    if (whole && last > 0 && layer.steps.back() == 1 && layer.begins.back() == 0 &&
        layer.ends.back() == layer.dims.back()) {
      layer.dims.back() *= in[d];
      layer.ends.back() = layer.dims.back();
      return;
    }
    layer.dims.push_back(in[d]);
    layer.begins.push_back(r.begin);
    layer.ends.push_back(std::min(r.begin + r.count * r.step, in[d]));
    layer.steps.push_back(r.step);
  };
  for (int d = 0; d < in.rank(); ++d)
    if (d != columns) add(d);
  add(columns);
  return CardLayer(std::move(layer));
}

std::vector<Range> whole(const Shape& in) {
  std::vector<Range> ranges;
  for (int d = 0; d < in.rank(); ++d) ranges.push_back({0, in[d], 1});
  return ranges;
}

Lowered lower_cut(const Node& node, Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  const Constant starts = graph.constant(node, 1), axes = graph.constant(node, 3), steps = graph.constant(node, 4);
  if (!starts || (node.inputs.size() > 3 && node.inputs[3] != kNoValue && !axes) ||
      (node.inputs.size() > 4 && node.inputs[4] != kNoValue && !steps))
    return Refusal{"its bounds are computed", ""};
  std::vector<Range> ranges = whole(in);
  const std::vector<std::int64_t> first = starts->to_int64();
  for (std::size_t i = 0; i < first.size(); ++i) {
    const int d = graph.dim(node.inputs[0], axes ? axes->to_int64()[i] : static_cast<std::int64_t>(i));
    const std::int64_t begin = first[i] < 0 ? first[i] + in[d] : first[i];
    ranges[static_cast<std::size_t>(d)] = {std::clamp<std::int64_t>(begin, 0, in[d]), out[d],
                                           steps ? steps->to_int64()[i] : 1};
  }
  const int columns = graph.columns(node.inputs[0]);
  graph.set_columns(node.outputs[0], columns);
  return slice_of(in, columns, ranges);
}

// Elements at regular places of a dimension, or one, and then the dimension is gone.
std::optional<Lowered> lower_gather(const Node& node, const Gather& op, Lowering& graph) {
  const Constant indices = graph.constant(node, 1);
  if (graph.is_constant(node.inputs[0])) return std::nullopt;
  if (!indices || indices->shape().rank() > 1 || indices->count() == 0)
    return Refusal{"its places are computed, or have dimensions of their own", ""};
  const Shape in = graph.shape(node.inputs[0]);
  const int dim = graph.dim(node.inputs[0], op.axis);
  std::vector<std::int64_t> at = indices->to_int64();
  for (std::int64_t& i : at) i += i < 0 ? in[dim] : 0;
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  for (std::size_t i = 1; i < at.size(); ++i)
    if (at[i] - at[i - 1] != step) return Refusal{"its places are not at regular distances", ""};
  const bool gone = indices->shape().rank() == 0;
  int columns = graph.columns(node.inputs[0]);
  if (gone && columns == dim) {
    columns = dim == in.rank() - 1 ? dim - 1 : in.rank() - 1;
    graph.read({graph.with_columns(node.inputs[0], columns)});
  }
  std::vector<Range> ranges = whole(in);
  ranges[static_cast<std::size_t>(dim)] = {at[0], static_cast<std::int64_t>(at.size()), step};
  graph.set_columns(node.outputs[0], gone && dim < columns ? columns - 1 : columns);
  return slice_of(in, columns, ranges);
}

// Several results: a slice for each.
std::optional<Lowered> lower_split(const Node& node, const Split& op, Lowering& graph) {
  const Shape in = graph.shape(node.inputs[0]);
  const int dim = graph.dim(node.inputs[0], op.axis), columns = graph.columns(node.inputs[0]);
  std::vector<CardLayer> slices;
  std::int64_t begin = 0;
  for (const ValueId id : node.outputs) {
    if (id == kNoValue) return std::nullopt;
    std::vector<Range> ranges = whole(in);
    ranges[static_cast<std::size_t>(dim)] = {begin, graph.shape(id)[dim], 1};
    Lowered slice = slice_of(in, columns, ranges);
    slices.push_back(std::get<CardLayer>(std::move(slice)));
    graph.set_columns(id, columns);
    begin += graph.shape(id)[dim];
  }
  if (begin != in[dim]) return std::nullopt;
  return slices;
}

std::optional<Lowered> lower_slice(const Node& node, Lowering& graph) {
  if (std::holds_alternative<Slice>(node.op)) return lower_cut(node, graph);
  if (const auto* op = std::get_if<Gather>(&node.op)) return lower_gather(node, *op, graph);
  if (const auto* op = std::get_if<Split>(&node.op)) return lower_split(node, *op, graph);
  return std::nullopt;
}

std::string slice_digest(const SliceLayer& s) {
  if (!s.is_box()) return fmt::format("{}..{}", s.begin, s.end);
  return fmt::format("[{}] from [{}] to [{}] by [{}]", fmt::join(s.dims, ", "), fmt::join(s.begins, ", "),
                     fmt::join(s.ends, ", "), fmt::join(s.steps, ", "));
}

DeviceTensor run_box(const SliceLayer& layer, NodeRun& node) {
  const Extent2d out = node.output_matrix();
  return node.fit(
      [&] {
        const DeviceTensor x = reshape(in_rows(in_dram(node.input())), Shape(layer.dims));
        return reshape(slice(x, layer.begins, layer.ends, layer.steps), Shape{1, 1, out.height, out.width});
      },
      false);
}

DeviceTensor run_slice(const SliceLayer& layer, NodeRun& node) {
  if (layer.is_box()) return run_box(layer, node);
  const Extent2d in = node.input_matrix();
  const std::int64_t begins[] = {0, 0, 0, layer.begin}, ends[] = {1, 1, in.height, layer.end}, steps[] = {1, 1, 1, 1};
  return node.near_or_far([&] { return slice(node.input(), begins, ends, steps); },
                          [&] { return slice(in_dram(node.input()), begins, ends, steps); });
}

std::string emit_slice(const SliceLayer& layer, TtnnCall& call) {
  if (layer.is_box()) {
    const Extent2d out = call.output_matrix();
    std::string x = call.place().memory == kDramMemoryConfig ? call.input() : py_in_dram(call.input());
    if (call.is_tiled()) x = py_in_layout(x, Layout::row_major);
    std::string text = emit::py_call(4, "x = ttnn.reshape(", {x, emit::py_list(Shape(layer.dims))});
    text += emit::py_call(4, "x = ttnn.slice(",
                          {"x", emit::py_list(layer.begins), emit::py_list(layer.ends), emit::py_list(layer.steps)});
    return text + call.assign("ttnn.reshape", {"x", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
  }
  return call.assign("ttnn.slice",
                     {call.input(), fmt::format("[0, 0, 0, {}]", layer.begin),
                      fmt::format("[1, 1, {}, {}]", call.input_matrix().height, layer.end), "[1, 1, 1, 1]"});
}

bool keeps_images(const SliceLayer& s) {
  return !s.is_box() || (s.begins[0] == 0 && s.ends[0] == s.dims[0] && s.dims[0] % s.images == 0);
}

void set_slice_images(SliceLayer& s, std::int64_t images) {
  if (!s.is_box()) return;
  s.dims[0] = s.ends[0] = s.dims[0] / s.images * images;
  s.images = images;
}

}  // namespace

const CardOp card_op_slice = {.kind = ProgramKind::slice,
                              .count = count_slice,
                              .lower = lower_slice,
                              .any_columns = true,
                              .digest = on_layer<slice_digest>,
                              .run = on_layer<run_slice>,
                              .emit = on_layer<emit_slice>,
                              .keeps_images_apart = on_layer<keeps_images>,
                              .set_images = on_layer<set_slice_images>};
const CardOp card_op_padded_slice = {.kind = ProgramKind::padded_slice, .count = count_slice};
const CardOp card_op_slice_write = {.kind = ProgramKind::slice_write, .count = count_slice_write};

const CardOp* SliceLayer::op() const { return &card_op_slice; }

}  // namespace tessera::tensix
