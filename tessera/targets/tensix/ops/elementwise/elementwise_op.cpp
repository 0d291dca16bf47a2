#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_layer.h"
#include "tessera/targets/tensix/ops/elementwise/graph_function.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

void count_unary(TensorWork& w) { w.element_wise(1, false); }
void count_binary(TensorWork& w) { w.element_wise(std::min<std::size_t>(w.inputs(), 2), true); }

// --- of one operand ---

std::optional<Lowered> lower_unary(const Node& node, Lowering& graph) {
  if (const auto f = vector_function_of(node, graph)) {
    if (const auto pixels = graph.pixels(node.inputs[0])) graph.set_pixels(node.outputs[0], *pixels);
    graph.set_columns(node.outputs[0], graph.columns(node.inputs[0]));
    return CardLayer(UnaryLayer{*f});
  }
  if (!std::holds_alternative<Unary>(node.op) || graph.pixels(node.inputs[0])) return std::nullopt;
  return Refusal{"the vector unit has no such function, or not with these parameters", ""};
}

std::string unary_name(const UnaryLayer& layer) { return layer.function.name; }

std::optional<CallRole> unary_role(std::string_view name) {
  if (is_vector_function(name)) return CallRole::computes;
  return std::nullopt;
}

DeviceTensor run_unary(const UnaryLayer& layer, NodeRun& node) {
  return node.fit([&] {
    const DeviceTensor& x = node.input();
    UnaryOptions o;
    if (node.may_consume()) o.output = x;
    return unary(layer.function.name, std::span(&layer.function, 1), x, o);
  });
}

std::string emit_unary(const UnaryLayer& layer, TtnnCall& call) {
  const VectorFunction& f = layer.function;
  std::vector<std::string> arguments{call.input()};
  if (f.kind == VectorFunction::Kind::clamp) {
    arguments.push_back(emit::py(double{f.low}));
    arguments.push_back(emit::py(double{f.high}));
  } else if (takes_alpha(f)) {
    const std::string_view keyword = f.activation.function.kind == Unary::Kind::leaky_relu ? "negative_slope" : "alpha";
    arguments.push_back(fmt::format("{}={}", keyword, emit::py(double{f.activation.function.alpha})));
  }
  if (call.may_consume()) {
    arguments.push_back(fmt::format("output_tensor={}", call.input()));
    call.in_place_of(0);
  }
  return call.assign(fmt::format("ttnn.{}", call.op()), arguments);
}

// --- of two ---

Lowered with_activation(BinaryLayer layer, const Node& node, Lowering& graph, int columns) {
  layer.activation = graph.take_activation(node, false);
  graph.set_columns(graph.result(), columns);
  return CardLayer(std::move(layer));
}

// As extents of `out`, those that are not there being 1.
std::vector<std::int64_t> extents_in(const Shape& shape, const Shape& out) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(out.rank() - shape.rank()), 1);
  for (int d = 0; d < shape.rank(); ++d) dims.push_back(shape[d]);
  return dims;
}

bool is_row(const std::vector<std::int64_t>& dims, const Shape& out, int columns) {
  for (int d = 0; d < out.rank(); ++d)
    if (dims[static_cast<std::size_t>(d)] != (d == columns ? out[d] : 1)) return false;
  return true;
}

// As the card has a value of this shape.
Constant matrix_of(const Array& constant, const Shape& out, int columns) {
  const std::vector<std::int64_t> dims = extents_in(constant.shape(), out);
  std::vector<std::int64_t> order;
  for (int d = 0; d < out.rank(); ++d)
    if (d != columns) order.push_back(d);
  order.push_back(columns);
  auto matrix = std::make_shared<Array>(ElementType::float32, Shape{out.volume() / out[columns], out[columns]});
  const auto from = constant.as<float>();
  std::vector<std::int64_t> at(dims.size(), 0);
  for (float& v : matrix->as<float>()) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) place = place * dims[d] + (dims[d] == 1 ? 0 : at[d]);
    v = from[static_cast<std::size_t>(place)];
    for (std::size_t i = order.size(); i-- > 0;) {
      const auto d = static_cast<std::size_t>(order[i]);
      if (++at[d] < out[static_cast<int>(d)]) break;
      at[d] = 0;
    }
  }
  return matrix;
}

Lowered lower_with_constant(BinaryLayer layer, const Node& node, Lowering& graph, const Shape& out) {
  const Constant a = graph.constant(node, 0), b = graph.constant(node, 1);
  layer.constant = a ? a : b;
  layer.constant_first = a != nullptr;
  const ValueId operand = node.inputs[a ? 1 : 0];
  const int columns = graph.columns(operand);
  const Shape& c = layer.constant->shape();
  if (graph.shape(operand) != out || layer.constant->type() != ElementType::float32)
    return Refusal{fmt::format("its constant of shape {} makes {} of {}", c.to_string(), out.to_string(),
                               graph.shape(operand).to_string()),
                   ""};
  if (layer.constant->count() == 1 || is_row(extents_in(c, out), out, columns))
    layer.constant = std::make_shared<const Array>(layer.constant->reshaped(Shape{layer.constant->count()}));
  else
    layer.constant = matrix_of(*layer.constant, out, columns);
  return with_activation(std::move(layer), node, graph, columns);
}

std::optional<Lowered> lower_binary(const Node& node, Lowering& graph) {
  const auto* arithmetic = std::get_if<Binary>(&node.op);
  if (arithmetic == nullptr) return std::nullopt;
  const Binary& op = *arithmetic;
  if (std::ranges::find(kCardBinaries, op.kind) == kCardBinaries.end())
    return Refusal{"the card's element-wise operators are add, sub, mul, div, min and max", ""};
  BinaryLayer layer;
  layer.kind = op.kind;
  const Shape out = graph.shape(node.outputs[0]);
  if (graph.constant(node, 0) || graph.constant(node, 1))
    return lower_with_constant(std::move(layer), node, graph, out);
  const Shape x = graph.shape(node.inputs[0]), y = graph.shape(node.inputs[1]);
  const auto broadcast = [&] {
    return Refusal{fmt::format("shapes {} and {} are broadcast", x.to_string(), y.to_string()),
                   "a value for each channel, of each image or of all, and one for each pixel can be"};
  };
  if (x != out && y != out) return broadcast();
  const std::size_t large = x == out ? 0 : 1, small = 1 - large;
  const int columns = graph.columns(node.inputs[large]);
  std::vector<ValueId> operands = node.inputs;
  if (x == y) {
    operands[small] = graph.with_columns(node.inputs[small], columns);
    graph.read(operands);
    return with_activation(std::move(layer), node, graph, columns);
  }
  const Shape& less = small == 0 ? x : y;
  const std::vector<std::int64_t> dims = extents_in(less, out);
  const int mine = columns - (out.rank() - less.rank());
  if (mine < 0) return broadcast();
  // Rows that have one of their own come first.
  std::int64_t groups = 1;
  bool own = true, fits = dims[static_cast<std::size_t>(columns)] == out[columns];
  for (int d = 0; d < out.rank(); ++d) {
    const std::int64_t extent = dims[static_cast<std::size_t>(d)];
    if (d == columns || out[d] == 1) continue;
    if (extent == 1)
      own = false;
    else if (!own)
      fits = false;
    else
      groups *= extent;
  }
  const bool each_pixel = own && dims[static_cast<std::size_t>(columns)] == 1;
  if (!fits && !each_pixel) return broadcast();
  operands[small] = graph.with_columns(node.inputs[small], mine);
  graph.read(operands);
  if (!each_pixel && groups > 1) {
    layer.groups = groups;
    layer.images = out[0];
    layer.first_is_small = small == 0;
  }
  return with_activation(std::move(layer), node, graph, columns);
}

std::string binary_name(const BinaryLayer& layer) { return std::string(op_name(layer.kind)); }

std::optional<CallRole> binary_role(std::string_view name) {
  for (const Binary::Kind kind : kCardBinaries)
    if (op_name(kind) == name) return kind == Binary::Kind::mul ? CallRole::scales : CallRole::computes;
  return std::nullopt;
}

std::string binary_digest(const BinaryLayer& b) {
  return fmt::format("{}{}{}{}", b.activation ? b.activation->name : "",
                     b.constant ? fmt::format(" constant {}", b.constant->count()) : "",
                     b.constant_first ? " first" : "",
                     b.groups > 0 ? fmt::format(" {} groups{}", b.groups, b.first_is_small ? " first" : "") : "");
}

DeviceTensor run_with_constant(const BinaryLayer& layer, NodeRun& node, const BinaryOptions& o) {
  const auto values = layer.constant->as<float>();
  if (values.size() == 1) {
    return node.fit([&] {
      const DeviceTensor x = in_tiles(node.input());
      return layer.constant_first ? binary(layer.kind, double{values[0]}, x, o)
                                  : binary(layer.kind, x, double{values[0]}, o);
    });
  }
  const DeviceTensor row =
      layer.has_matrix()
          ? node.send_weights(Shape{1, 1, layer.constant->shape()[0], layer.constant->shape()[1]}, DType::bfloat16,
                              [&] { return std::vector<float>(values.begin(), values.end()); })
          : node.send_row(values, DType::bfloat16);
  const auto add = [&](const DeviceTensor& x) {
    BinaryOptions inner = o;
    inner.memory_config = x.spec().memory_config();
    return layer.constant_first ? binary(layer.kind, row, x, inner) : binary(layer.kind, x, row, inner);
  };
  return node.near_or_far([&] { return add(in_tiles(node.input())); },
                          [&] { return add(in_tiles(in_dram(node.input()))); });
}

// A row for each group: both operands have the groups as a dimension.
DeviceTensor run_in_groups(const BinaryLayer& layer, NodeRun& node, const BinaryOptions& o) {
  const std::size_t small = layer.first_is_small ? 0 : 1, large = 1 - small;
  const Extent2d out = node.output_matrix();
  const auto run = [&](const DeviceTensor& tiles) {
    const DeviceTensor x = reshape(tiles, Shape{layer.groups, 1, out.height / layer.groups, out.width});
    const DeviceTensor rows = reshape(in_rows(in_dram(node.input(small))), Shape{layer.groups, 1, 1, out.width});
    const DeviceTensor row = in_tiles(rows);
    BinaryOptions inner = o;
    inner.memory_config = x.spec().memory_config();
    const DeviceTensor y = layer.first_is_small ? binary(layer.kind, row, x, inner) : binary(layer.kind, x, row, inner);
    return reshape(y, Shape{1, 1, out.height, out.width});
  };
  return node.near_or_far([&] { return run(node.tiles_near(node.input(large))); },
                          [&] { return run(in_tiles(in_dram(node.input(large)))); });
}

DeviceTensor run_binary(const BinaryLayer& layer, NodeRun& node) {
  BinaryOptions o;
  o.dtype = node.result_dtype();
  if (layer.activation) o.activations.push_back(*layer.activation);
  if (layer.constant) return run_with_constant(layer, node, o);
  if (layer.groups > 0) return run_in_groups(layer, node, o);
  // Rows of a pool may lie in shards that are no whole tiles.
  const auto tiles_of = [](const DeviceTensor& x) {
    return is_tiled(x) ? x : in_tiles(x.spec().memory_config().is_sharded() ? in_dram(x) : x);
  };
  const auto add = [&](const DeviceTensor& left, const DeviceTensor& right) {
    const bool in_place = node.may_consume();  // asked before there is a second handle
    const DeviceTensor a = tiles_of(left), b = tiles_of(right);
    BinaryOptions inner = o;
    // In place of the first operand, where it is not needed any more.
    if (a.spec().logical_shape() == b.spec().logical_shape() && a.spec().dtype() == *o.dtype &&
        a.spec().memory_config() == b.spec().memory_config() && a.address() == node.input().address() && in_place &&
        a.spec().memory_config().is_l1())
      inner.output = a;
    return binary(layer.kind, a, b, inner);
  };
  return node.near_or_far([&] { return add(node.input(), node.input(1)); },
                          [&] { return add(in_dram(node.input()), in_dram(node.input(1))); });
}

std::string emit_in_groups(const BinaryLayer& layer, TtnnCall& call, const std::vector<std::string>& more) {
  const std::size_t small = layer.first_is_small ? 0 : 1, large = 1 - small;
  const Extent2d out = call.output_matrix();
  std::string row = call.place(small).memory == kDramMemoryConfig ? call.input(small) : py_in_dram(call.input(small));
  if (call.is_tiled(small)) row = py_in_layout(row, Layout::row_major);
  std::string text = emit::py_call(
      4, "x = ttnn.reshape(",
      {call.near_tiles(large), fmt::format("[{}, 1, {}, {}]", layer.groups, out.height / layer.groups, out.width)});
  text += emit::py_call(4, "row = ttnn.reshape(", {row, fmt::format("[{}, 1, 1, {}]", layer.groups, out.width)});
  std::vector<std::string> arguments{"x", py_in_layout("row", Layout::tile)};
  if (layer.first_is_small) std::swap(arguments[0], arguments[1]);
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.emplace_back("memory_config=x.memory_config()");
  text += emit::py_call(4, fmt::format("y = ttnn.{}(", call.op()), arguments);
  return text + call.assign("ttnn.reshape", {"y", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

std::string emit_binary(const BinaryLayer& layer, TtnnCall& call) {
  std::vector<std::string> more{fmt::format("dtype={}", py_dtype(call.result_dtype()))};
  if (layer.activation) more.push_back(fmt::format("activations=[{}]", py_function(*layer.activation)));
  if (layer.groups > 0) return emit_in_groups(layer, call, more);
  std::vector<std::string> operands;
  if (layer.constant) {
    std::string x = call.tiles(), other;
    const auto values = layer.constant->as<float>();
    if (values.size() == 1) {
      other = emit::py(double{values[0]});
    } else {
      const std::int64_t rows = layer.has_matrix() ? layer.constant->shape()[0] : 1;
      call.keep_weight(call.node() + ".constant", layer.constant,
                       {1, 1, rows, static_cast<std::int64_t>(values.size()) / rows});
      other = fmt::format("weights({}, ttnn.bfloat16)", emit::py(call.node() + ".constant"));
      more.push_back(fmt::format("memory_config={}.memory_config()", call.input()));
    }
    operands = layer.constant_first ? std::vector{other, x} : std::vector{x, other};
  } else {
    // Rows of a pool may lie in shards that are no whole tiles.
    for (std::size_t i = 0; i < call.inputs(); ++i) {
      const std::string x = call.input(i);
      operands.push_back(
          call.is_tiled(i) ? x : py_in_layout(call.place(i).memory.is_sharded() ? py_in_dram(x) : x, Layout::tile));
    }
    const Placement &a = call.place(0), &b = call.place(1);
    if (call.is_tiled(0) && call.is_tiled(1) && a.shape == b.shape && a.dtype == call.result_dtype() &&
        a.memory == b.memory && a.memory.is_l1() && call.may_consume()) {
      more.push_back(fmt::format("output_tensor={}", call.input()));
      call.in_place_of(0);
    }
  }
  operands.insert(operands.end(), more.begin(), more.end());
  return call.assign(fmt::format("ttnn.{}", call.op()), operands);
}

bool keeps_images(const BinaryLayer& layer) { return !layer.has_matrix() && layer.groups % layer.images == 0; }
void set_binary_images(BinaryLayer& layer, std::int64_t images) {
  layer.groups = layer.groups / layer.images * images;
  layer.images = images;
}
bool can_group_binary(const BinaryLayer& layer) { return !layer.has_matrix() && layer.groups == 0; }

void group_binary(BinaryLayer& layer, std::int64_t images) {
  if (!layer.constant || layer.constant->count() == 1) return;
  const Array flat = layer.constant->reshaped(Shape{layer.constant->count()});
  layer.constant = repeated(std::make_shared<const Array>(flat), images);
}

}  // namespace

const CardOp card_op_unary = {.kind = ProgramKind::unary,
                              .count = count_unary,
                              .lower = lower_unary,
                              .reads_flattened = true,
                              .any_columns = true,
                              .ttnn_name = on_layer<unary_name>,
                              .named_role = unary_role,
                              .digest = on_layer<unary_name>,
                              .run = on_layer<run_unary>,
                              .emit = on_layer<emit_unary>,
                              .can_group = always};
const CardOp card_op_binary = {.kind = ProgramKind::binary,
                               .count = count_binary,
                               .lower = lower_binary,
                               .any_columns = true,
                               .ttnn_name = on_layer<binary_name>,
                               .named_role = binary_role,
                               .digest = on_layer<binary_digest>,
                               .run = on_layer<run_binary>,
                               .emit = on_layer<emit_binary>,
                               .keeps_images_apart = on_layer<keeps_images>,
                               .set_images = on_layer<set_binary_images>,
                               .can_group = on_layer<can_group_binary>,
                               .group = on_layer<group_binary>};

const CardOp* UnaryLayer::op() const { return &card_op_unary; }
const CardOp* BinaryLayer::op() const { return &card_op_binary; }

}  // namespace tessera::tensix
