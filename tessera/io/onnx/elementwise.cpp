// Operators of two and more inputs that work element by element with broadcasting, and conversions.

#include "tessera/core/element_type_of.h"
#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/tensor.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

namespace tessera::onnx {
namespace {

using BinaryKind = Binary::Kind;

BinaryKind kind_of(NodeReader& node) {
  static const std::map<std::string_view, BinaryKind> kinds = {{"Add", BinaryKind::add},
                                                               {"And", BinaryKind::logical_and},
                                                               {"BitwiseAnd", BinaryKind::bit_and},
                                                               {"BitwiseOr", BinaryKind::bit_or},
                                                               {"BitwiseXor", BinaryKind::bit_xor},
                                                               {"Div", BinaryKind::div},
                                                               {"Equal", BinaryKind::equal},
                                                               {"Greater", BinaryKind::greater},
                                                               {"GreaterOrEqual", BinaryKind::greater_equal},
                                                               {"Less", BinaryKind::less},
                                                               {"LessOrEqual", BinaryKind::less_equal},
                                                               {"Mul", BinaryKind::mul},
                                                               {"Or", BinaryKind::logical_or},
                                                               {"PRelu", BinaryKind::prelu},
                                                               {"Pow", BinaryKind::pow},
                                                               {"Sub", BinaryKind::sub},
                                                               {"Xor", BinaryKind::logical_xor}};
  if (node.op_type() == "BitShift")
    return node.choice<BinaryKind>("direction", "",
                                   {{"LEFT", BinaryKind::shift_left}, {"RIGHT", BinaryKind::shift_right}});
  if (node.op_type() == "Mod") return node.flag("fmod", false) ? BinaryKind::fmod : BinaryKind::mod;
  return kinds.at(node.op_type());
}

// Before opset 7 the second operand could be laid along the first from `axis` on.
ValueId aligned_second(NodeReader& node, NodeBuilder& build) {
  node.ignore({"consumed_inputs"});
  const bool slopes = node.op_type() == "PRelu";  // one for each channel
  const bool broadcast = slopes || node.flag("broadcast", false);
  const auto axis = slopes ? (node.rank(1) == 1 && node.rank(0) > 1 ? std::optional<std::int64_t>(1) : std::nullopt)
                           : node.maybe_integer("axis");
  if (!broadcast || !axis) return node.input(1);
  const int rank = node.rank(0), second = node.rank(1);
  const int first = normalized_axis(*axis, rank, node.op_type());
  check(first + second <= rank, Code::parse, "axis {} leaves no room for an operand of rank {} in one of rank {}",
        *axis, second, rank);
  std::vector<std::int64_t> trailing;
  for (int i = second; i < rank - first; ++i) trailing.push_back(i);
  if (trailing.empty()) return node.input(1);
  return build.add(Unsqueeze{.axes = trailing}, {node.input(1)});
}

// It decides which neighbour a number becomes that is no power of 2; other types have no use for it.
void check_round_mode(NodeReader& node, ElementType to) {
  const std::string mode = node.text("round_mode", "up");
  check(mode == "up" || to != ElementType::float8_e8m0, Code::unsupported,
        "powers of 2 are rounded up here, round_mode is '{}'", mode);
}

}  // namespace

Values import_binary(NodeReader& node, NodeBuilder& build) {
  node.inputs(2, 2);
  const BinaryKind kind = kind_of(node);
  const ValueId second = node.opset() < 7 ? aligned_second(node, build) : node.input(1);
  return {build.add(Binary{kind}, {node.input(0), second})};
}

// Sum, Mean, Min and Max of any number of inputs.
Values import_variadic(NodeReader& node, NodeBuilder& build) {
  check(node.input_count() > 0, Code::parse, "at least one input is needed");
  if (node.opset() < 8) node.ignore({"consumed_inputs"});
  const std::string& name = node.op_type();
  const BinaryKind kind = name == "Min" ? BinaryKind::min : name == "Max" ? BinaryKind::max : BinaryKind::add;
  node.inputs(node.input_count(), node.input_count());
  ValueId out = node.input(0);
  for (std::size_t i = 1; i < node.input_count(); ++i) out = build.add(Binary{kind}, {out, node.input(i)});
  if (name == "Mean")
    out = build.add(Binary{BinaryKind::div},
                    {out, build.scalar(node.type(0).type, static_cast<double>(node.input_count()))});
  return {out};
}

Values import_clip(NodeReader& node, NodeBuilder& build) {
  const ElementType type = node.type(0).type;
  // In ONNX a bound that is left out is the largest finite number of the type: infinity does not pass.
  const auto otherwise = [&](bool high) {
    return visit_element_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) return kNoValue;
      const double most = std::is_same_v<T, double>     ? std::numeric_limits<double>::max()
                          : std::is_same_v<T, BFloat16> ? static_cast<double>(float_from_bfloat16(0x7f7f))
                          : std::is_same_v<T, Float16>  ? static_cast<double>(float_from_float16(0x7bff))
                                                        : static_cast<double>(std::numeric_limits<float>::max());
      return build.scalar(type, high ? most : -most);
    });
  };
  if (node.opset() >= 11) {
    Values inputs = node.inputs(1, 3);
    inputs.resize(3, kNoValue);
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
      if (inputs[i] == kNoValue) inputs[i] = otherwise(i == 2);
    return {build.add(Clip{}, inputs)};
  }
  node.ignore({"consumed_inputs"});
  node.inputs(1, 1);
  const auto low = node.maybe_real("min"), high = node.maybe_real("max");
  const auto bound = [&](const std::optional<float>& value, bool is_high) {
    return value ? build.scalar(type, static_cast<double>(*value)) : otherwise(is_high);
  };
  return {build.add(Clip{}, {node.input(0), bound(low, false), bound(high, true)})};
}

Values import_cast(NodeReader& node, NodeBuilder& build) {
  const ElementType to = checked_element_type(node.integer("to"), "the wanted type");
  check_round_mode(node, to);
  return {build.add(Cast{.to = to, .saturate = node.flag("saturate", true)}, node.inputs(1, 1))};
}

Values import_bit_cast(NodeReader& node, NodeBuilder& build) {
  return {build.add(Cast{.to = checked_element_type(node.integer("to"), "the wanted type"), .bits = true},
                    node.inputs(1, 1))};
}

Values import_cast_like(NodeReader& node, NodeBuilder& build) {
  check_round_mode(node, node.type(1).type);
  node.inputs(2, 2);
  return {build.add(Cast{.to = node.type(1).type, .saturate = node.flag("saturate", true)}, {node.input(0)})};
}

Values import_where(NodeReader& node, NodeBuilder& build) { return {build.add(Where{}, node.inputs(3, 3))}; }

}  // namespace tessera::onnx
