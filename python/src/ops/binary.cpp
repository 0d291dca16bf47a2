// Functions of two numbers: the lines of binary_functions.def, each for tensors and numbers, new and in place.

#include "card_operators.h"
#include "compute_config.h"
#include "ops/optional_arguments.h"
#include "sub_devices.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::BinaryFunction;
using tensix::BinaryOptions;
using tensix::Multiplier;
using tensix::VectorFunction;

struct Arguments {
  std::optional<bool> fast;
  std::optional<DataType> dtype;
  OptionalConfig config;
  OptionalTensor output;
  nb::object after, on_a, on_b;
  OptionalCores cores;
};

BinaryOptions options_of(const Arguments& given) {
  return {.dtype = plain(given.dtype),
          .memory_config = given.config,
          .output = device_tensor(given.output, "the output tensor"),
          .activations = functions_of(given.after),
          .a_activations = functions_of(given.on_a),
          .b_activations = functions_of(given.on_b),
          .multiplier = given.fast.value_or(false) ? Multiplier::matrix_engine : Multiplier::vector_unit,
          .cores = given.cores};
}

BinaryOptions placed(const OptionalConfig& config, const OptionalTensor& output) {
  BinaryOptions options;
  options.memory_config = config;
  options.output = device_tensor(output, "the output tensor");
  return options;
}

// The larger or smaller of a fraction and a number is a function of one tensor, and so are powers and remainders, which
// meet the number as it is, not as the tensor's type would hold it.
AnyTensor with_number(const BinaryFunction& f, const std::string& op, const AnyTensor& a, double b,
                      const BinaryOptions& options) {
  const bool bounds = f.arithmetic == Binary::Kind::min || f.arithmetic == Binary::Kind::max;
  const char* fused = op == "pow" ? "power_unary" : op == "fmod" ? "fmod_unary" : nullptr;
  if ((!bounds && fused == nullptr) || is_integer(a.dtype()) || options.dtype)
    return AnyTensor(tensix::binary(f, a.device(op), b, options));
  constexpr double kAny = std::numeric_limits<double>::infinity();
  std::vector<VectorFunction> all = options.a_activations;
  if (fused != nullptr)
    all.push_back(tensix::vector_function(fused, std::array{static_cast<float>(b)}));
  else
    all.push_back(f.arithmetic == Binary::Kind::max ? tensix::clamp_function(b, kAny)
                                                    : tensix::clamp_function(-kAny, b));
  all.insert(all.end(), options.activations.begin(), options.activations.end());
  return AnyTensor(tensix::unary(op, all, a.device(op), {options.memory_config, options.output, options.cores}));
}

// Keywords of the operands: most are called input_tensor_a and input_tensor_b.
struct OperandNames {
  const char *a = "input_tensor_a", *b = "input_tensor_b";
};

void bind_new(nb::module_& module, const std::string& op, const BinaryFunction& f, const OperandNames& named) {
  const nb::list none;
  module.def(
      op.c_str(),
      [op, &f](const AnyTensor& a, const AnyTensor& b, std::optional<bool> fast, const std::optional<DataType>& dtype,
               const OptionalConfig& config, const OptionalTensor& output, const nb::object& after,
               const nb::object& on_a, const nb::object& on_b, const OptionalCores& cores,
               const OptionalSubDevice& part) {
        return AnyTensor(
            tensix::binary(f, a.device(op), b.device(op),
                           options_of({fast, dtype, config, output, after, on_a, on_b, cores_of(op, a, cores, part)})));
      },
      nb::arg(named.a), nb::arg(named.b), nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
      "dtype"_a = nb::none(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "activations"_a = none,
      "input_tensor_a_activations"_a = none, "input_tensor_b_activations"_a = none, "sub_core_grids"_a = nb::none(),
      "sub_device_id"_a = nb::none());
  module.def(
      op.c_str(),
      [op, &f](const AnyTensor& a, double b, std::optional<bool> fast, const std::optional<DataType>& dtype,
               const OptionalConfig& config, const OptionalTensor& output, const nb::object& after,
               const nb::object& on_a, const nb::object& on_b, const OptionalCores& cores,
               const OptionalSubDevice& part) {
        return with_number(f, op, a, b,
                           options_of({fast, dtype, config, output, after, on_a, on_b, cores_of(op, a, cores, part)}));
      },
      nb::arg(named.a), nb::arg(named.b), nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
      "dtype"_a = nb::none(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "activations"_a = none,
      "input_tensor_a_activations"_a = none, "input_tensor_b_activations"_a = none, "sub_core_grids"_a = nb::none(),
      "sub_device_id"_a = nb::none());
  module.def(
      op.c_str(),
      [op, &f](double a, const AnyTensor& b, std::optional<bool> fast, const std::optional<DataType>& dtype,
               const OptionalConfig& config, const OptionalTensor& output, const nb::object& after) {
        return AnyTensor(tensix::binary(f, a, b.device(op),
                                        options_of({fast, dtype, config, output, after, nb::none(), nb::none(), {}})));
      },
      nb::arg(named.a), nb::arg(named.b), nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
      "dtype"_a = nb::none(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "activations"_a = none);
}

void bind_in_place(nb::module_& module, const std::string& op, const BinaryFunction& f) {
  const nb::list none;
  const bool sums = op == "add_" || op == "subtract_" || op == "sub_";
  const OperandNames named = sums ? OperandNames{} : OperandNames{"input_a", "input_b"};
  module.def(
      op.c_str(),
      [op, &f](AnyTensor& a, const AnyTensor& b, const nb::object& after, const nb::object& on_a,
               const nb::object& on_b, std::optional<bool> fast, const OptionalCores& cores,
               const OptionalSubDevice& part) {
        return AnyTensor(
            tensix::binary(f, a.device(op), b.device(op),
                           options_of({fast, {}, {}, a, after, on_a, on_b, cores_of(op, a, cores, part)})));
      },
      nb::arg(named.a), nb::arg(named.b), nb::kw_only(), "activations"_a = none, "input_tensor_a_activations"_a = none,
      "input_tensor_b_activations"_a = none, "fast_and_approximate_mode"_a = nb::none(),
      "sub_core_grids"_a = nb::none(), "sub_device_id"_a = nb::none(), "Writes the result over the first operand.");
  module.def(
      op.c_str(),
      [op, &f](AnyTensor& a, double b, const nb::object& after, const nb::object& on_a, const nb::object& on_b,
               std::optional<bool> fast, const OptionalCores& cores, const OptionalSubDevice& part) {
        return AnyTensor(tensix::binary(
            f, a.device(op), b, options_of({fast, {}, {}, a, after, on_a, on_b, cores_of(op, a, cores, part)})));
      },
      nb::arg(named.a), nb::arg(named.b), nb::kw_only(), "activations"_a = none, "input_tensor_a_activations"_a = none,
      "input_tensor_b_activations"_a = none, "fast_and_approximate_mode"_a = nb::none(),
      "sub_core_grids"_a = nb::none(), "sub_device_id"_a = nb::none());
}

// --- operators with a number of their own ---

// a + alpha * b: b is multiplied on its way in, exactly.
AnyTensor with_alpha(const char* op, const char* function, const AnyTensor& a, const AnyTensor& b, float alpha,
                     const OptionalConfig& config, const OptionalTensor& output) {
  BinaryOptions options = placed(config, output);
  options.b_activations = {tensix::vector_function("mul_unary", std::array{alpha})};
  return AnyTensor(tensix::binary(tensix::binary_function(function), a.device(op), b.device(op), options));
}

template <class Other>
AnyTensor divided(const AnyTensor& a, const Other& b, const std::optional<std::string>& rounding,
                  const Arguments& given) {
  check(!rounding || *rounding == "floor" || *rounding == "trunc", Code::invalid_argument,
        "div: rounding_mode is '{}', it can be None, 'floor' or 'trunc'", rounding.value_or(""));
  const BinaryFunction& f = tensix::binary_function(!rounding              ? "divide"
                                                    : *rounding == "floor" ? "floor_div"
                                                                           : "div_trunc");
  if constexpr (std::is_same_v<Other, AnyTensor>)
    return AnyTensor(tensix::binary(f, a.device("div"), b.device("div"), options_of(given)));
  else
    return AnyTensor(tensix::binary(f, a.device("div"), b, options_of(given)));
}

template <class Other>
void bind_div(nb::module_& module) {
  const nb::list none;
  module.def(
      "div",
      [](const AnyTensor& a, const Other& b, std::optional<bool> fast, const std::optional<std::string>& rounding,
         const std::optional<DataType>& dtype, const OptionalConfig& config, const OptionalTensor& output,
         const nb::object& after, const nb::object& on_a, const nb::object& on_b, const OptionalCores& cores,
         const OptionalSubDevice& part) {
        return divided(a, b, rounding,
                       {fast, dtype, config, output, after, on_a, on_b, cores_of("div", a, cores, part)});
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "fast_and_approximate_mode"_a = nb::none(),
      "rounding_mode"_a = nb::none(), "dtype"_a = nb::none(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "activations"_a = none, "input_tensor_a_activations"_a = none,
      "input_tensor_b_activations"_a = none, "sub_core_grids"_a = nb::none(), "sub_device_id"_a = nb::none());
}

void bind_others(nb::module_& module) {
  for (const auto& [op, function] : {std::pair{"addalpha", "add"}, std::pair{"subalpha", "subtract"}})
    module.def(
        op,
        [op, function](const AnyTensor& a, const AnyTensor& b, float alpha, const OptionalConfig& config,
                       const OptionalTensor& output) { return with_alpha(op, function, a, b, alpha, config, output); },
        "input_tensor_a"_a, "input_tensor_b"_a, "alpha"_a, nb::kw_only(), "memory_config"_a = nb::none(),
        "output_tensor"_a = nb::none());
  module.def(
      "rdiv",
      [](const AnyTensor& x, double value, const std::optional<std::string>& rounding, const OptionalConfig& config,
         const OptionalTensor& output) {
        check(!rounding || *rounding == "floor" || *rounding == "trunc", Code::invalid_argument,
              "rdiv: rounding_mode is '{}', it can be None, 'floor' or 'trunc'", rounding.value_or(""));
        BinaryOptions options = placed(config, output);
        if (rounding) options.activations = {tensix::vector_function(*rounding)};
        return AnyTensor(tensix::binary(Binary::Kind::div, value, x.device("rdiv"), options));
      },
      "input_tensor"_a, "value"_a, nb::kw_only(), "rounding_mode"_a = nb::none(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none());
  bind_div<AnyTensor>(module);
  bind_div<double>(module);
  module.def(
      "div",
      [](double a, const AnyTensor& b, const std::optional<DataType>& dtype, const OptionalConfig& config,
         const OptionalTensor& output, const nb::object& after) {
        return AnyTensor(tensix::binary(Binary::Kind::div, a, b.device("div"),
                                        options_of({{}, dtype, config, output, after, nb::none(), nb::none(), {}})));
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "dtype"_a = nb::none(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "activations"_a = nb::list());
}

// x + y, x - 1, 2 * x, x > 0, ...
void bind_operators(nb::module_& module) {
  nb::object type = module.attr("Tensor");
  const auto def = [&](const char* name, auto function) {
    type.attr(name) = nb::cpp_function(function, nb::scope(type), nb::name(name), nb::is_method(), nb::is_operator());
  };
  struct Operator {
    const char *left, *right, *function;
  };
  for (const auto& [left, right, function] :
       {Operator{"__add__", "__radd__", "add"}, Operator{"__sub__", "__rsub__", "subtract"},
        Operator{"__mul__", "__rmul__", "multiply"}, Operator{"__truediv__", "__rtruediv__", "divide"},
        Operator{"__pow__", "__rpow__", "pow"}, Operator{"__eq__", nullptr, "eq"}, Operator{"__ne__", nullptr, "ne"},
        Operator{"__lt__", nullptr, "lt"}, Operator{"__le__", nullptr, "le"}, Operator{"__gt__", nullptr, "gt"},
        Operator{"__ge__", nullptr, "ge"}}) {
    const std::string op = function;
    const BinaryFunction& f = tensix::binary_function(op);
    def(left, [op, &f](const AnyTensor& a, const nb::object& b) {
      if (nb::isinstance<AnyTensor>(b))
        return AnyTensor(tensix::binary(f, a.device(op), nb::cast<const AnyTensor&>(b).device(op)));
      double number = 0;
      if (!nb::try_cast(b, number)) throw nb::next_overload();  // Python answers: a tensor is not equal to None
      return AnyTensor(tensix::binary(f, a.device(op), number));
    });
    if (right != nullptr)
      def(right, [op, &f](const AnyTensor& a, double b) { return AnyTensor(tensix::binary(f, b, a.device(op))); });
  }
}

OperandNames names_of(const std::string& op) {
  if (op == "pow") return {"input_tensor", "exponent"};
  return {};
}

std::vector<std::string> bind_binary(nb::module_& module) {
  std::vector<std::string> names{"addalpha", "subalpha", "rdiv", "div"};
  for (const BinaryFunction& f : tensix::binary_functions()) {
    const std::string op(f.name);
    if (op == "div_trunc" || op == "divide") continue;  // div, which the package also calls divide
    bind_new(module, op, f, names_of(op));
    names.push_back(op);
  }
  for (const BinaryFunction& f : tensix::binary_functions()) {
    if (!f.in_place) continue;
    const std::string op = std::string(f.name) + "_";
    bind_in_place(module, op, f);
    names.push_back(op);
  }
  bind_others(module);
  bind_operators(module);
  return names;
}

[[maybe_unused]] const bool kBinaryAdded = add_card_operators(bind_binary);

}  // namespace
}  // namespace tessera::python
