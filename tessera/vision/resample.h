#pragma once

// Pictures of another size, with the bits of Pillow's Image.resize() in each direction: weights over all pixels that a
// new one covers (so that a smaller picture has no jagged edges), in whole numbers. Widths are changed first, then
// heights; Pillow at times has it the other way round, which rounds differently by 2 of 255 at most (bilinear).

#include "tessera/core/export.h"
#include "tessera/vision/image.h"
#include "tessera/vision/preprocessing.h"

#include <cstdint>

namespace tessera {

TSR_API Image resample(const Image& image, std::int64_t width, std::int64_t height, Filter filter);

}  // namespace tessera
