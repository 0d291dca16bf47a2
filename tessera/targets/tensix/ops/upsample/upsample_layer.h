#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"

#include <cstdint>

namespace tessera::tensix {

// Images of another size.
struct UpsampleLayer {
  std::int64_t batch = 1, height = 0, width = 0, channels = 0, scale_h = 1, scale_w = 1;
  UpsampleMode mode = UpsampleMode::nearest;
  // Instead: what each row and each column of the result is made of, new x old; null: they stay as they are. Any
  // interpolation is a product with such matrices.
  Constant rows = nullptr, columns = nullptr;

  bool by_products() const { return rows != nullptr || columns != nullptr; }

  const CardOp* op() const;
};

}  // namespace tessera::tensix
