#pragma once

// What pools and upsampling come to on the card. Images are batch x height x width x channels, holding values of their
// type; results are what Dst holds, before packing (Rounding::packer).

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::tensix {

struct TSR_API PoolValues {
  std::int64_t batch = 1, height = 0, width = 0, channels = 0;
  SlidingWindow window = {};
  bool ceil_mode = false;  // windows may start inside and end behind the padding, if they start before it
  ComputeConfig compute = {};
  // Averages only.
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};

  std::int64_t out_h() const;
  std::int64_t out_w() const;
};

// Exact, whatever the fidelity. NaN passes.
TSR_API std::vector<float> max_pool_values(const PoolValues& pool, std::span<const float> input);

// Where in its image each maximum is, row * width + column: the first of equal ones; NaN before numbers.
TSR_API std::vector<std::uint32_t> max_pool_indices(const PoolValues& pool, std::span<const float> input);

// The window's values, row by row with zeros around the image, times 1 / divisor rounded to bfloat16.
TSR_API std::vector<float> average_pool_values(const PoolValues& pool, std::span<const float> input);

// By whole factors. Nearest is exact; bilinear multiplies the four pixels around (those at the border repeated, pixels
// lying at their centres) by weights in bfloat16.
TSR_API std::vector<float> upsample_nearest_values(const PoolValues& image, std::int64_t scale_h, std::int64_t scale_w,
                                                   std::span<const float> input);
TSR_API std::vector<float> upsample_bilinear_values(const PoolValues& image, std::int64_t scale_h, std::int64_t scale_w,
                                                    std::span<const float> input);

}  // namespace tessera::tensix
