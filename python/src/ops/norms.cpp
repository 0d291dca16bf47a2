// group_norm and batch_norm.

#include "card_operators.h"
#include "compute_config.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/batch_norm/batch_norm.h"
#include "tessera/targets/tensix/ops/group_norm/group_norm.h"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

std::vector<std::string> bind_norms(nb::module_& module) {
  module.def(
      "group_norm",
      [](AnyTensor& x, std::int64_t groups, float epsilon, const OptionalTensor& mask, const OptionalTensor& weight,
         const OptionalTensor& bias, const OptionalTensor& reciprocals, const OptionalConfig& config,
         const std::optional<DataType>& dtype, const std::optional<tensix::CoreGrid>& grid, bool in_place,
         std::optional<Layout> layout, std::optional<std::int64_t> blocks, const std::optional<KernelConfig>& compute,
         const OptionalTensor& negative_mask, bool welford) {
        check(!reciprocals || welford, Code::invalid_argument, Hint{"give use_welford=True"},
              "group_norm: reciprocals are of use to Welford's algorithm only");
        check(!negative_mask || x.memory_config().is_sharded(), Code::unsupported,
              "group_norm: a negative mask is for inputs in shards");
        return AnyTensor(tensix::group_norm(x.device("group_norm"), {.groups = groups,
                                                                     .epsilon = epsilon,
                                                                     .weight = device_tensor(weight, "the weight"),
                                                                     .bias = device_tensor(bias, "the bias"),
                                                                     .mask = device_tensor(mask, "the input mask"),
                                                                     .memory_config = config,
                                                                     .dtype = plain(dtype),
                                                                     .grid = grid,
                                                                     .in_place = in_place,
                                                                     .layout = layout,
                                                                     .out_blocks = blocks.value_or(1),
                                                                     .compute = plain(compute)}));
      },
      "input_tensor"_a, nb::kw_only(), "num_groups"_a, "epsilon"_a = 1e-12F, "input_mask"_a = nb::none(),
      "weight"_a = nb::none(), "bias"_a = nb::none(), "reciprocals"_a = nb::none(), "memory_config"_a = nb::none(),
      "dtype"_a = nb::none(), "core_grid"_a = nb::none(), "inplace"_a = true, "output_layout"_a = nb::none(),
      "num_out_blocks"_a = nb::none(), "compute_kernel_config"_a = nb::none(), "negative_mask"_a = nb::none(),
      "use_welford"_a = false);
  module.def(
      "batch_norm",
      [](const AnyTensor& x, const OptionalTensor& mean, const OptionalTensor& variance, bool training, float epsilon,
         float momentum, const OptionalTensor& weight, const OptionalTensor& bias, const OptionalTensor& output,
         const OptionalConfig& config, const std::optional<KernelConfig>& compute) {
        return AnyTensor(tensix::batch_norm(x.device("batch_norm"), {.mean = device_tensor(mean, "running_mean"),
                                                                     .variance = device_tensor(variance, "running_var"),
                                                                     .training = training,
                                                                     .epsilon = epsilon,
                                                                     .momentum = momentum,
                                                                     .weight = device_tensor(weight, "the weight"),
                                                                     .bias = device_tensor(bias, "the bias"),
                                                                     .output = device_tensor(output, "the output"),
                                                                     .memory_config = config,
                                                                     .compute = plain(compute)}));
      },
      "input"_a, nb::kw_only(), "running_mean"_a = nb::none(), "running_var"_a = nb::none(), "training"_a = false,
      "eps"_a = 1e-5F, "momentum"_a = 0.1F, "weight"_a = nb::none(), "bias"_a = nb::none(), "output"_a = nb::none(),
      "memory_config"_a = nb::none(), "compute_kernel_config"_a = nb::none());
  return {"group_norm", "batch_norm"};
}

[[maybe_unused]] const bool kNormsAdded = add_card_operators(bind_norms);

}  // namespace
}  // namespace tessera::python
