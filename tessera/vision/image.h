#pragma once

// Pictures in memory, and PNG and JPEG files of them.

#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tessera {

// Red, green and blue of 8 bits each, row by row from the top.
struct TSR_API Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;

  Image() = default;
  Image(std::int64_t width_px, std::int64_t height_px, std::uint8_t value = 0);               // of one grey
  Image(std::int64_t width_px, std::int64_t height_px, std::vector<std::uint8_t> rgb_bytes);  // an Error if too few

  bool empty() const { return rgb.empty(); }
  std::uint8_t* pixel(std::int64_t x, std::int64_t y) { return rgb.data() + (y * width + x) * 3; }
  const std::uint8_t* pixel(std::int64_t x, std::int64_t y) const { return rgb.data() + (y * width + x) * 3; }
  bool operator==(const Image&) const = default;
};

// What a file may ask for at most. A picture that says it is larger is refused before memory is taken for it.
struct ImageLimits {
  std::int64_t pixels = 100'000'000;
  std::uint64_t file_bytes = std::uint64_t{1} << 30;
};

// PNG or JPEG, told by its first bytes. The picture is turned upright as its EXIF orientation says. Grey becomes RGB,
// 16 bits become 8, transparent parts show white, CMYK is converted without a colour profile. A damaged or truncated
// file is an Error.
TSR_API Image decode_image(std::span<const std::byte> file, const ImageLimits& limits = {});
TSR_API Image load_image(const std::filesystem::path& path, const ImageLimits& limits = {});

enum class ImageFormat : std::uint8_t { png, jpeg };

TSR_API std::vector<std::byte> encode_image(const Image& image, ImageFormat format);
// The format is that of the ending: .png, .jpg or .jpeg. Replaces the file in one step.
TSR_API void save_image(const std::filesystem::path& path, const Image& image);

// Whether a path ends like a picture that load_image() reads.
TSR_API bool has_image_name(const std::filesystem::path& path);

}  // namespace tessera
