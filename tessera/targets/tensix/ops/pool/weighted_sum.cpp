#include "tessera/targets/tensix/ops/pool/weighted_sum.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"

#include <algorithm>
#include <array>

namespace tessera::tensix {

float weighted_sum(std::span<const float> values, std::span<const float> scalers, const ComputeConfig& compute) {
  check(values.size() == scalers.size(), Code::invalid_argument, "{} values need as many scalers, not {}",
        values.size(), scalers.size());
  float dst = 0;
  for (std::size_t first = 0; first < values.size(); first += kTile) {
    std::array<float, kTile> weights = {}, activations = {};
    const std::size_t count = std::min<std::size_t>(kTile, values.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      weights[i] = widen(values[first + i]);
      activations[i] = widen(scalers[first + i]);
    }
    for (int phase = 0; phase < phases(compute.fidelity); ++phase)
      for (std::size_t face = 0; face < count; face += kFace)
        dst = multiply_add(std::span<const float, kFace>(activations.data() + face, kFace),
                           std::span<const float, kFace>(weights.data() + face, kFace), phase, dst,
                           compute.fp32_dest_acc_en);
  }
  return dst;
}

}  // namespace tessera::tensix
