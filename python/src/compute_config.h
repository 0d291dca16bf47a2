#pragma once

// What users pass to operators beside tensors: how exactly to compute, and functions to apply on the way.

#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::python {

enum class TtnnMathFidelity : std::uint8_t { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4, Invalid = 255 };

// Python's ComputeKernelConfig: a ComputeConfig whose fidelity may have been left open.
struct KernelConfig {
  TtnnMathFidelity math_fidelity = TtnnMathFidelity::Invalid;
  bool math_approx_mode = true, fp32_dest_acc_en = false, packer_l1_acc = false, dst_full_sync_en = false;
  int throttle_level = 0;  // pauses between products: time that is not modelled
  bool operator==(const KernelConfig&) const = default;
};
// A fidelity that was left open is LoFi.
tensix::ComputeConfig plain(const KernelConfig& config);
std::optional<tensix::ComputeConfig> plain(const std::optional<KernelConfig>& config);

// ttnn.UnaryWithParam.
struct UnaryWithParam {
  tensix::VectorFunction function;
  int op_type = 0;  // TTNN's number
  std::vector<float> parameters = {};
};

// From a sequence of UnaryWithParam or UnaryOpType; from one of them, or a name.
std::vector<tensix::VectorFunction> functions_of(const nanobind::object& sequence);
tensix::VectorFunction function_of(const nanobind::handle& value, bool names);

}  // namespace tessera::python
