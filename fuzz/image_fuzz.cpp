#include "fuzz.h"

#include "tessera/core/error.h"
#include "tessera/vision/image.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace {

constexpr std::int64_t kPixels = 1 << 20;

std::uint32_t big_endian(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

// Changed bytes would only ever fail the checksums of PNG's chunks: they are made right again.
std::vector<std::byte> with_checksums(std::span<const std::byte> file) {
  std::vector<std::byte> out(file.begin(), file.end());
  constexpr std::size_t kMark = 8, kAround = 12;
  if (out.size() < kMark || out[1] != std::byte{'P'}) return out;
  for (std::size_t at = kMark; at + kAround <= out.size();) {
    const std::size_t length = big_endian(&out[at]);
    if (length > out.size() - at - kAround) break;
    const auto sum = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(&out[at + 4]), static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) out[at + 8 + length + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    at += kAround + length;
  }
  return out;
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  std::optional<tessera::Image> image;
  try {
    image = tessera::decode_image(with_checksums(std::as_bytes(input)), {.pixels = kPixels});
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  using tessera::fuzz::require;
  require(image->width * image->height <= kPixels, "no more pixels than are allowed");
  require(std::ssize(image->rgb) == image->width * image->height * 3, "three bytes for each pixel");
  if (image->width * image->height > 1 << 14) return 0;  // writing it would only take time
  require(tessera::decode_image(tessera::encode_image(*image, tessera::ImageFormat::png)) == *image,
          "written as PNG and read again is equal");
  const tessera::Image jpeg = tessera::decode_image(tessera::encode_image(*image, tessera::ImageFormat::jpeg));
  require(jpeg.width == image->width && jpeg.height == image->height, "written as JPEG it keeps its size");
  return 0;
}
