#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <array>
#include <optional>

namespace tessera::tensix {

enum class UpsampleMode : std::uint8_t { nearest, bilinear };

struct UpsampleOptions {
  std::array<double, 2> scale{1, 1};  // of height and width
  UpsampleMode mode = UpsampleMode::nearest;
  std::optional<MemoryConfig> memory_config = {};
  std::optional<ComputeConfig> compute = {};
};

// What of `compute` images can grow with: bilinear mode does not sum in float32.
TSR_API ComputeConfig upsample_compute(ComputeConfig compute, UpsampleMode mode);

// [n, h, w, c] to [n, floor(h sh), floor(w sw), c]. Nearest: any dtype, interleaved or sharded, in ROW_MAJOR, or in
// TILE when interleaved and scaled by whole numbers. Bilinear: bfloat16 in ROW_MAJOR, whole numbers; an interleaved
// image is height-sharded first, and the windows' rows are gathered by a halo.
TSR_API DeviceTensor upsample(const DeviceTensor& x, const UpsampleOptions& options);

}  // namespace tessera::tensix
