#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::tensix {

// A value with more around it: its matrix as a tensor of more dimensions, channels last, and what is added to each.
struct PadLayer {
  std::vector<std::int64_t> dims;
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;  // before and after
  float value = 0;
  std::int64_t images = 1;  // of the batch, whole ones of dims[0]

  const CardOp* op() const;
};

}  // namespace tessera::tensix
