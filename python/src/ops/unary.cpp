// Functions of one number: those of vector_functions.def by a loop, the older ones by name.

#include "card_operators.h"
#include "gelu_variant.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::VectorFunction;

enum class SigmoidMode : std::uint8_t { FastApproximate, AccurateWithFastExp, Accurate };

AnyTensor apply(const std::string& op, const VectorFunction& f, const AnyTensor& x, const OptionalConfig& config,
                const OptionalTensor& output, const OptionalCores& cores) {
  return AnyTensor(
      tensix::unary(op, std::span(&f, 1), x.device(op), {config, device_tensor(output, "the output tensor"), cores}));
}

void bind_plain(nb::module_& module, const std::string& op) {
  module.def(
      op.c_str(),
      [op](const AnyTensor& x, const OptionalConfig& config, const OptionalTensor& output, const OptionalCores& cores) {
        return apply(op, tensix::vector_function(op), x, config, output, cores);
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
}

// TTNN can approximate them. The values here are those of the accurate mode in both.
void bind_approximated(nb::module_& module, const std::string& op) {
  module.def(
      op.c_str(),
      [op](const AnyTensor& x, bool, const OptionalConfig& config, const OptionalTensor& output,
           const OptionalCores& cores) { return apply(op, tensix::vector_function(op), x, config, output, cores); },
      "input_tensor"_a, nb::kw_only(), "fast_and_approximate_mode"_a = false, "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
}

// A parameter that must be given stands behind the tensor; one that need not be is named.
void bind_with_parameter(nb::module_& module, const std::string& op, const char* name, double fallback) {
  const auto call = [op](const AnyTensor& x, double p, const OptionalConfig& config, const OptionalTensor& output,
                         const OptionalCores& cores) {
    VectorFunction f = tensix::vector_function(op, std::array{static_cast<float>(p)});
    if (is_integer(x.dtype())) f.parameters[0] = p;  // integers meet it as it is
    return apply(op, f, x, config, output, cores);
  };
  if (std::isnan(fallback))
    module.def(op.c_str(), call, "input_tensor"_a, nb::arg(name), nb::kw_only(), "memory_config"_a = nb::none(),
               "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  else
    module.def(op.c_str(), call, "input_tensor"_a, nb::kw_only(), nb::arg(name) = static_cast<float>(fallback),
               "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
}

void bind_with_parameters(nb::module_& module, const std::string& op, const tensix::VectorParameter& p,
                          const tensix::VectorParameter& q) {
  const auto call = [op](const AnyTensor& x, float first, float second, const OptionalConfig& config,
                         const OptionalTensor& output, const OptionalCores& cores) {
    return apply(op, tensix::vector_function(op, std::array{first, second}), x, config, output, cores);
  };
  const std::string first(p.name), second(q.name);
  if (std::isnan(p.fallback))
    module.def(op.c_str(), call, "input_tensor"_a, nb::arg(first.c_str()), nb::arg(second.c_str()), nb::kw_only(),
               "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  else
    module.def(op.c_str(), call, "input_tensor"_a, nb::kw_only(),
               nb::arg(first.c_str()) = static_cast<float>(p.fallback),
               nb::arg(second.c_str()) = static_cast<float>(q.fallback), "memory_config"_a = nb::none(),
               "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
}

using OptionalBound = std::optional<std::variant<std::int64_t, double>>;
using OptionalBoundTensor = std::optional<AnyTensor>;

double number(const OptionalBound& bound, double otherwise) {
  if (!bound) return otherwise;
  return std::visit([](auto v) { return static_cast<double>(v); }, *bound);
}

// Integers between fractions become float32, as TTNN converts them.
AnyTensor clamped(const AnyTensor& x, const OptionalBound& low, const OptionalBound& high, const OptionalConfig& config,
                  const OptionalTensor& output) {
  check(low || high, Code::invalid_argument, "clamp: min or max must be given");
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const VectorFunction f = tensix::clamp_function(number(low, -kAny), number(high, kAny));
  const auto whole = [](const OptionalBound& b) { return b && std::holds_alternative<std::int64_t>(*b); };
  if (x.dtype() == DType::int32 && !whole(low) && !whole(high))
    return apply("clamp", f, AnyTensor(tensix::typecast(x.device("clamp"), DType::float32, config)), config, output,
                 std::nullopt);
  return apply("clamp", f, x, config, output, std::nullopt);
}

AnyTensor clamped_by_tensors(const AnyTensor& x, const OptionalBoundTensor& low, const OptionalBoundTensor& high,
                             const OptionalConfig& config, const OptionalTensor& output) {
  check(low || high, Code::invalid_argument, "clamp: min or max must be given");
  tensix::DeviceTensor y = x.device("clamp");
  const auto step = [&](const char* function, const OptionalBoundTensor& bound, bool last) {
    if (!bound) return;
    tensix::BinaryOptions options;
    options.memory_config = config;
    if (last) options.output = device_tensor(output, "the output tensor");
    y = tensix::binary(tensix::binary_function(function), y, bound->device("clamp"), options);
  };
  step("maximum", low, !high.has_value());
  step("minimum", high, true);
  return AnyTensor(y);
}

void bind_clamp(nb::module_& module, const char* op) {
  module.def(op, &clamped, "input_tensor"_a, "min"_a = nb::none(), "max"_a = nb::none(), nb::kw_only(),
             "memory_config"_a = nb::none(), "output_tensor"_a = nb::none());
  module.def(op, &clamped_by_tensors, "input_tensor"_a, "min"_a = nb::none(), "max"_a = nb::none(), nb::kw_only(),
             "memory_config"_a = nb::none(), "output_tensor"_a = nb::none());
}

void bind_gelu(nb::module_& module) {
  module.def(
      "gelu",
      [](const AnyTensor& x, GeluVariant variant, const OptionalConfig& config, const OptionalTensor& output,
         const OptionalCores& cores) {
        const char* function = variant == GeluVariant::Tanh ? "gelu_tanh_unary" : "gelu";
        return apply("gelu", tensix::vector_function(function), x, config, output, cores);
      },
      "input_tensor"_a, nb::kw_only(), "variant"_a = GeluVariant::Accurate, "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  bind_approximated(module, "gelu");
}

std::vector<std::string> bind_unary(nb::module_& module) {
  bind_gelu(module);
  nb::enum_<SigmoidMode>(module, "SigmoidMode",
                         "How sigmoid is computed. Values here are the accurate ones in all modes.")
      .value("FastApproximate", SigmoidMode::FastApproximate)
      .value("AccurateWithFastExp", SigmoidMode::AccurateWithFastExp)
      .value("Accurate", SigmoidMode::Accurate);
  std::vector<std::string> names{"sigmoid", "leaky_relu", "elu", "relu_max", "clamp", "clip", "gelu"};
  for (const char* op : {"relu", "relu6", "silu", "swish", "hardswish", "hardsigmoid", "square", "neg", "abs",
                         "reciprocal", "identity"}) {
    bind_plain(module, op);
    names.emplace_back(op);
  }
  for (const char* op : {"exp", "tanh", "sqrt", "rsqrt", "log", "mish"}) {
    bind_approximated(module, op);
    names.emplace_back(op);
  }
  module.def(
      "sigmoid",
      [](const AnyTensor& x, int columns, SigmoidMode mode, const OptionalConfig& config, const OptionalTensor& output,
         const OptionalCores& cores) {
        // Which parts of a tile must be right, and how they are approximated: all of them are, exactly.
        check(columns == 1 || columns == 2 || columns == 4, Code::invalid_argument,
              "sigmoid: vector_mode {} is not 1 (rows), 2 (columns) or 4 (both)", columns);
        static_cast<void>(mode);
        return apply("sigmoid", tensix::vector_function("sigmoid"), x, config, output, cores);
      },
      "input_tensor"_a, nb::kw_only(), "vector_mode"_a = 4, "mode"_a = SigmoidMode::Accurate,
      "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  constexpr double kGiven = std::numeric_limits<double>::quiet_NaN();
  bind_with_parameter(module, "leaky_relu", "negative_slope", kGiven);
  bind_with_parameter(module, "elu", "alpha", 1);
  bind_with_parameter(module, "relu_max", "upper_limit", kGiven);
  bind_clamp(module, "clamp");
  bind_clamp(module, "clip");
  for (const tensix::VectorFunctionRow& row : tensix::vector_function_rows()) {
    const std::string op(row.name);
    if (op.ends_with("_unary")) continue;  // fused only
    names.push_back(op);
    if (row.parameters.size() == 1)
      bind_with_parameter(module, op, std::string(row.parameters[0].name).c_str(), row.parameters[0].fallback);
    else if (row.parameters.size() == 2)
      bind_with_parameters(module, op, row.parameters[0], row.parameters[1]);
    else
      (row.approximates ? bind_approximated : bind_plain)(module, op);
  }
  return names;
}

[[maybe_unused]] const bool kUnaryAdded = add_card_operators(bind_unary);

}  // namespace
}  // namespace tessera::python
