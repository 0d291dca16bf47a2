// Operators that work element by element.

#include "tessera/core/element_type_of.h"
#include "tessera/io/onnx/internal/tensor.h"
#include "tessera/io/onnx/internal/writers.h"

#include <limits>
#include <type_traits>

namespace tessera::onnx {
namespace {

using U = Unary::Kind;
using B = Binary::Kind;

// Those without attributes; "" for the others.
std::string_view plain_name(U kind) {
  switch (kind) {
    case U::abs: return "Abs";
    case U::acos: return "Acos";
    case U::acosh: return "Acosh";
    case U::asin: return "Asin";
    case U::asinh: return "Asinh";
    case U::atan: return "Atan";
    case U::atanh: return "Atanh";
    case U::bitwise_not: return "BitwiseNot";
    case U::ceil: return "Ceil";
    case U::cos: return "Cos";
    case U::cosh: return "Cosh";
    case U::erf: return "Erf";
    case U::exp: return "Exp";
    case U::floor: return "Floor";
    case U::hard_swish: return "HardSwish";
    case U::identity: return "Identity";
    case U::is_nan: return "IsNaN";
    case U::log: return "Log";
    case U::logical_not: return "Not";
    case U::mish: return "Mish";
    case U::neg: return "Neg";
    case U::reciprocal: return "Reciprocal";
    case U::relu: return "Relu";
    case U::round: return "Round";
    case U::sigmoid: return "Sigmoid";
    case U::sign: return "Sign";
    case U::sin: return "Sin";
    case U::sinh: return "Sinh";
    case U::softplus: return "Softplus";
    case U::softsign: return "Softsign";
    case U::sqrt: return "Sqrt";
    case U::tan: return "Tan";
    case U::tanh: return "Tanh";
    case U::celu:
    case U::elu:
    case U::gelu:
    case U::gelu_tanh:
    case U::hard_sigmoid:
    case U::is_inf:
    case U::leaky_relu:
    case U::selu:
    case U::shrink:
    case U::silu:
    case U::thresholded_relu: return "";
  }
  return "";
}

// x * sigmoid(alpha * x): no opset that is written has it whole.
void write_silu(const Unary& op, NodeWriter& out) {
  std::string scaled = out.input(0);
  if (op.alpha != 0 && op.alpha != 1) {
    scaled = out.between("scaled");
    out.add("Mul", {out.input(0), out.scalar("alpha", out.type(0).type, static_cast<double>(op.alpha))}, {scaled});
  }
  const std::string gate = out.between("gate");
  out.add("Sigmoid", {scaled}, {gate});
  out.add("Mul", {out.input(0), gate});
}

std::string_view binary_name(B kind) {
  switch (kind) {
    case B::add: return "Add";
    case B::sub: return "Sub";
    case B::mul: return "Mul";
    case B::div: return "Div";
    case B::pow: return "Pow";
    case B::min: return "Min";
    case B::max: return "Max";
    case B::mod:
    case B::fmod: return "Mod";
    case B::logical_and: return "And";
    case B::logical_or: return "Or";
    case B::logical_xor: return "Xor";
    case B::bit_and: return "BitwiseAnd";
    case B::bit_or: return "BitwiseOr";
    case B::bit_xor: return "BitwiseXor";
    case B::shift_left:
    case B::shift_right: return "BitShift";
    case B::equal: return "Equal";
    case B::less: return "Less";
    case B::less_equal: return "LessOrEqual";
    case B::greater: return "Greater";
    case B::greater_equal: return "GreaterOrEqual";
    case B::prelu: return "PRelu";
  }
  return "";
}

}  // namespace

void write(const Unary& op, NodeWriter& out) {
  if (const std::string_view name = plain_name(op.kind); !name.empty()) {
    if (op.kind == U::mish || op.kind == U::bitwise_not) out.need_opset(18, name);
    out.add(name);
    return;
  }
  switch (op.kind) {
    case U::celu: out.add("Celu").real("alpha", op.alpha); return;
    case U::elu: out.add("Elu").real("alpha", op.alpha); return;
    case U::gelu:
    case U::gelu_tanh:
      out.need_opset(20, "Gelu");
      out.add("Gelu").text("approximate", op.kind == U::gelu ? "none" : "tanh", "none");
      return;
    case U::hard_sigmoid: out.add("HardSigmoid").real("alpha", op.alpha).real("beta", op.beta); return;
    case U::is_inf:
      if (element_bytes(out.type(0).type) < 4) out.need_opset(20, fmt::format("IsInf of {}", name(out.type(0).type)));
      out.add("IsInf").integer("detect_negative", op.alpha != 0, 1).integer("detect_positive", op.beta != 0, 1);
      return;
    case U::leaky_relu: out.add("LeakyRelu").real("alpha", op.alpha); return;
    case U::selu: out.add("Selu").real("alpha", op.alpha).real("gamma", op.beta); return;
    case U::shrink: out.add("Shrink").real("lambd", op.alpha).real("bias", op.beta); return;
    case U::silu: write_silu(op, out); return;
    case U::thresholded_relu: out.add("ThresholdedRelu").real("alpha", op.alpha); return;
    default: out.refuse("no name in ONNX is known for this kind");
  }
}

void write(const Binary& op, NodeWriter& out) {
  const std::string_view name = binary_name(op.kind);
  if (name.starts_with("Bitwise")) out.need_opset(18, name);
  NodeAttributes attributes = out.add(name);
  if (op.kind == B::fmod) attributes.integer("fmod", 1);
  if (name == "BitShift") attributes.text("direction", op.kind == B::shift_left ? "LEFT" : "RIGHT");
}

void write(const Clip&, NodeWriter& out) {
  const ElementType type = out.type(0).type;
  Names inputs = out.inputs();
  // Without a bound everything passes here; ONNX would stop at the largest finite number.
  const bool floating =
      visit_element_type(type, [](auto tag) { return !std::is_integral_v<typename decltype(tag)::type>; });
  if (floating) {
    inputs.resize(3);
    if (inputs[1].empty()) inputs[1] = out.scalar("low", type, -std::numeric_limits<double>::infinity());
    if (inputs[2].empty()) inputs[2] = out.scalar("high", type, std::numeric_limits<double>::infinity());
  }
  out.add("Clip", std::move(inputs));
}

void write(const Cast& op, NodeWriter& out) {
  if (op.bits) out.refuse("BitCast is known from opset 26 on");
  NodeAttributes attributes = out.add("Cast").integer("to", data_type(op.to));
  if (out.opset() >= 19) attributes.integer("saturate", op.saturate, 1);  // before, there was nothing it could change
}

void write(const Where&, NodeWriter& out) { out.add("Where"); }

void write(const Dropout& op, NodeWriter& out) { out.add("Dropout").integer("seed", op.seed, 0); }

void write(const Softmax& op, NodeWriter& out) {
  const std::string_view name = op.log ? "LogSoftmax" : "Softmax";
  if (!op.flatten) {
    out.add(name).integer("axis", op.axis, -1);
    return;
  }
  const std::string rows = out.between("rows"), softened = out.between("softened"), shape = out.between("shape");
  out.add("Flatten", {out.input(0)}, {rows}).integer("axis", op.axis, 1);
  out.add(name, {rows}, {softened});
  out.add("Shape", {out.input(0)}, {shape});
  out.add("Reshape", {softened, shape});
}

}  // namespace tessera::onnx
