#include "bind.h"
#include "compute_config.h"
#include "gelu_variant.h"
#include "ttnn_enums.h"

#include "tessera/core/error.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// Names and numbers of the vector unit's functions as TTNN has them; those without a function of ours are not there.
struct NamedFunction {
  const char* ttnn;
  int number;
  const char* ours;
};
constexpr std::array kFunctions = {
    NamedFunction{"EXP", 0, "exp"},
    NamedFunction{"RECIP", 1, "reciprocal"},
    NamedFunction{"GELU", 2, "gelu"},
    NamedFunction{"GELU_TANH", 3, "gelu_tanh_unary"},
    NamedFunction{"RELU", 4, "relu"},
    NamedFunction{"SQRT", 5, "sqrt"},
    NamedFunction{"SIGMOID", 6, "sigmoid"},
    NamedFunction{"LOG", 7, "log"},
    NamedFunction{"LOG1P", 8, "log1p"},
    NamedFunction{"TANH", 9, "tanh"},
    NamedFunction{"LOG2", 10, "log2"},
    NamedFunction{"LOG10", 11, "log10"},
    NamedFunction{"SIN", 12, "sin"},
    NamedFunction{"COS", 13, "cos"},
    NamedFunction{"COSH", 14, "cosh"},
    NamedFunction{"SINH", 15, "sinh"},
    NamedFunction{"ABS", 16, "abs"},
    NamedFunction{"SIGN", 18, "sign"},
    NamedFunction{"SQUARE", 19, "square"},
    NamedFunction{"EQZ", 20, "eqz"},
    NamedFunction{"NEZ", 21, "nez"},
    NamedFunction{"GTZ", 22, "gtz"},
    NamedFunction{"LTZ", 23, "ltz"},
    NamedFunction{"GEZ", 24, "gez"},
    NamedFunction{"LEZ", 25, "lez"},
    NamedFunction{"RELU_MAX", 26, "relu_max"},
    NamedFunction{"RELU_MIN", 27, "relu_min"},
    NamedFunction{"POWER", 28, "power_unary"},
    NamedFunction{"POWER_ITERATIVE", 29, "power_unary"},
    NamedFunction{"LEAKY_RELU", 30, "leaky_relu"},
    NamedFunction{"ELU", 31, "elu"},
    NamedFunction{"EXP2", 32, "exp2"},
    NamedFunction{"HEAVISIDE", 33, "heaviside"},
    NamedFunction{"EXPM1", 34, "expm1"},
    NamedFunction{"SIGNBIT", 35, "signbit"},
    NamedFunction{"ASIN", 36, "asin"},
    NamedFunction{"ACOS", 37, "acos"},
    NamedFunction{"ACOSH", 38, "acosh"},
    NamedFunction{"RSQRT", 39, "rsqrt"},
    NamedFunction{"RELU6", 40, "relu6"},
    NamedFunction{"ATAN", 41, "atan"},
    NamedFunction{"ASINH", 42, "asinh"},
    NamedFunction{"ATANH", 43, "atanh"},
    NamedFunction{"ERF", 44, "erf"},
    NamedFunction{"ERFC", 45, "erfc"},
    NamedFunction{"ISINF", 46, "isinf"},
    NamedFunction{"ISPOSINF", 47, "isposinf"},
    NamedFunction{"ISNEGINF", 48, "isneginf"},
    NamedFunction{"ISNAN", 49, "isnan"},
    NamedFunction{"LOGICAL_NOT_UNARY", 50, "logical_not"},
    NamedFunction{"ISFINITE", 51, "isfinite"},
    NamedFunction{"ERFINV", 52, "erfinv"},
    NamedFunction{"I0", 53, "i0"},
    NamedFunction{"I1", 54, "i1"},
    NamedFunction{"TAN", 55, "tan"},
    NamedFunction{"RSUB", 56, "rsub_unary"},
    NamedFunction{"RDIV", 57, "rdiv_unary"},
    NamedFunction{"SILU", 58, "silu"},
    NamedFunction{"SOFTPLUS", 59, "softplus"},
    NamedFunction{"IDENTITY", 60, "identity"},
    NamedFunction{"NEG", 61, "neg"},
    NamedFunction{"ADD_UNARY_SFPU", 62, "add_unary"},
    NamedFunction{"SUB_UNARY_SFPU", 63, "sub_unary"},
    NamedFunction{"MUL_UNARY_SFPU", 64, "mul_unary"},
    NamedFunction{"DIV_UNARY_SFPU", 65, "div_unary"},
    NamedFunction{"UNARY_NE", 66, "ne_unary"},
    NamedFunction{"UNARY_EQ", 67, "eq_unary"},
    NamedFunction{"UNARY_GT", 68, "gt_unary"},
    NamedFunction{"UNARY_LT", 69, "lt_unary"},
    NamedFunction{"UNARY_GE", 70, "ge_unary"},
    NamedFunction{"UNARY_LE", 71, "le_unary"},
    NamedFunction{"BITWISE_NOT", 76, "bitwise_not"},
    NamedFunction{"FLOOR", 80, "floor"},
    NamedFunction{"CEIL", 81, "ceil"},
    NamedFunction{"TRUNC", 82, "trunc"},
    NamedFunction{"FRAC", 83, "frac"},
    NamedFunction{"ROUND", 84, "round"},
    NamedFunction{"REMAINDER", 86, "remainder_unary"},
    NamedFunction{"FMOD", 87, "fmod_unary"},
    NamedFunction{"FILL", 89, "fill"},
    NamedFunction{"PRELU_SFPU", 90, "prelu_unary"},
    NamedFunction{"MISH", 93, "mish"},
    NamedFunction{"HARDMISH", 94, "hardmish"},
    NamedFunction{"MAXIMUM", 95, "maximum_unary"},
    NamedFunction{"MINIMUM", 96, "minimum_unary"},
    NamedFunction{"TANHSHRINK", 97, "tanhshrink"},
    NamedFunction{"THRESHOLD", 98, "threshold"},
    NamedFunction{"SOFTSHRINK", 99, "softshrink"},
    NamedFunction{"HARDSHRINK", 100, "hardshrink"},
    NamedFunction{"HARDTANH", 101, "hardtanh"},
    NamedFunction{"HARDSIGMOID", 102, "hardsigmoid"},
    NamedFunction{"HARDSWISH", 103, "hardswish"},
    NamedFunction{"SOFTSIGN", 106, "softsign"},
    NamedFunction{"CELU", 107, "celu"},
    NamedFunction{"CLAMP_TSS", 108, "clamp"},
    NamedFunction{"SELU", 109, "selu"},
    NamedFunction{"RPOW", 110, "rpow"},
    NamedFunction{"CBRT", 111, "cbrt"},
    NamedFunction{"LOGSIGMOID", 112, "log_sigmoid"},
    NamedFunction{"LOGIT", 113, "logit"},
    NamedFunction{"XIELU", 114, "xielu"},
    NamedFunction{"LGAMMA", 115, "lgamma"},
    NamedFunction{"DIGAMMA", 116, "digamma"},
    NamedFunction{"POLYGAMMA", 117, "polygamma"},
    NamedFunction{"SOFTCAP", 118, "softcap"},
};
enum class TtnnUnaryOp : std::uint8_t {};

const char* our_name(TtnnUnaryOp op) {
  const auto* found = std::ranges::find(kFunctions, static_cast<int>(op), &NamedFunction::number);
  check(found != kFunctions.end(), Code::not_found, "UnaryOpType {} is not there", static_cast<int>(op));
  return found->ours;
}

KernelConfig kernel_config(TtnnMathFidelity fidelity, bool approx, bool fp32, bool l1, bool full_sync, int throttle) {
  constexpr int kMostThrottle = 5;
  check(throttle >= 0 && throttle <= kMostThrottle, Code::invalid_argument, "throttle_level {} is not 0 to {}",
        throttle, kMostThrottle);
  return {fidelity, approx, fp32, l1, full_sync, throttle};
}

void bind_functions(nb::module_& module) {
  nb::enum_<TtnnUnaryOp> ops(module, "UnaryOpType");
  for (const NamedFunction& f : kFunctions) ops.value(f.ttnn, static_cast<TtnnUnaryOp>(f.number));
  nb::class_<UnaryWithParam>(module, "UnaryWithParam", "A function of the vector unit with its parameters.")
      .def(
          "__init__",
          [](UnaryWithParam* self, TtnnUnaryOp op, const nb::args& parameters) {
            std::vector<float> values;
            for (const nb::handle& p : parameters) values.push_back(nb::cast<float>(p));
            new (self) UnaryWithParam{tensix::vector_function(our_name(op), values), static_cast<int>(op), values};
          },
          "op_type"_a, "parameters"_a, nb::sig("def __init__(self, op_type: UnaryOpType, *parameters: float) -> None"))
      .def("__init__",
           [](UnaryWithParam* self, const nb::typed<nb::tuple, nb::any, nb::ellipsis>& pair) {
             check(pair.size() >= 1, Code::invalid_argument, "UnaryWithParam: an empty tuple names no function");
             std::vector<float> values;
             for (std::size_t i = 1; i < pair.size(); ++i) values.push_back(nb::cast<float>(pair[i]));
             const auto op = nb::cast<TtnnUnaryOp>(pair[0]);
             new (self) UnaryWithParam{tensix::vector_function(our_name(op), values), static_cast<int>(op), values};
           })
      .def_prop_ro("op_type", [](const UnaryWithParam& self) { return static_cast<TtnnUnaryOp>(self.op_type); })
      .def_prop_ro("params", [](const UnaryWithParam& self) { return self.parameters; })
      .def("__repr__", [](const UnaryWithParam& self) { return "UnaryWithParam(" + self.function.name + ")"; });
}

}  // namespace

tensix::ComputeConfig plain(const KernelConfig& c) {
  const tensix::MathFidelity fidelity = c.math_fidelity == TtnnMathFidelity::HiFi2   ? tensix::MathFidelity::hifi2
                                        : c.math_fidelity == TtnnMathFidelity::HiFi3 ? tensix::MathFidelity::hifi3
                                        : c.math_fidelity == TtnnMathFidelity::HiFi4 ? tensix::MathFidelity::hifi4
                                                                                     : tensix::MathFidelity::lofi;
  return {fidelity, c.math_approx_mode, c.fp32_dest_acc_en, c.packer_l1_acc, c.dst_full_sync_en};
}

std::optional<tensix::ComputeConfig> plain(const std::optional<KernelConfig>& config) {
  return config ? std::optional(plain(*config)) : std::nullopt;
}

tensix::VectorFunction function_of(const nb::handle& value, bool names) {
  if (nb::isinstance<UnaryWithParam>(value)) return nb::cast<UnaryWithParam>(value).function;
  if (nb::isinstance<TtnnUnaryOp>(value)) return tensix::vector_function(our_name(nb::cast<TtnnUnaryOp>(value)));
  if (names && nb::isinstance<nb::str>(value)) return tensix::vector_function(nb::cast<std::string>(value));
  throw nb::type_error("an activation is a ttnn.UnaryWithParam or a ttnn.UnaryOpType");
}

std::vector<tensix::VectorFunction> functions_of(const nb::object& sequence) {
  std::vector<tensix::VectorFunction> out;
  if (sequence.is_none()) return out;
  for (const nb::handle& each : sequence) out.push_back(function_of(each, false));
  return out;
}

void bind_compute_config(nb::module_& module) {
  nb::enum_<TtnnMathFidelity>(module, "MathFidelity")
      .value("LoFi", TtnnMathFidelity::LoFi)
      .value("HiFi2", TtnnMathFidelity::HiFi2)
      .value("HiFi3", TtnnMathFidelity::HiFi3)
      .value("HiFi4", TtnnMathFidelity::HiFi4)
      .value("Invalid", TtnnMathFidelity::Invalid);
  nb::class_<KernelConfig>(module, "WormholeComputeKernelConfig", "How exactly the matrix engine computes.")
      .def(
          "__init__",
          [](KernelConfig* self, TtnnMathFidelity fidelity, bool approx, bool fp32, bool l1, bool full_sync,
             int throttle) { new (self) KernelConfig(kernel_config(fidelity, approx, fp32, l1, full_sync, throttle)); },
          nb::kw_only(), "math_fidelity"_a = TtnnMathFidelity::Invalid, "math_approx_mode"_a = true,
          "fp32_dest_acc_en"_a = false, "packer_l1_acc"_a = false, "dst_full_sync_en"_a = false, "throttle_level"_a = 0)
      .def_rw("throttle_level", &KernelConfig::throttle_level)
      .def_rw("math_fidelity", &KernelConfig::math_fidelity)
      .def_rw("math_approx_mode", &KernelConfig::math_approx_mode)
      .def_rw("fp32_dest_acc_en", &KernelConfig::fp32_dest_acc_en)
      .def_rw("packer_l1_acc", &KernelConfig::packer_l1_acc)
      .def_rw("dst_full_sync_en", &KernelConfig::dst_full_sync_en)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
  module.def(
      "init_device_compute_kernel_config",
      [](TtnnArch arch, const std::optional<KernelConfig>& given, TtnnMathFidelity fidelity, bool approx, bool fp32,
         bool l1, bool full_sync, int throttle) {
        static_cast<void>(arch);  // both generations have the same settings
        return given.value_or(kernel_config(fidelity, approx, fp32, l1, full_sync, throttle));
      },
      "arch"_a, "device_kernel_config"_a = nb::none(), nb::kw_only(), "math_fidelity"_a = TtnnMathFidelity::LoFi,
      "math_approx_mode"_a = true, "fp32_dest_acc_en"_a = false, "packer_l1_acc"_a = false,
      "dst_full_sync_en"_a = false, "throttle_level"_a = 0,
      "A config of the given settings; one that is given already comes back as it is.");
  nb::enum_<GeluVariant>(module, "GeluVariant", "Which gelu: by erf, the same from a table, or by tanh.")
      .value("Accurate", GeluVariant::Accurate)
      .value("FastLut", GeluVariant::FastLut)
      .value("Tanh", GeluVariant::Tanh);
  bind_functions(module);
}

}  // namespace tessera::python
