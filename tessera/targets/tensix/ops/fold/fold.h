#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <array>

namespace tessera::tensix {

struct FoldOptions {
  std::int64_t stride_h = 1, stride_w = 1;
  std::array<std::int64_t, 4> padding{};  // top, bottom, left, right; zeros
  bool collapse = false;                  // [1, 1, n h w, c] instead of [n, h, w, c]
};

// Space to depth: [n, h, w, c] to [n, h / sh, w / sw, c sh sw], the pixels of a block one after the other, row by row.
// The result is in ROW_MAJOR, interleaved where x is, or dealt to the cores of a height-sharded x.
TSR_API DeviceTensor fold(const DeviceTensor& x, const FoldOptions& options);

}  // namespace tessera::tensix
