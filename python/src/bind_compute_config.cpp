#include "bind.h"
#include "compute_config.h"
#include "ttnn_enums.h"

#include "tessera/core/error.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <string_view>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// Names of the vector unit's functions as TTNN spells and numbers them; those without a number of ours are not there.
struct NamedFunction {
  const char* ttnn;
  const char* ours;
};
constexpr std::array kFunctions = {
    NamedFunction{"EXP", "exp"},
    NamedFunction{"RECIP", "reciprocal"},
    NamedFunction{"GELU", "gelu"},
    NamedFunction{"RELU", "relu"},
    NamedFunction{"SQRT", "sqrt"},
    NamedFunction{"SIGMOID", "sigmoid"},
    NamedFunction{"LOG", "log"},
    NamedFunction{"TANH", "tanh"},
    NamedFunction{"ABS", "abs"},
    NamedFunction{"SQUARE", "square"},
    NamedFunction{"RELU_MAX", "relu_max"},
    NamedFunction{"LEAKY_RELU", "leaky_relu"},
    NamedFunction{"ELU", "elu"},
    NamedFunction{"RSQRT", "rsqrt"},
    NamedFunction{"RELU6", "relu6"},
    NamedFunction{"SILU", "silu"},
    NamedFunction{"SOFTPLUS", "softplus"},
    NamedFunction{"IDENTITY", "identity"},
    NamedFunction{"NEG", "neg"},
    NamedFunction{"MISH", "mish"},
    NamedFunction{"HARDSIGMOID", "hardsigmoid"},
    NamedFunction{"HARDSWISH", "hardswish"},
    NamedFunction{"CLAMP_TSS", "clamp"},
};
enum class TtnnUnaryOp : std::uint8_t {};

const char* our_name(TtnnUnaryOp op) { return kFunctions[static_cast<std::size_t>(op)].ours; }

KernelConfig kernel_config(TtnnMathFidelity fidelity, bool approx, bool fp32, bool l1, bool full_sync) {
  return {fidelity, approx, fp32, l1, full_sync};
}

void bind_functions(nb::module_& module) {
  nb::enum_<TtnnUnaryOp> ops(module, "UnaryOpType");
  for (std::size_t i = 0; i < kFunctions.size(); ++i) ops.value(kFunctions[i].ttnn, static_cast<TtnnUnaryOp>(i));
  nb::class_<UnaryWithParam>(module, "UnaryWithParam", "A function of the vector unit with its parameters.")
      .def(
          "__init__",
          [](UnaryWithParam* self, TtnnUnaryOp op, const nb::args& parameters) {
            std::vector<float> values;
            for (const nb::handle& p : parameters) values.push_back(nb::cast<float>(p));
            new (self) UnaryWithParam{tensix::vector_function(our_name(op), values)};
          },
          "op_type"_a, "parameters"_a, nb::sig("def __init__(self, op_type: UnaryOpType, *parameters: float) -> None"))
      .def("__init__",
           [](UnaryWithParam* self, const nb::typed<nb::tuple, nb::any, nb::ellipsis>& pair) {
             check(pair.size() >= 1, Code::invalid_argument, "UnaryWithParam: an empty tuple names no function");
             std::vector<float> values;
             for (std::size_t i = 1; i < pair.size(); ++i) values.push_back(nb::cast<float>(pair[i]));
             new (self) UnaryWithParam{tensix::vector_function(our_name(nb::cast<TtnnUnaryOp>(pair[0])), values)};
           })
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
             const nb::object&) { new (self) KernelConfig(kernel_config(fidelity, approx, fp32, l1, full_sync)); },
          nb::kw_only(), "math_fidelity"_a = TtnnMathFidelity::Invalid, "math_approx_mode"_a = true,
          "fp32_dest_acc_en"_a = false, "packer_l1_acc"_a = false, "dst_full_sync_en"_a = false,
          "throttle_level"_a = nb::none())
      .def_rw("math_fidelity", &KernelConfig::math_fidelity)
      .def_rw("math_approx_mode", &KernelConfig::math_approx_mode)
      .def_rw("fp32_dest_acc_en", &KernelConfig::fp32_dest_acc_en)
      .def_rw("packer_l1_acc", &KernelConfig::packer_l1_acc)
      .def_rw("dst_full_sync_en", &KernelConfig::dst_full_sync_en)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
  module.def(
      "init_device_compute_kernel_config",
      [](const nb::object&, const std::optional<KernelConfig>& given, TtnnMathFidelity fidelity, bool approx, bool fp32,
         bool l1, bool full_sync,
         const nb::object&) { return given.value_or(kernel_config(fidelity, approx, fp32, l1, full_sync)); },
      "arch"_a, "device_kernel_config"_a = nb::none(), nb::kw_only(), "math_fidelity"_a = TtnnMathFidelity::LoFi,
      "math_approx_mode"_a = true, "fp32_dest_acc_en"_a = false, "packer_l1_acc"_a = false,
      "dst_full_sync_en"_a = false, "throttle_level"_a = nb::none(),
      "A config of the given settings; one that is given already comes back as it is.");
  bind_functions(module);
}

}  // namespace tessera::python
