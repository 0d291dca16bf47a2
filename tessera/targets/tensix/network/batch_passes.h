#pragma once

// A network for another number of images: what a batch takes that goes through a card in several passes.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/network/lower.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::tensix {

// Images that go through the network side by side and have nothing to do with each other. None: they may have, or an
// operator does not say which rows are whose.
TSR_API std::optional<std::int64_t> independent_images(const LoweredGraph& network);

// The same for so many images. Refuses networks without independent_images().
TSR_API LoweredGraph with_images(LoweredGraph network, std::int64_t images);

// Images [first, first + images) of a batch; behind its end they are zeros.
TSR_API Array images_of(const Array& batch, std::int64_t first, std::int64_t images);

// Parts one after the other, as many images as there are in the batch.
TSR_API Array joined_images(std::span<const Array> parts, std::int64_t images);

}  // namespace tessera::tensix
