#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_layer.h"
#include "tessera/targets/tensix/ops/elementwise/graph_function.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
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

Lowered with_activation(BinaryLayer layer, const Node& node, Lowering& graph) {
  layer.activation = graph.take_activation(node, false);
  return CardLayer(std::move(layer));
}

std::optional<Lowered> lower_binary(const Node& node, Lowering& graph) {
  const auto* arithmetic = std::get_if<Binary>(&node.op);
  if (arithmetic == nullptr) return std::nullopt;
  const Binary& op = *arithmetic;
  if (std::ranges::find(kCardBinaries, op.kind) == kCardBinaries.end())
    return Refusal{"the card's element-wise operators are add, sub, mul, div, min and max", ""};
  BinaryLayer layer{op.kind, {}, nullptr, false};
  const Shape out = graph.shape(node.outputs[0]);
  const Constant a = graph.constant(node, 0), b = graph.constant(node, 1);
  if (a || b) {
    layer.constant = a ? a : b;
    layer.constant_first = a != nullptr;
    const ValueId operand = node.inputs[a ? 1 : 0];
    const Shape& c = layer.constant->shape();
    // One for each channel: N C H W with C alone.
    bool channels = layer.constant->count() == out[1] && c.rank() <= out.rank();
    for (int d = 1; channels && d <= c.rank(); ++d) channels = c[c.rank() - d] == (out.rank() - d == 1 ? out[1] : 1);
    if (graph.shape(operand) != out || layer.constant->type() != ElementType::float32 ||
        (layer.constant->count() != 1 && !channels))
      return Refusal{
          fmt::format("its constant of shape {} is neither a number nor one for each channel", c.to_string()), ""};
    return with_activation(std::move(layer), node, graph);
  }
  const Shape x = graph.shape(node.inputs[0]), y = graph.shape(node.inputs[1]);
  const auto fits = [&](const Shape& s) {
    if (s == out) return true;
    // A row for all pixels of the one image that there is.
    return s.rank() == out.rank() && out[0] == 1 && s[1] == out[1] && s.volume() == s[1];
  };
  if (!fits(x) || !fits(y))
    return Refusal{fmt::format("shapes {} and {} are broadcast", x.to_string(), y.to_string()),
                   out.rank() > 1 && out[0] > 1 ? "with a batch of 1 a value for each channel can be"
                                                : "a value for each channel can be"};
  return with_activation(std::move(layer), node, graph);
}

std::string binary_name(const BinaryLayer& layer) { return std::string(op_name(layer.kind)); }

std::optional<CallRole> binary_role(std::string_view name) {
  for (const Binary::Kind kind : kCardBinaries)
    if (op_name(kind) == name) return kind == Binary::Kind::mul ? CallRole::scales : CallRole::computes;
  return std::nullopt;
}

std::string binary_digest(const BinaryLayer& b) {
  return fmt::format("{}{}{}", b.activation ? b.activation->name : "",
                     b.constant ? fmt::format(" constant {}", b.constant->count()) : "",
                     b.constant_first ? " first" : "");
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
  const DeviceTensor row = node.send_row(values, DType::bfloat16);
  const auto add = [&](const DeviceTensor& x) {
    BinaryOptions inner = o;
    inner.memory_config = x.spec().memory_config();
    return layer.constant_first ? binary(layer.kind, row, x, inner) : binary(layer.kind, x, row, inner);
  };
  return node.near_or_far([&] { return add(in_tiles(node.input())); },
                          [&] { return add(in_tiles(in_dram(node.input()))); });
}

DeviceTensor run_binary(const BinaryLayer& layer, NodeRun& node) {
  BinaryOptions o;
  o.dtype = node.result_dtype();
  if (layer.activation) o.activations.push_back(*layer.activation);
  if (layer.constant) return run_with_constant(layer, node, o);
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

std::string emit_binary(const BinaryLayer& layer, TtnnCall& call) {
  std::vector<std::string> more{fmt::format("dtype={}", py_dtype(call.result_dtype()))};
  if (layer.activation) more.push_back(fmt::format("activations=[{}]", py_function(*layer.activation)));
  std::vector<std::string> operands;
  if (layer.constant) {
    std::string x = call.tiles(), other;
    const auto values = layer.constant->as<float>();
    if (values.size() == 1) {
      other = emit::py(double{values[0]});
    } else {
      call.keep_weight(call.node() + ".constant", layer.constant, {1, 1, 1, static_cast<std::int64_t>(values.size())});
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
                              .ttnn_name = on_layer<unary_name>,
                              .named_role = unary_role,
                              .digest = on_layer<unary_name>,
                              .run = on_layer<run_unary>,
                              .emit = on_layer<emit_unary>,
                              .can_group = always};
const CardOp card_op_binary = {.kind = ProgramKind::binary,
                               .count = count_binary,
                               .lower = lower_binary,
                               .ttnn_name = on_layer<binary_name>,
                               .named_role = binary_role,
                               .digest = on_layer<binary_digest>,
                               .run = on_layer<run_binary>,
                               .emit = on_layer<emit_binary>,
                               .can_group = always,
                               .group = on_layer<group_binary>};

const CardOp* UnaryLayer::op() const { return &card_op_unary; }
const CardOp* BinaryLayer::op() const { return &card_op_binary; }

}  // namespace tessera::tensix
