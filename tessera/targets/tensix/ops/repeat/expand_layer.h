#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

// A value repeated along dimensions of one element: its matrix as a tensor of more dimensions, channels last.
struct ExpandLayer {
  std::vector<std::int64_t> dims, expanded;

  const CardOp* op() const;
};

}  // namespace tessera::tensix
