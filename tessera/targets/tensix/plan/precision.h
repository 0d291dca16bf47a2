#pragma once

// How exactly a layer computes: what its results and weights are rounded to, and how much of each product is taken.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/ops/layer_config.h"

#include <string>

namespace tessera::tensix {

struct TSR_API StepPrecision {
  DType dtype = DType::bfloat8_b, weights_dtype = DType::bfloat8_b;
  MathFidelity fidelity = MathFidelity::lofi;
  bool fp32_dest_acc_en = false;
  bool operator==(const StepPrecision&) const = default;

  void apply_to(tensix::LayerConfig& config) const;
  std::string to_string() const;  // "bfloat8_b, weights bfloat8_b, LoFi"
};

}  // namespace tessera::tensix
