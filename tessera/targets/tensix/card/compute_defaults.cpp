#include "tessera/targets/tensix/card/compute_defaults.h"

namespace tessera::tensix {

ComputeConfig precise_compute(const TensixSpec& card) {
  constexpr int kMostPhases = 4;
  return {.fidelity = static_cast<MathFidelity>(card.float32_phases.value_or(kMostPhases) - 1),
          .fp32_dest_acc_en = true};
}

ComputeConfig default_matmul_compute(DType a, DType b, DType out, bool user_program, const TensixSpec& card) {
  ComputeConfig c{.fidelity = MathFidelity::hifi2,
                  .approximate = false,
                  .fp32_dest_acc_en = out == DType::float32,
                  .packer_l1_acc = out != DType::float32};
  if (user_program || (is_block_float(a) && is_block_float(b))) c.fidelity = MathFidelity::lofi;
  if (a == DType::float32 && b == DType::float32) c.fidelity = precise_compute(card).fidelity;
  return c;
}

}  // namespace tessera::tensix
