#include "tessera/targets/tensix/ops/permute/permute.h"

#include "any_tensor.h"
#include "card_operators.h"

#include "tessera/core/error.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

AnyTensor permuted(const AnyTensor& x, const std::vector<std::int64_t>& order,
                   const std::optional<tensix::MemoryConfig>& config, std::optional<float> pad_value) {
  check(pad_value.value_or(0) == 0, Code::unsupported, "permute: padding is filled with zeros only, not with {}",
        *pad_value);
  return AnyTensor(tensix::permute(x.device("permute"), order, config));
}

std::vector<std::string> bind_permute(nb::module_& module) {
  module.def("permute", &permuted, "input_tensor"_a, "dims"_a, nb::kw_only(), "memory_config"_a = nb::none(),
             "pad_value"_a = nb::none(), "Dimension i of the result is dimension dims[i] of the input.");
  return {"permute"};
}

[[maybe_unused]] const bool kPermuteAdded = add_card_operators(bind_permute);

}  // namespace
}  // namespace tessera::python
