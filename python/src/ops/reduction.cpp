// Functions of all values along dimensions: the lines of reductions.def; sums so far, and where the largest value is.

#include "tessera/targets/tensix/ops/reduction/reduction.h"

#include "card_operators.h"
#include "compute_config.h"
#include "given_output.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Dims = std::optional<std::variant<int, std::vector<int>>>;

std::optional<std::vector<int>> plain(const Dims& dims) {
  if (!dims) return std::nullopt;
  if (const int* dim = std::get_if<int>(&*dims)) return std::vector<int>{*dim};
  return std::get<std::vector<int>>(*dims);
}

void bind_accumulation(nb::module_& module, const char* op, tensix::Accumulation kind) {
  module.def(
      op,
      [op, kind](const AnyTensor& x, int dim, const std::optional<DataType>& dtype, bool reverse,
                 const OptionalTensor& out, const OptionalConfig& config, bool) {
        // Compensated sums are a way to float32 ones, which these are.
        return AnyTensor(tensix::accumulate(kind, x.device(op), dim,
                                            {python::plain(dtype), reverse, config, device_tensor(out, "out")}));
      },
      "input"_a, "dim"_a, nb::kw_only(), "dtype"_a = nb::none(), "reverse_order"_a = false, "out"_a = nb::none(),
      "memory_config"_a = nb::none(), "disable_compensated_sum"_a = false);
}

std::vector<std::string> bind_reduction(nb::module_& module) {
  std::vector<std::string> names{"cumsum", "cumprod", "argmax"};
  for (const tensix::Reduction& f : tensix::reductions()) {
    const std::string op(f.name);
    names.push_back(op);
    module.def(
        op.c_str(),
        [op, &f](const AnyTensor& x, const Dims& dim, bool keepdim, const OptionalConfig& config,
                 const std::optional<KernelConfig>& compute, float scalar, std::optional<bool> correction,
                 const OptionalCores& cores, bool, std::optional<Layout> layout) {
          // The fast mode's values are those of the accurate one here.
          const tensix::DeviceTensor y = tensix::reduce(f, x.device(op),
                                                        {.dims = plain(dim),
                                                         .keep_dims = keepdim,
                                                         .memory_config = config,
                                                         .compute = python::plain(compute),
                                                         .scalar = static_cast<double>(scalar),
                                                         .correction = correction.value_or(true),
                                                         .cores = cores});
          return AnyTensor(layout ? tensix::to_layout(y, *layout) : y);
        },
        "input_tensor"_a, "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "memory_config"_a = nb::none(),
        "compute_kernel_config"_a = nb::none(), "scalar"_a = 1.0F, "correction"_a = nb::none(),
        "sub_core_grids"_a = nb::none(), "fast_and_approximate_mode"_a = false, "output_layout"_a = nb::none());
  }
  bind_accumulation(module, "cumsum", tensix::Accumulation::sum);
  bind_accumulation(module, "cumprod", tensix::Accumulation::product);
  module.def(
      "argmax",
      [](const AnyTensor& x, std::optional<int> dim, bool keepdim, const OptionalCores& cores,
         const OptionalConfig& config, const OptionalTensor& output, std::optional<bool> second_reader) {
        static_cast<void>(second_reader);  // who reads does not show
        check_cores("argmax", cores, x);
        return into("argmax", tensix::argmax(x.device("argmax"), dim, keepdim, config), output);
      },
      "input_tensor"_a, "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "sub_core_grids"_a = nb::none(),
      "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "enable_secondary_dm"_a = nb::none());
  return names;
}

[[maybe_unused]] const bool kReductionAdded = add_card_operators(bind_reduction);

}  // namespace
}  // namespace tessera::python
