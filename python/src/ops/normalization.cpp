// softmax, layer_norm, rms_norm, embedding.

#include "card_operators.h"
#include "compute_config.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/embedding/embedding.h"
#include "tessera/targets/tensix/ops/layer_norm/layer_norm.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"

#include <nanobind/stl/optional.h>

#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

void bind_row_norm(nb::module_& module, const char* op, tensix::RowNorm norm) {
  module.def(
      op,
      [op, norm](const AnyTensor& x, float epsilon, const OptionalTensor& weight, const OptionalTensor& bias,
                 const OptionalTensor& residual, const OptionalConfig& config,
                 const std::optional<KernelConfig>& compute) {
        return AnyTensor(
            tensix::layer_norm(norm, x.device(op),
                               {epsilon, device_tensor(weight, "the weight"), device_tensor(bias, "the bias"),
                                device_tensor(residual, "the residual"), config, plain(compute)}));
      },
      "input_tensor"_a, nb::kw_only(), "epsilon"_a = 1e-12F, "weight"_a = nb::none(), "bias"_a = nb::none(),
      "residual_input_tensor"_a = nb::none(), "memory_config"_a = nb::none(), "compute_kernel_config"_a = nb::none());
}

std::vector<std::string> bind_normalization(nb::module_& module) {
  module.def(
      "softmax",
      [](const AnyTensor& x, int dim, const OptionalConfig& config, const std::optional<KernelConfig>& compute, bool) {
        return AnyTensor(tensix::softmax(x.device("softmax"), dim, config, plain(compute)));
      },
      "input_tensor"_a, "dim"_a = -1, nb::kw_only(), "memory_config"_a = nb::none(),
      "compute_kernel_config"_a = nb::none(), "numeric_stable"_a = true);
  bind_row_norm(module, "layer_norm", tensix::RowNorm::layer);
  bind_row_norm(module, "rms_norm", tensix::RowNorm::rms);
  module.def(
      "embedding",
      [](const AnyTensor& x, const AnyTensor& weight, std::optional<Layout> layout, const OptionalConfig& config) {
        return AnyTensor(tensix::embedding(x.device("embedding"), weight.device("embedding"), layout, config));
      },
      "input_tensor"_a, "weight"_a, nb::kw_only(), "layout"_a = nb::none(), "memory_config"_a = nb::none());
  return {"softmax", "layer_norm", "rms_norm", "embedding"};
}

[[maybe_unused]] const bool kNormalizationAdded = add_card_operators(bind_normalization);

}  // namespace
}  // namespace tessera::python
