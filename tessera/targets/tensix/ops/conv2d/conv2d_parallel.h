#pragma once

// How a convolution's rows and channels are dealt to cores.

#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <cstdint>
#include <optional>

namespace tessera::tensix {

// The most parts, at most `most`, into which `units` can be dealt in equal shares of a multiple of `multiple` units
// with no part left empty. At least 1.
std::int64_t fullest_parts(std::int64_t units, std::int64_t most, std::int64_t multiple = 1);

// The largest number up to `most` that divides n; any number divides 0.
std::int64_t largest_divisor(std::int64_t n, std::int64_t most);

// `cores` dealt as the layout says: all along rows, all along channels, or a rectangle whose rows of cores take rows of
// the tensor (row-major) or its channels (column-major).
Parallel parallel_over(TensorMemoryLayout layout, CoreRangeSet cores, ShardOrientation orientation);

// Channels of a shard are a multiple of this: 16 bytes of bfloat16 where sticks are copied as they are, a tile
// otherwise. A shard that is there already says how finely its channels may be cut.
std::int64_t channel_alignment(TensorMemoryLayout layout, Layout input_layout, bool as_matmul,
                               const std::optional<Extent2d>& shard = std::nullopt);

// The cores that a layout takes when nothing is overridden.
Parallel choose_input_cores(const Conv2dProblem& problem, TensorMemoryLayout layout, std::int64_t alignment,
                            bool as_matmul, const TensixSpec& card);

// Rows stay where they are; channels are dealt anew within `grid`.
Parallel choose_output_cores(const Parallel& input, std::int64_t out_channels, CoreGrid grid, bool as_matmul);

Extent2d input_shard_of(const Conv2dProblem& problem, const Parallel& parallel, std::int64_t alignment);
Extent2d output_shard_of(const Conv2dProblem& problem, const Parallel& parallel);

}  // namespace tessera::tensix
