// Operators made of others, tiles and their padding, and gradients.

#include "tessera/targets/tensix/ops/composites/composites.h"

#include "card_operators.h"
#include "compute_config.h"
#include "gelu_variant.h"
#include "ops/optional_arguments.h"

#include "shape_like.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/backward/backward.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/padding/padding.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

enum class BcastOpMath : std::uint8_t { ADD, SUB, MUL };

void bind_enums(nb::module_& module) {
  nb::enum_<BcastOpMath>(module, "BcastOpMath")
      .value("ADD", BcastOpMath::ADD)
      .value("SUB", BcastOpMath::SUB)
      .value("MUL", BcastOpMath::MUL);
  nb::enum_<tensix::BcastDim>(module, "BcastOpDim")
      .value("H", tensix::BcastDim::h)
      .value("W", tensix::BcastDim::w)
      .value("HW", tensix::BcastDim::hw);
  nb::enum_<tensix::LossReduction>(module, "LossReductionMode")
      .value("NONE", tensix::LossReduction::none)
      .value("SUM", tensix::LossReduction::sum)
      .value("MEAN", tensix::LossReduction::mean);
}

void bind_gates(nb::module_& module) {
  module.def(
      "geglu",
      [](const AnyTensor& x, int dim, const OptionalConfig& config, GeluVariant variant) {
        const char* gate = variant == GeluVariant::Tanh ? "gelu_tanh_unary" : "gelu";
        return AnyTensor(tensix::gated("geglu", gate, x.device("geglu"), dim, config));
      },
      "input_tensor"_a, "dim"_a = -1, nb::kw_only(), "memory_config"_a = nb::none(),
      "variant"_a = GeluVariant::Accurate);
  struct Gate {
    const char *op, *function;
  };
  for (const auto& [op, gate] : {Gate{"glu", "sigmoid"}, Gate{"reglu", "relu"}, Gate{"swiglu", "silu"}})
    module.def(
        op,
        [op, gate](const AnyTensor& x, int dim, const OptionalConfig& config) {
          return AnyTensor(tensix::gated(op, gate, x.device(op), dim, config));
        },
        "input_tensor"_a, "dim"_a = -1, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "situ_glu",
      [](const AnyTensor& gate, const AnyTensor& up, float beta1, float beta2, const OptionalConfig& config) {
        return AnyTensor(tensix::situ_glu(gate.device("situ_glu"), up.device("situ_glu"), beta1, beta2, config));
      },
      "gate"_a, "up"_a, "beta1"_a, "beta2"_a, nb::kw_only(), "memory_config"_a = nb::none());
}

void bind_statistics(nb::module_& module) {
  using Function = tensix::DeviceTensor (*)(const tensix::DeviceTensor&, const OptionalConfig&);
  struct Row {
    const char* op;
    Function function;
  };
  for (const auto& [op, function] :
       {Row{"var_hw", tensix::var_hw}, Row{"std_hw", tensix::std_hw}, Row{"normalize_hw", tensix::normalize_hw},
        Row{"normalize_global", tensix::normalize_global}})
    module.def(
        op,
        [op, function](const AnyTensor& x, const OptionalConfig& config) {
          return AnyTensor(function(x.device(op), config));
        },
        "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none());
  for (const char* op : {"tril", "triu"})
    module.def(
        op,
        [op](const AnyTensor& x, std::int64_t diagonal, const OptionalConfig& config) {
          return AnyTensor(tensix::triangle(op, x.device(op), diagonal, config));
        },
        "input_tensor"_a, "diagonal"_a = 0, nb::kw_only(), "memory_config"_a = nb::none());
}

void bind_pairs(nb::module_& module) {
  module.def(
      "polyval",
      [](const AnyTensor& x, const std::vector<float>& coefficients, const OptionalConfig& config) {
        return AnyTensor(tensix::polyval(x.device("polyval"), coefficients, config));
      },
      "input_tensor_a"_a, "coeffs"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "isclose",
      [](const AnyTensor& a, const AnyTensor& b, float relative, float absolute, bool equal_nan,
         const OptionalConfig& config) {
        return AnyTensor(
            tensix::isclose(a.device("isclose"), b.device("isclose"), relative, absolute, equal_nan, config));
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "rtol"_a = 1e-5F, "atol"_a = 1e-8F, "equal_nan"_a = false,
      "memory_config"_a = nb::none());
  module.def(
      "outer",
      [](const AnyTensor& a, const AnyTensor& b, const OptionalConfig& config) {
        return AnyTensor(tensix::outer(a.device("outer"), b.device("outer"), config));
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "prelu",
      [](const AnyTensor& x, const std::variant<AnyTensor, double>& slope, const OptionalConfig& config) {
        if (const auto* weight = std::get_if<AnyTensor>(&slope))
          return AnyTensor(tensix::prelu(x.device("prelu"), weight->device("prelu"), config));
        return AnyTensor(tensix::prelu(x.device("prelu"), std::get<double>(slope), config));
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "memory_config"_a = nb::none());
  for (const char* op : {"mse_loss", "l1_loss"})
    module.def(
        op,
        [op](const AnyTensor& a, const AnyTensor& b, tensix::LossReduction mode, const OptionalConfig& config,
             const OptionalTensor& output) {
          return AnyTensor(
              tensix::loss(op, a.device(op), b.device(op), mode, config, device_tensor(output, "the output tensor")));
        },
        "input_reference"_a, "input_prediction"_a, nb::kw_only(), "reduction"_a = tensix::LossReduction::none,
        "memory_config"_a = nb::none(), "output_tensor"_a = nb::none());
  module.def(
      "addmm",
      [](const AnyTensor& x, const AnyTensor& a, const AnyTensor& b, float alpha, float beta,
         const OptionalConfig& config, const std::optional<DataType>& dtype, const std::optional<KernelConfig>& compute,
         const std::optional<tensix::CoreGrid>& grid, const OptionalTensor& output) {
        tensix::MatmulOptions options;
        options.memory_config = config;
        options.dtype = plain(dtype);
        options.compute = plain(compute);
        options.core_grid = grid;
        return AnyTensor(tensix::addmm(x.device("addmm"), a.device("addmm"), b.device("addmm"), alpha, beta, options,
                                       device_tensor(output, "the output tensor")));
      },
      "input_tensor"_a, "mat1_tensor"_a, "mat2_tensor"_a, nb::kw_only(), "alpha"_a = 1.0F, "beta"_a = 1.0F,
      "memory_config"_a = nb::none(), "dtype"_a = nb::none(), "compute_kernel_config"_a = nb::none(),
      "core_grid"_a = nb::none(), "optional_output_tensor"_a = nb::none());
  module.def(
      "bcast",
      [](const AnyTensor& a, const AnyTensor& b, BcastOpMath math, tensix::BcastDim dim, const OptionalConfig& config,
         const OptionalTensor& output) {
        const char* function = math == BcastOpMath::ADD ? "add" : math == BcastOpMath::SUB ? "subtract" : "multiply";
        return AnyTensor(tensix::bcast(function, a.device("bcast"), b.device("bcast"), dim, config,
                                       device_tensor(output, "the output tensor")));
      },
      "input_a"_a, "input_b"_a, "math_op"_a, "dim"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none());
}

void bind_shapes(nb::module_& module) {
  module.def(
      "narrow",
      [](const AnyTensor& x, int dim, std::int64_t start, std::int64_t length) {
        return AnyTensor(tensix::narrow(x.device("narrow"), dim, start, length));
      },
      "input_tensor"_a, "dim"_a, "start"_a, "length"_a);
  module.def(
      "_experimental_broadcast_to",
      [](const AnyTensor& x, const ShapeLike& shape, const OptionalConfig& config, const OptionalTensor& output) {
        return AnyTensor(tensix::broadcast_to(x.device("broadcast_to"), Shape(shape.dims), config,
                                              device_tensor(output, "the output")));
      },
      "input"_a, "output_shape"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output"_a = nb::none());
  module.def(
      "fill_implicit_tile_padding",
      [](const AnyTensor& x, double value, const OptionalConfig& config) {
        return AnyTensor(tensix::fill_padding(x.device("fill_implicit_tile_padding"), value, config));
      },
      "input_tensor"_a, "fill_value"_a, nb::kw_only(), "memory_config"_a = nb::none());
  // Who works on it does not show in the result: one core, or some, do what all do.
  module.def(
      "untilize_with_unpadding",
      [](const AnyTensor& x, const ShapeLike& last, const OptionalConfig& config, bool, const OptionalCores& cores) {
        check_cores("untilize_with_unpadding", cores, x);
        return AnyTensor(
            tensix::untilize_with_unpadding(x.device("untilize_with_unpadding"), Shape(last.dims), config));
      },
      "input_tensor"_a, "output_tensor_end"_a, nb::kw_only(), "memory_config"_a = nb::none(), "use_multicore"_a = true,
      "sub_core_grids"_a = nb::none());
  module.def(
      "tilize_with_val_padding",
      [](const AnyTensor& x, const ShapeLike& shape, double value, const OptionalConfig& config,
         const std::optional<DataType>& dtype, bool, const OptionalCores& cores) {
        check_cores("tilize_with_val_padding", cores, x);
        return AnyTensor(tensix::tilize_with_padding(x.device("tilize_with_val_padding"), Shape(shape.dims), value,
                                                     config, plain(dtype)));
      },
      "input_tensor"_a, "output_tensor_shape"_a, "pad_value"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "dtype"_a = nb::none(), "use_multicore"_a = true, "sub_core_grids"_a = nb::none());
  module.def(
      "tilize_with_zero_padding",
      [](const AnyTensor& x, const OptionalConfig& config, const std::optional<DataType>& dtype, bool,
         const OptionalCores& cores) {
        check_cores("tilize_with_zero_padding", cores, x);
        std::vector<std::int64_t> dims = x.shape().dims();
        while (dims.size() < 2) dims.insert(dims.begin(), 1);
        for (std::size_t d = dims.size() - 2; d < dims.size(); ++d) dims[d] = round_up(dims[d], Tile{}.width);
        return AnyTensor(
            tensix::tilize_with_padding(x.device("tilize_with_zero_padding"), Shape(dims), 0, config, plain(dtype)));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_dtype"_a = nb::none(),
      "use_multicore"_a = true, "sub_core_grids"_a = nb::none());
  module.def(
      "unary_chain",
      [](const AnyTensor& x, const nb::object& chain, const OptionalConfig& config, const OptionalTensor& output) {
        return AnyTensor(tensix::unary("unary_chain", functions_of(chain), x.device("unary_chain"),
                                       {config, device_tensor(output, "the output tensor")}));
      },
      "input_tensor"_a, "ops_chain"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none());
}

// --- gradients: lists, as TTNN returns them ---

bool writes_given_gradient(const std::string& op) {
  for (const char* each : {"exp_bw", "neg_bw", "pow_bw", "rsqrt_bw", "silu_bw", "sqrt_bw", "tanh_bw"})
    if (op == each) return true;
  return false;
}

using Gradients = std::vector<AnyTensor>;

Gradients gradient(const tensix::BackwardFunction& f, const AnyTensor& g, const AnyTensor& x,
                   std::span<const float> parameters, const OptionalConfig& config, const OptionalTensor& output) {
  const std::string op(f.name);
  return {AnyTensor(
      tensix::backward(f, g.device(op), x.device(op), parameters, config, device_tensor(output, "input_grad")))};
}

void bind_gradient(nb::module_& module, const tensix::BackwardFunction& f) {
  const std::string op(f.name);
  const auto& p = f.parameters;
  const bool given = writes_given_gradient(op);
  if (p.empty() && given) {
    module.def(
        op.c_str(),
        [&f](const AnyTensor& g, const AnyTensor& x, const OptionalConfig& config, const OptionalTensor& output) {
          return gradient(f, g, x, {}, config, output);
        },
        "grad_tensor"_a, "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "input_grad"_a = nb::none());
  } else if (p.empty()) {
    module.def(
        op.c_str(),
        [&f](const AnyTensor& g, const AnyTensor& x, const OptionalConfig& config) {
          return gradient(f, g, x, {}, config, {});
        },
        "grad_tensor"_a, "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none());
  } else if (p.size() == 1) {
    const std::string name(p[0].name);
    const auto call = [&f](const AnyTensor& g, const AnyTensor& x, float first, const OptionalConfig& config) {
      return gradient(f, g, x, std::array{first}, config, {});
    };
    const auto call_given = [&f](const AnyTensor& g, const AnyTensor& x, float first, const OptionalConfig& config,
                                 const OptionalTensor& output) {
      return gradient(f, g, x, std::array{first}, config, output);
    };
    if (given)
      module.def(op.c_str(), call_given, "grad_tensor"_a, "input_tensor"_a, nb::arg(name.c_str()), nb::kw_only(),
                 "memory_config"_a = nb::none(), "input_grad"_a = nb::none());
    else if (std::isnan(p[0].fallback))
      module.def(op.c_str(), call, "grad_tensor"_a, "input_tensor"_a, nb::arg(name.c_str()), nb::kw_only(),
                 "memory_config"_a = nb::none());
    else
      module.def(op.c_str(), call, "grad_tensor"_a, "input_tensor"_a, nb::kw_only(),
                 nb::arg(name.c_str()) = static_cast<float>(p[0].fallback), "memory_config"_a = nb::none());
  } else {
    const std::string first(p[0].name), second(p[1].name);
    const auto call = [&f](const AnyTensor& g, const AnyTensor& x, float a, float b, const OptionalConfig& config) {
      return gradient(f, g, x, std::array{a, b}, config, {});
    };
    if (std::isnan(p[0].fallback))
      module.def(op.c_str(), call, "grad_tensor"_a, "input_tensor"_a, nb::arg(first.c_str()), nb::arg(second.c_str()),
                 nb::kw_only(), "memory_config"_a = nb::none());
    else
      module.def(op.c_str(), call, "grad_tensor"_a, "input_tensor"_a, nb::kw_only(),
                 nb::arg(first.c_str()) = static_cast<float>(p[0].fallback),
                 nb::arg(second.c_str()) = static_cast<float>(p[1].fallback), "memory_config"_a = nb::none());
  }
}

// gelu has two slopes, which its variant picks.
void bind_gelu_gradients(nb::module_& module) {
  const auto slope = [](GeluVariant variant) -> const tensix::BackwardFunction& {
    return tensix::backward_function(variant == GeluVariant::Tanh ? "gelu_tanh_bw" : "gelu_bw");
  };
  const auto slopes = [](GeluVariant variant) -> const tensix::BackwardBinaryFunction& {
    return tensix::backward_binary_function(variant == GeluVariant::Tanh ? "bias_gelu_tanh_bw" : "bias_gelu_bw");
  };
  module.def(
      "gelu_bw",
      [slope](const AnyTensor& g, const AnyTensor& x, GeluVariant variant, const OptionalConfig& config,
              const OptionalTensor& output) { return gradient(slope(variant), g, x, {}, config, output); },
      "grad_tensor"_a, "input_tensor"_a, nb::kw_only(), "variant"_a = GeluVariant::Accurate,
      "memory_config"_a = nb::none(), "input_grad"_a = nb::none());
  module.def(
      "_experimental_gelu_bw",
      [slope](const AnyTensor& g, const AnyTensor& x, const std::string& approximate, const OptionalConfig& config,
              const OptionalTensor& output) {
        return gradient(slope(gelu_variant(approximate)), g, x, {}, config, output)[0];
      },
      "grad_tensor"_a, "input_tensor"_a, nb::kw_only(), "approximate"_a = "none", "memory_config"_a = nb::none(),
      "input_grad"_a = nb::none());
  const auto of_both = [slopes](const AnyTensor& g, const AnyTensor& a, const AnyTensor& b, GeluVariant variant,
                                const OptionalConfig& config) {
    constexpr const char* kOp = "bias_gelu_bw";
    const auto [of_a, of_b] = tensix::backward(slopes(variant), g.device(kOp), a.device(kOp), b.device(kOp), 1, config);
    return Gradients{AnyTensor(of_a), AnyTensor(of_b)};
  };
  const auto of_one = [slopes](const AnyTensor& g, const AnyTensor& a, double bias, GeluVariant variant,
                               const OptionalConfig& config) {
    constexpr const char* kOp = "bias_gelu_bw";
    return Gradients{AnyTensor(tensix::backward(slopes(variant), g.device(kOp), a.device(kOp), bias, config))};
  };
  module.def("bias_gelu_bw", of_both, "grad_tensor"_a, "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(),
             "variant"_a = GeluVariant::Accurate, "memory_config"_a = nb::none());
  module.def(
      "bias_gelu_bw",
      [of_both](const AnyTensor& g, const AnyTensor& a, const AnyTensor& b, const std::string& approximate,
                const OptionalConfig& config) { return of_both(g, a, b, gelu_variant(approximate), config); },
      "grad_tensor"_a, "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "approximate"_a,
      "memory_config"_a = nb::none());
  module.def("bias_gelu_bw", of_one, "grad_tensor"_a, "input_tensor"_a, "bias"_a, nb::kw_only(),
             "variant"_a = GeluVariant::Accurate, "memory_config"_a = nb::none());
  module.def(
      "bias_gelu_bw",
      [of_one](const AnyTensor& g, const AnyTensor& a, double bias, const std::string& approximate,
               const OptionalConfig& config) { return of_one(g, a, bias, gelu_variant(approximate), config); },
      "grad_tensor"_a, "input_tensor"_a, "bias"_a, nb::kw_only(), "approximate"_a, "memory_config"_a = nb::none());
}

void bind_gradients(nb::module_& module, const tensix::BackwardBinaryFunction& f) {
  const std::string op(f.name);
  const auto both = [op, &f](const AnyTensor& g, const AnyTensor& a, const AnyTensor& b, float alpha,
                             const OptionalConfig& config) {
    const auto [of_a, of_b] = tensix::backward(f, g.device(op), a.device(op), b.device(op), alpha, config);
    return Gradients{AnyTensor(of_a), AnyTensor(of_b)};
  };
  if (op == "addalpha_bw" || op == "subalpha_bw") {
    module.def(op.c_str(), both, "grad_tensor"_a, "input_tensor_a"_a, "input_tensor_b"_a, "alpha"_a = 1.0F,
               nb::kw_only(), "memory_config"_a = nb::none());
    return;
  }
  module.def(
      op.c_str(),
      [both](const AnyTensor& g, const AnyTensor& a, const AnyTensor& b, const OptionalConfig& config) {
        return both(g, a, b, 1, config);
      },
      "grad_tensor"_a, "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "memory_config"_a = nb::none());
  for (const char* with_number : {"add_bw", "sub_bw", "mul_bw", "div_bw", "fmod_bw", "remainder_bw"})
    if (op == with_number)
      module.def(
          op.c_str(),
          [op, &f](const AnyTensor& g, const AnyTensor& a, double b, const OptionalConfig& config) {
            return Gradients{AnyTensor(tensix::backward(f, g.device(op), a.device(op), b, config))};
          },
          "grad_tensor"_a, "input_tensor_a"_a, "scalar"_a, nb::kw_only(), "memory_config"_a = nb::none());
}

std::vector<std::string> bind_composites(nb::module_& module) {
  bind_enums(module);
  bind_gates(module);
  bind_statistics(module);
  bind_pairs(module);
  bind_shapes(module);
  std::vector<std::string> names{"glu",
                                 "reglu",
                                 "geglu",
                                 "swiglu",
                                 "situ_glu",
                                 "var_hw",
                                 "std_hw",
                                 "normalize_hw",
                                 "normalize_global",
                                 "tril",
                                 "triu",
                                 "polyval",
                                 "isclose",
                                 "outer",
                                 "prelu",
                                 "mse_loss",
                                 "l1_loss",
                                 "addmm",
                                 "bcast",
                                 "narrow",
                                 "experimental.broadcast_to",
                                 "fill_implicit_tile_padding",
                                 "untilize_with_unpadding",
                                 "tilize_with_val_padding",
                                 "tilize_with_zero_padding",
                                 "unary_chain",
                                 "gelu_bw",
                                 "bias_gelu_bw",
                                 "experimental.gelu_bw"};
  bind_gelu_gradients(module);
  for (const tensix::BackwardFunction& f : tensix::backward_functions()) {
    if (f.name.starts_with("gelu")) continue;
    bind_gradient(module, f);
    names.emplace_back(f.name);
  }
  for (const tensix::BackwardBinaryFunction& f : tensix::backward_binary_functions()) {
    if (f.name.starts_with("bias_gelu")) continue;
    bind_gradients(module, f);
    names.emplace_back(f.name);
  }
  return names;
}

[[maybe_unused]] const bool kCompositesAdded = add_card_operators(bind_composites);

}  // namespace
}  // namespace tessera::python
