#pragma once

// Pictures of another size. What comes out has the bits of Pillow's Image.resize(): weights over all pixels that a new
// one covers (so that a smaller picture has no jagged edges), whole numbers, rows first.

#include "tessera/core/export.h"
#include "tessera/vision/image.h"
#include "tessera/vision/preprocessing.h"

#include <cstdint>

namespace tessera {

TSR_API Image resample(const Image& image, std::int64_t width, std::int64_t height, Filter filter);

}  // namespace tessera
