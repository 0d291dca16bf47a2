// Element-wise functions of three operands: the lines of ternary_functions.def.

#include "tessera/targets/tensix/ops/ternary/ternary.h"

#include "card_operators.h"
#include "ops/optional_arguments.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::TernaryFunction;
using TensorOrNumber = std::variant<AnyTensor, double>;

tensix::TensorOrNumber plain(const TensorOrNumber& x, const char* op) {
  if (const auto* tensor = std::get_if<AnyTensor>(&x)) return tensor->device(op);
  return std::get<double>(x);
}

AnyTensor applied(const TernaryFunction& f, const std::string& op, const AnyTensor& a, const TensorOrNumber& b,
                  const TensorOrNumber& c, double value, const OptionalConfig& config, const OptionalTensor& output,
                  const OptionalCores& cores) {
  return AnyTensor(tensix::ternary(f, a.device(op), plain(b, op.c_str()), plain(c, op.c_str()),
                                   {value, config, device_tensor(output, "the output tensor"), cores}));
}

std::vector<std::string> bind_ternary(nb::module_& module) {
  std::vector<std::string> names;
  for (const TernaryFunction& f : tensix::ternary_functions()) {
    const std::string op(f.name);
    names.push_back(op);
    const bool chooses = f.result == tensix::TernaryResult::chosen, lerps = op == "lerp";
    const char *a = chooses ? "predicate"
                    : lerps ? "input"
                            : "input_a",
               *b = chooses ? "value_true"
                    : lerps ? "end"
                            : "input_b",
               *c = chooses ? "value_false"
                    : lerps ? "weight"
                            : "input_c";
    if (f.takes_value)
      module.def(
          op.c_str(),
          [op, &f](const AnyTensor& x, const TensorOrNumber& y, const TensorOrNumber& z, double value,
                   const OptionalConfig& config, const OptionalTensor& output,
                   const OptionalCores& cores) { return applied(f, op, x, y, z, value, config, output, cores); },
          nb::arg(a), nb::arg(b), nb::arg(c), nb::kw_only(), "value"_a = 1.0, "memory_config"_a = nb::none(),
          "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
    else
      module.def(
          op.c_str(),
          [op, &f](const AnyTensor& x, const TensorOrNumber& y, const TensorOrNumber& z, const OptionalConfig& config,
                   const OptionalTensor& output,
                   const OptionalCores& cores) { return applied(f, op, x, y, z, 1, config, output, cores); },
          nb::arg(a), nb::arg(b), nb::arg(c), nb::kw_only(), "memory_config"_a = nb::none(),
          "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  }
  return names;
}

[[maybe_unused]] const bool kTernaryAdded = add_card_operators(bind_ternary);

}  // namespace
}  // namespace tessera::python
