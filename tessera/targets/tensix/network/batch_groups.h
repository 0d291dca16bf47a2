#pragma once

// Images of a batch side by side in the channels of one, each a group of its own: as many products that count, on rows
// that are so many times fewer and wider. Few channels fill tiles so, and a core gathers a window in fewer, longer
// pieces; the zeros that a convolution's weights have between groups cost nothing until they do not fit a tile.
//
// N C H W as N/k kC H W is the same array on the host.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/network/lower.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

// Numbers of images that could go together, without 1: divisors of the batch. None where an operator mixes images, rows
// or channels in another way than convolutions and pools do.
TSR_API std::vector<std::int64_t> image_groups(const LoweredGraph& network);

// The network with so many images together. Refuses what is not one of image_groups(), but for 1.
TSR_API LoweredGraph group_images(LoweredGraph network, std::int64_t images);

// A value's shape there.
TSR_API Shape grouped_shape(const Shape& shape, std::int64_t images);

}  // namespace tessera::tensix
