#include "any_tensor.h"
#include "bind.h"
#include "compute_config.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using OptionalConfig = std::optional<tensix::MemoryConfig>;
using OptionalTensor = std::optional<AnyTensor>;
using tensix::BinaryOptions;
using tensix::VectorFunction;

AnyTensor apply(const char* op, const VectorFunction& f, const AnyTensor& x, const OptionalConfig& config,
                const OptionalTensor& output) {
  tensix::UnaryOptions options{config, std::nullopt};
  if (output) options.output = output->device(op);
  return AnyTensor(tensix::unary(op, std::span(&f, 1), x.device(op), options));
}

// Functions without parameters; some take settings of the card's approximations, which are not modelled.
void bind_plain(nb::module_& module, const char* op) {
  module.def(
      op,
      [op](const AnyTensor& x, const OptionalConfig& config, const OptionalTensor& output, const nb::object&) {
        return apply(op, tensix::vector_function(op), x, config, output);
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
}

void bind_approximated(nb::module_& module, const char* op) {
  module.def(
      op,
      [op](const AnyTensor& x, bool, const OptionalConfig& config, const OptionalTensor& output, const nb::object&) {
        return apply(op, tensix::vector_function(op), x, config, output);
      },
      "input_tensor"_a, nb::kw_only(), "fast_and_approximate_mode"_a = false, "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
}

void bind_unary(nb::module_& module) {
  for (const char* op :
       {"relu", "relu6", "silu", "swish", "hardswish", "hardsigmoid", "square", "neg", "abs", "reciprocal", "identity"})
    bind_plain(module, op);
  for (const char* op : {"exp", "gelu", "tanh", "sqrt", "rsqrt", "log", "mish"}) bind_approximated(module, op);
  module.def(
      "sigmoid",
      [](const AnyTensor& x, int, const nb::object&, const OptionalConfig& config, const OptionalTensor& output,
         const nb::object&) { return apply("sigmoid", tensix::vector_function("sigmoid"), x, config, output); },
      "input_tensor"_a, nb::kw_only(), "vector_mode"_a = 4, "mode"_a = nb::none(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "leaky_relu",
      [](const AnyTensor& x, float slope, const OptionalConfig& config, const OptionalTensor& output,
         const nb::object&) {
        return apply("leaky_relu", tensix::vector_function("leaky_relu", std::array{slope}), x, config, output);
      },
      "input_tensor"_a, "negative_slope"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "elu",
      [](const AnyTensor& x, float alpha, const OptionalConfig& config, const OptionalTensor& output,
         const nb::object&) {
        return apply("elu", tensix::vector_function("elu", std::array{alpha}), x, config, output);
      },
      "input_tensor"_a, nb::kw_only(), "alpha"_a = 1.0F, "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def(
      "softplus",
      [](const AnyTensor& x, float beta, float threshold, const OptionalConfig& config, const OptionalTensor& output,
         const nb::object&) {
        check(beta == 1.0F && threshold == 20.0F, Code::unsupported,
              "softplus: beta {} and threshold {} are not supported, only 1 and 20", beta, threshold);
        return apply("softplus", tensix::vector_function("softplus"), x, config, output);
      },
      "input_tensor"_a, nb::kw_only(), "beta"_a = 1.0F, "threshold"_a = 20.0F, "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  for (const char* op : {"clamp", "clip"})
    module.def(
        op,
        [](const AnyTensor& x, std::optional<float> low, std::optional<float> high, const OptionalConfig& config,
           const OptionalTensor& output) {
          check(low || high, Code::invalid_argument, "clamp: min or max must be given");
          constexpr float kAny = std::numeric_limits<float>::infinity();
          return apply("clamp", tensix::vector_function("clamp", std::array{low.value_or(-kAny), high.value_or(kAny)}),
                       x, config, output);
        },
        "input_tensor"_a, "min"_a = nb::none(), "max"_a = nb::none(), nb::kw_only(), "memory_config"_a = nb::none(),
        "output_tensor"_a = nb::none());
}

struct BinaryName {
  const char* name;
  Binary::Kind kind;
};
constexpr std::array kBinary = {
    BinaryName{"add", Binary::Kind::add},     BinaryName{"subtract", Binary::Kind::sub},
    BinaryName{"sub", Binary::Kind::sub},     BinaryName{"multiply", Binary::Kind::mul},
    BinaryName{"mul", Binary::Kind::mul},     BinaryName{"divide", Binary::Kind::div},
    BinaryName{"div", Binary::Kind::div},     BinaryName{"maximum", Binary::Kind::max},
    BinaryName{"minimum", Binary::Kind::min},
};

BinaryOptions options_of(const std::optional<DataType>& dtype, const OptionalConfig& config,
                         const OptionalTensor& output, const nb::object& after, const nb::object& a,
                         const nb::object& b) {
  BinaryOptions options{plain(dtype), config, std::nullopt, functions_of(after), functions_of(a), functions_of(b)};
  if (output) options.output = output->device("the output tensor");
  return options;
}

// The larger or smaller of a tensor and a number is a function of one tensor.
AnyTensor with_number(const char* op, Binary::Kind kind, const AnyTensor& a, double b, const BinaryOptions& options) {
  if (kind == Binary::Kind::min || kind == Binary::Kind::max) {
    constexpr float kAny = std::numeric_limits<float>::infinity();
    const float bound = static_cast<float>(b);
    VectorFunction f = kind == Binary::Kind::max ? tensix::vector_function("clamp", std::array{bound, kAny})
                                                 : tensix::vector_function("clamp", std::array{-kAny, bound});
    std::vector<VectorFunction> all = options.a_activations;
    all.push_back(f);
    all.insert(all.end(), options.activations.begin(), options.activations.end());
    return AnyTensor(tensix::unary(op, all, a.device(op), {options.memory_config, options.output}));
  }
  return AnyTensor(tensix::binary(kind, a.device(op), b, options));
}

void bind_binary(nb::module_& module) {
  const nb::list none;
  for (const BinaryName& each : kBinary) {
    const char* op = each.name;
    const Binary::Kind kind = each.kind;
    module.def(
        op,
        [op, kind](const AnyTensor& a, const AnyTensor& b, const nb::object&, const std::optional<DataType>& dtype,
                   const OptionalConfig& config, const OptionalTensor& output, const nb::object& after,
                   const nb::object& on_a, const nb::object& on_b, const nb::object&) {
          return AnyTensor(
              tensix::binary(kind, a.device(op), b.device(op), options_of(dtype, config, output, after, on_a, on_b)));
        },
        "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
        "dtype"_a = nb::none(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "activations"_a = none,
        "input_tensor_a_activations"_a = none, "input_tensor_b_activations"_a = none, "sub_core_grids"_a = nb::none());
    module.def(
        op,
        [op, kind](const AnyTensor& a, double b, const nb::object&, const std::optional<DataType>& dtype,
                   const OptionalConfig& config, const OptionalTensor& output, const nb::object& after,
                   const nb::object& on_a, const nb::object& on_b, const nb::object&) {
          return with_number(op, kind, a, b, options_of(dtype, config, output, after, on_a, on_b));
        },
        "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
        "dtype"_a = nb::none(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "activations"_a = none,
        "input_tensor_a_activations"_a = none, "input_tensor_b_activations"_a = none, "sub_core_grids"_a = nb::none());
    module.def(
        op,
        [op, kind](double a, const AnyTensor& b, const nb::object&, const std::optional<DataType>& dtype,
                   const OptionalConfig& config, const OptionalTensor& output, const nb::object& after) {
          return AnyTensor(
              tensix::binary(kind, a, b.device(op), options_of(dtype, config, output, after, nb::none(), nb::none())));
        },
        "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
        "dtype"_a = nb::none(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "activations"_a = none);
  }
  for (const auto& [op, kind] :
       {BinaryName{"add_", Binary::Kind::add}, BinaryName{"subtract_", Binary::Kind::sub},
        BinaryName{"multiply_", Binary::Kind::mul}, BinaryName{"divide_", Binary::Kind::div}}) {
    module.def(
        op,
        [op, kind](AnyTensor& a, const AnyTensor& b, const nb::object& after, const nb::object& on_a,
                   const nb::object& on_b, const nb::object&) {
          return AnyTensor(tensix::binary(kind, a.device(op), b.device(op),
                                          options_of(std::nullopt, std::nullopt, a, after, on_a, on_b)));
        },
        "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "activations"_a = none,
        "input_tensor_a_activations"_a = none, "input_tensor_b_activations"_a = none,
        "fast_and_approximate_mode"_a = nb::none(), "Writes the result over the first operand.");
    module.def(
        op,
        [op, kind](AnyTensor& a, double b, const nb::object& after, const nb::object& on_a, const nb::object& on_b,
                   const nb::object&) {
          return AnyTensor(
              tensix::binary(kind, a.device(op), b, options_of(std::nullopt, std::nullopt, a, after, on_a, on_b)));
        },
        "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "activations"_a = none,
        "input_tensor_a_activations"_a = none, "input_tensor_b_activations"_a = none,
        "fast_and_approximate_mode"_a = nb::none());
  }
}

// x + y, x - 1, 2 * x, ...
void bind_operators(nb::module_& module) {
  nb::object type = module.attr("Tensor");
  const auto def = [&](const char* name, auto function) {
    type.attr(name) = nb::cpp_function(function, nb::scope(type), nb::name(name), nb::is_method(), nb::is_operator());
  };
  struct Operator {
    const char *left, *right;
    Binary::Kind kind;
  };
  for (const auto& [left, right, kind] :
       {Operator{"__add__", "__radd__", Binary::Kind::add}, Operator{"__sub__", "__rsub__", Binary::Kind::sub},
        Operator{"__mul__", "__rmul__", Binary::Kind::mul},
        Operator{"__truediv__", "__rtruediv__", Binary::Kind::div}}) {
    def(left, [kind](const AnyTensor& a, const nb::object& b) {
      const std::string op(tensix::op_name(kind));
      if (nb::isinstance<AnyTensor>(b))
        return AnyTensor(tensix::binary(kind, a.device(op), nb::cast<const AnyTensor&>(b).device(op)));
      return AnyTensor(tensix::binary(kind, a.device(op), nb::cast<double>(b)));
    });
    def(right, [kind](const AnyTensor& a, double b) {
      return AnyTensor(tensix::binary(kind, b, a.device(tensix::op_name(kind))));
    });
  }
}

}  // namespace

void bind_elementwise(nb::module_& module) {
  bind_unary(module);
  bind_binary(module);
  bind_operators(module);
  module.def(
      "softmax",
      [](const AnyTensor& x, int dim, const OptionalConfig& config, const std::optional<KernelConfig>& compute, bool) {
        return AnyTensor(tensix::softmax(x.device("softmax"), dim, config, plain(compute)));
      },
      "input_tensor"_a, "dim"_a = -1, nb::kw_only(), "memory_config"_a = nb::none(),
      "compute_kernel_config"_a = nb::none(), "numeric_stable"_a = true);
}

}  // namespace tessera::python
