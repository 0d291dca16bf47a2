// The orientation of a picture: one number among the EXIF data that cameras write.

#include "tessera/vision/internal/codecs.h"

#include <optional>
#include <utility>

namespace tessera::vision {
namespace {

// A TIFF structure of either byte order. What lies outside of it is not there.
class Tiff {
 public:
  explicit Tiff(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (bytes.size() < 8) return;
    const auto byte = [&](std::size_t i) { return std::to_integer<char>(bytes[i]); };
    if (byte(0) != byte(1) || (byte(0) != 'I' && byte(0) != 'M')) return;
    big_ = byte(0) == 'M';
    valid_ = number(2, 2) == 42U;
  }

  bool valid() const { return valid_; }

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = (value << 8) | std::to_integer<std::uint32_t>(bytes_[at + (big_ ? i : size - 1 - i)]);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool big_ = false, valid_ = false;
};

}  // namespace

int exif_orientation(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  const Tiff tiff(bytes);
  if (!tiff.valid()) return 1;
  const std::size_t directory = tiff.number(4, 4).value_or(0);
  const std::uint32_t entries = tiff.number(directory, 2).value_or(0);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.number(entry, 2) != kOrientation || tiff.number(entry + 2, 2) != kShort) continue;
    const std::uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  const bool turned = orientation >= 5;  // rows were columns
  // Where the first row and the first column of the file are seen: EXIF counts the eight cases so.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Image out(turned ? image.height : image.width, turned ? image.width : image.height);
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      const std::int64_t seen_x = from_right ? out.width - 1 - x : x;
      const std::int64_t seen_y = from_below ? out.height - 1 - y : y;
      const std::uint8_t* from = turned ? image.pixel(seen_y, seen_x) : image.pixel(seen_x, seen_y);
      std::uint8_t* to = out.pixel(x, y);
      for (int c = 0; c < 3; ++c) to[c] = from[c];
    }
  return out;
}

}  // namespace tessera::vision
