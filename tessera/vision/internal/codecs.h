#pragma once

// The two file formats. Each reads a picture as it lies in the file; image.cpp turns it upright.

#include "tessera/vision/image.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::vision {

struct Decoded {
  Image image;
  int orientation = 1;  // of EXIF: 1 to 8
};

Decoded decode_png(std::span<const std::byte> file, const ImageLimits& limits);
Decoded decode_jpeg(std::span<const std::byte> file, const ImageLimits& limits);

std::vector<std::byte> encode_png(const Image& image);
std::vector<std::byte> encode_jpeg(const Image& image);

// Refuses extents that are not positive, or too many pixels.
void check_extents(std::int64_t width, std::int64_t height, const ImageLimits& limits);

// The orientation that EXIF data say, from their TIFF header on; 1 if they say none, or nonsense.
int exif_orientation(std::span<const std::byte> tiff);

// The picture as it is meant to be seen.
Image upright(Image image, int orientation);

}  // namespace tessera::vision
