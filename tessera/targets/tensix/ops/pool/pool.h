#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_slice.h"
#include "tessera/targets/tensix/ops/pool/pool_plan.h"

#include <optional>
#include <utility>

namespace tessera::tensix {

struct PoolOptions {
  std::int64_t batch = 1, height = 0, width = 0, channels = 0;
  SlidingWindow window = {};
  bool ceil_mode = false;
  bool count_include_pad = true;                      // averages only
  std::optional<std::int64_t> divisor_override = {};  // averages only
  std::optional<MemoryConfig> memory_config = {};
  std::optional<TensorMemoryLayout> scheme = {};  // for an input that is not sharded; default: what takes least L1
  bool deallocate_input = false;
  bool reallocate_halo = true;
  DType dtype = DType::bfloat16;
  Layout layout = Layout::row_major;
  std::optional<ComputeConfig> compute = {};
  bool lists_in_dram = false;  // of windows and sticks; default: in L1_SMALL
  // Of an image in DRAM. None, or 0 slices: whole if it fits, else as few slices as fit.
  std::optional<Conv2dSliceConfig> slice = {};
};

// Over x, [1, 1, n h w, c] or [n, h, w, c], to [1, 1, n oh ow, c]. The image is sharded if it is not, rows are gathered
// by a halo, and the result stays in the shards' cores unless memory_config says otherwise. x is freed only when it is
// deallocated on request. In slices the result is [n, oh, ow, c] in DRAM, whatever memory_config says, as TTNN's is.
TSR_API DeviceTensor pool2d(PoolKind kind, DeviceTensor& x, const PoolOptions& options);

// Maxima, and where in its image (row * width + column) each was found: the first of equal ones, NaN before numbers.
// Indices are uint16, or uint32 where images have more pixels than that can count. In ROW_MAJOR layout only, and never
// in slices: TTNN ignores `slice` here.
TSR_API std::pair<DeviceTensor, DeviceTensor> max_pool2d_with_indices(DeviceTensor& x, const PoolOptions& options);

// The mean over all pixels of [n, h, w, c] (or [h, w, c], [h, w]): [n, 1, 1, c] in TILE layout, interleaved.
TSR_API DeviceTensor global_avg_pool2d(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
