#include "tessera/targets/tensix/plan/precision.h"

#include <fmt/format.h>

namespace tessera::tensix {

void StepPrecision::apply_to(tensix::LayerConfig& config) const {
  config.dtype = dtype;
  config.weights_dtype = weights_dtype;
  config.fidelity = fidelity;
  config.fp32_dest_acc_en = fp32_dest_acc_en;
  config.packer_l1_acc = true;
}

std::string StepPrecision::to_string() const {
  return fmt::format("{}, weights {}, {}{}", name(dtype), name(weights_dtype), name(fidelity),
                     fp32_dest_acc_en ? ", sums in float32" : "");
}

}  // namespace tessera::tensix
