#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/concat/concat_layer.h"
#include "tessera/targets/tensix/ops/concat/concat_parts.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

// Rows or pages of every operand after each other.
void count_concat(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  ProgramWork& work = w.work;
  const auto parts = static_cast<double>(w.inputs());
  work.blocks = std::max(tiled(w.out()) ? mine.tiles : mine.rows, 1.0);
  work.activations_double_buffered = true;
  if (w.out().sharded()) {
    // Out of shards on the same core, a piece of every row.
    work.window_reads = mine.rows * parts;
    work.window_bytes = mine.bytes;
    if (tiled(w.out()) && w.in().sharded()) {  // untilized, joined and tilized again
      work.untilized_tiles = work.tilized_tiles = mine.tiles;
      work.untilized_rows = mine.tile_rows;
      work.tilized_to = w.out().dtype;
    }
  } else if (tiled(w.out())) {
    work.page_reads = work.page_writes = mine.tiles;
  } else {
    work.waited_reads = work.waited_writes = mine.rows * parts;
    work.waited_bytes = mine.bytes;
  }
  w.all_dram();
}

// As the card has a value of this shape: a row for each place but those of the columns.
Constant matrix_of(const Array& x, int columns) {
  const Shape& shape = x.shape();
  const std::int64_t width = shape[columns];
  std::int64_t behind = 1;
  for (int d = columns + 1; d < shape.rank(); ++d) behind *= shape[d];
  auto matrix = std::make_shared<Array>(ElementType::float32, Shape{x.count() / width, width});
  const auto from = x.as<float>();
  const auto to = matrix->as<float>();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t row = i / (width * behind) * behind + i % behind, column = i / behind % width;
    to[static_cast<std::size_t>(row * width + column)] = from[static_cast<std::size_t>(i)];
  }
  return matrix;
}

std::optional<Lowered> lower_concat(const Node& node, Lowering& graph) {
  const auto* concat = std::get_if<Concat>(&node.op);
  if (concat == nullptr) return std::nullopt;
  const Shape out = graph.shape(node.outputs[0]);
  const int axis = graph.dim(node.outputs[0], concat->axis);
  const auto computed = std::ranges::find_if(node.inputs, [&](ValueId id) { return !graph.is_constant(id); });
  if (computed == node.inputs.end()) return std::nullopt;
  const int columns = graph.columns(*computed);
  ConcatLayer layer;
  layer.channels = axis == columns;
  for (int d = 0; d < axis; ++d)
    if (d != columns && !layer.channels) layer.blocks *= out[d];
  for (const ValueId id : node.inputs)
    if (graph.is_constant(id) && graph.value(id).constant->type() != ElementType::float32)
      return Refusal{"a constant among what it joins is not float32", ""};
  const bool known = std::ranges::any_of(node.inputs, [&](ValueId id) { return graph.is_constant(id); });
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) {
    const bool constant = graph.is_constant(id);
    if (known) layer.parts.push_back(constant ? matrix_of(*graph.value(id).constant, columns) : nullptr);
    if (!constant) inputs.push_back(graph.with_columns(id, columns));
  }
  graph.read(std::move(inputs));
  graph.set_columns(node.outputs[0], columns);
  return CardLayer(std::move(layer));
}

std::string concat_digest(const ConcatLayer& c) {
  std::string text = c.groups > 1 ? fmt::format("channels of {} groups", c.groups) : c.channels ? "channels" : "rows";
  if (c.blocks > 1) text += fmt::format(" of {} blocks", c.blocks);
  for (const Constant& part : c.parts) text += part ? " " + part->shape().to_string() : " .";
  return text;
}

// What is to be joined in one layout and type. Copies take the place of what nobody else reads.
std::vector<DeviceTensor> converted(NodeRun& node, const JoinedParts& joined) {
  const auto fits = [&](std::size_t i) {
    return node.input(i).spec().layout() == joined.layout && node.input(i).spec().dtype() == joined.dtype;
  };
  std::vector<DeviceTensor> parts;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (fits(i)) continue;
    const bool consumes = node.strict() && node.may_consume(i);
    DeviceTensor copy = joined.layout == Layout::row_major ? to_layout(node.input(i), Layout::row_major)
                        : is_tiled(node.input(i))          ? typecast(node.input(i), joined.dtype)
                                                           : to_layout(node.input(i), Layout::tile, joined.dtype);
    if (consumes)
      node.replace_input(i, std::move(copy));
    else
      parts.push_back(std::move(copy));
  }
  std::vector<DeviceTensor> out;
  std::size_t made = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) out.push_back(fits(i) ? node.input(i) : parts[made++]);
  return out;
}

DeviceTensor run_concat(const ConcatLayer& layer, NodeRun& node) {
  const LayerConfig own = node.config();
  const DType dtype = node.result_dtype();
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < node.inputs(); ++i) specs.push_back(node.input(i).spec());
  const std::optional<JoinedParts> joined = join_in_shards(specs, layer, own);
  const int dim = layer.channels ? 3 : 2;
  std::vector<DeviceTensor> known;  // one for each part, whether it is known or not
  for (const Constant& part : layer.parts)
    known.push_back(!part ? node.input()
                          : node.send_weights(Shape{1, 1, part->shape()[0], part->shape()[1]}, DType::bfloat16, [&] {
                              const auto values = part->as<float>();
                              return std::vector<float>(values.begin(), values.end());
                            }));
  const auto far = [&] {
    check(layer.groups == 1, Code::unsupported, Hint{"move both into height shards on the same cores first"},
          "concat: groups of channels are joined where two tensors lie in like height shards");
    std::vector<DeviceTensor> parts, copies;
    std::size_t next = 0;
    for (std::size_t i = 0; i < std::max(node.inputs(), layer.parts.size()); ++i)
      parts.push_back(layer.parts.empty() || !layer.parts[i] ? node.input(next++) : known[i]);
    const bool rows =
        layer.blocks > 1 || std::any_of(parts.begin(), parts.end(), [](const DeviceTensor& x) { return !is_tiled(x); });
    for (const DeviceTensor& x : parts) {
      DeviceTensor copy = in_dram(x);
      if (rows) copy = in_rows(copy);
      if (!rows && copy.spec().dtype() != dtype) copy = typecast(copy, dtype);
      const Shape& shape = copy.spec().logical_shape();
      if (layer.blocks > 1) copy = reshape(copy, Shape{layer.blocks, 1, shape[2] / layer.blocks, shape[3]});
      copies.push_back(copy);
    }
    DeviceTensor y = concat(copies, dim);
    if (layer.blocks > 1) y = reshape(y, Shape{1, 1, node.output_matrix().height, node.output_matrix().width});
    return rows && is_block_float(dtype) ? to_layout(y, Layout::tile, dtype) : y;
  };
  if (!joined) {
    check(!node.strict() || !own.gives("output_layout"), Code::unsupported,
          "concat: the tensors do not lie in like height shards");
    if (layer.joins_in_place()) node.note("tensors in different shards are joined in DRAM");
    return node.fit(far, false);
  }
  return node.near_or_far(
      [&] { return concat(converted(node, *joined), dim, joined->memory, static_cast<int>(layer.groups)); }, far);
}

// Where they lie. Copies take the place of what nobody else reads.
std::string emit_join(const ConcatLayer& layer, const JoinedParts& joined, TtnnCall& call) {
  std::string text;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const std::string x = call.input(i);
    if (call.place(i).layout == joined.layout && call.place(i).dtype == joined.dtype) {
      parts.push_back(x);
      continue;
    }
    const bool rows = joined.layout == Layout::row_major;
    const std::string copy = rows ? py_in_layout(x, Layout::row_major)
                             : call.is_tiled(i)
                                 ? fmt::format("ttnn.typecast({}, {})", x, py_dtype(joined.dtype))
                                 : fmt::format("ttnn.to_layout({}, TILE, {})", x, py_dtype(joined.dtype));
    const std::string kept = call.may_consume(i) ? x : fmt::format("part{}", parts.size());
    text += fmt::format("    {} = {}\n", kept, copy);
    parts.push_back(kept);
  }
  std::vector<std::string> arguments{fmt::format("[{}]", fmt::join(parts, ", ")), "dim=3",
                                     fmt::format("memory_config={}", py_memory(joined.memory))};
  if (layer.groups > 1) arguments.push_back(fmt::format("groups={}", layer.groups));
  return text + call.assign("ttnn.concat", arguments);
}

std::string emit_concat(const ConcatLayer& layer, TtnnCall& call) {
  std::vector<std::string> parts;
  const std::string dim = layer.channels ? "dim=3" : "dim=2";
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < call.inputs(); ++i)
    specs.emplace_back(call.place(i).shape, call.place(i).dtype, call.place(i).layout, call.place(i).memory);
  if (const auto joined = join_in_shards(specs, layer, call.config())) return emit_join(layer, *joined, call);
  check(layer.groups == 1, Code::invalid_argument, Hint{"make the plan again"},
        "the plan joins {} groups of channels of tensors that do not lie in like shards", layer.groups);
  const bool rows =
      layer.blocks > 1 || std::ranges::any_of(specs, [](const TensorSpec& x) { return x.layout() != Layout::tile; });
  const auto add = [&](std::string part, bool tiled, DType dtype, std::int64_t height, std::int64_t width) {
    if (rows && tiled) part = py_in_layout(part, Layout::row_major);
    if (!rows && dtype != call.result_dtype())
      part = fmt::format("ttnn.typecast({}, {})", part, py_dtype(call.result_dtype()));
    if (layer.blocks > 1)
      part = fmt::format("ttnn.reshape({}, [{}, 1, {}, {}])", part, layer.blocks, height / layer.blocks, width);
    parts.push_back(part);
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < std::max(call.inputs(), layer.parts.size()); ++i) {
    if (!layer.parts.empty() && layer.parts[i]) {
      const std::string name = fmt::format("{}.part{}", call.node(), i);
      const Shape& shape = layer.parts[i]->shape();
      call.keep_weight(name, layer.parts[i], {1, 1, shape[0], shape[1]});
      add(fmt::format("weights({}, ttnn.bfloat16)", emit::py(name)), true, DType::bfloat16, shape[0], shape[1]);
      continue;
    }
    const std::size_t at = next++;
    const Placement& place = call.place(at);
    add(place.memory == kDramMemoryConfig ? call.input(at) : py_in_dram(call.input(at)), call.is_tiled(at), place.dtype,
        place.shape[2], place.shape[3]);
  }
  std::vector<std::string> arguments{fmt::format("[{}]", fmt::join(parts, ", ")), dim};
  const Extent2d out = call.output_matrix();
  std::string text = layer.blocks == 1
                         ? call.assign("ttnn.concat", arguments)
                         : emit::py_call(4, "y = ttnn.concat(", arguments) +
                               call.assign("ttnn.reshape", {"y", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
  if (rows && is_block_float(call.result_dtype()))
    text += fmt::format("    {0} = ttnn.to_layout({0}, TILE, {1})\n", call.result(), py_dtype(call.result_dtype()));
  return text;
}

bool joins_channels(const ConcatLayer& layer) { return layer.channels && layer.parts.empty(); }
void group_concat(ConcatLayer& layer, std::int64_t images) { layer.groups *= images; }

}  // namespace

const CardOp card_op_concat = {.kind = ProgramKind::concat,
                               .count = count_concat,
                               .lower = lower_concat,
                               .any_columns = true,
                               .digest = on_layer<concat_digest>,
                               .run = on_layer<run_concat>,
                               .emit = on_layer<emit_concat>,
                               .keeps_images_apart = on_layer<joins_channels>,
                               .can_group = on_layer<joins_channels>,
                               .group = on_layer<group_concat>};

const CardOp* ConcatLayer::op() const { return &card_op_concat; }

}  // namespace tessera::tensix
