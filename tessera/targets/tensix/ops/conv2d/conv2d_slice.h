#pragma once

// A convolution whose image stays in DRAM and is computed piece by piece, for images that L1 cannot hold at once.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

enum class Conv2dSliceType : std::uint8_t { l1_full, dram_width, dram_height };

struct Conv2dSliceConfig {
  Conv2dSliceType type = Conv2dSliceType::l1_full;
  std::int64_t num_slices = 0;  // 0: the fewest that fit
  bool operator==(const Conv2dSliceConfig&) const = default;
};

// Along which axis an image is cut when nobody says: tall ones by rows, wide ones by columns.
TSR_API Conv2dSliceType natural_slice_type(const Conv2dProblem& problem);

// How many slices there can be: one row or column each; in TILE layout columns go by whole tiles.
TSR_API std::int64_t most_slices(const Conv2dProblem& problem, Conv2dSliceType type);

// The problem that each slice is: as many output rows or columns as the others or one (tile) more, the input they
// reach, and the padding that falls to it. The input comes row by row in DRAM, the output in tiles; for an output in
// tiles, columns beyond the image that fill its last tile are computed too. Refuses slice counts that cannot be.
// The image of a transposed convolution has pixels `spread` apart.
TSR_API std::vector<Conv2dProblem> slice_conv2d(const Conv2dProblem& problem, Conv2dSliceType type, std::int64_t count,
                                                std::int64_t spread_h = 1, std::int64_t spread_w = 1);

}  // namespace tessera::tensix
