#include "tessera/vision/image.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/vision/internal/codecs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

constexpr std::string_view kPngMark = "\x89PNG\r\n\x1a\n", kJpegMark = "\xff\xd8\xff";

// Formats that are known by their first bytes, and not read.
struct OtherFormat {
  std::string_view name;
  std::size_t at;
  std::string_view mark;
};
constexpr std::array kOtherFormats{
    OtherFormat{"GIF", 0, "GIF8"},    OtherFormat{"WebP", 8, "WEBP"},    OtherFormat{"BMP", 0, "BM"},
    OtherFormat{"TIFF", 0, "II*"},    OtherFormat{"TIFF", 0, "MM"},      OtherFormat{"HEIF or AVIF", 4, "ftyp"},
    OtherFormat{"JPEG XL", 4, "JXL"}, OtherFormat{"JPEG 2000", 4, "jP"}, OtherFormat{"PDF", 0, "%PDF"},
};

bool has_mark(std::span<const std::byte> file, std::size_t at, std::string_view mark) {
  return file.size() >= at + mark.size() &&
         std::equal(mark.begin(), mark.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
}

std::string lower_ending(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

}  // namespace

void vision::check_extents(std::int64_t width, std::int64_t height, const ImageLimits& limits) {
  check(width > 0 && height > 0, Code::parse, "the picture says that it is {} x {} pixels", width, height);
  check(width <= limits.pixels / height, Code::unsupported, Hint{"make it smaller first"},
        "the picture says that it is {} x {} pixels: more than {} are not read", width, height, limits.pixels);
}

Image::Image(std::int64_t width_px, std::int64_t height_px, std::uint8_t value)
    : Image(width_px, height_px,
            std::vector<std::uint8_t>(static_cast<std::size_t>(std::max<std::int64_t>(0, width_px) *
                                                               std::max<std::int64_t>(0, height_px) * 3),
                                      value)) {}

Image::Image(std::int64_t width_px, std::int64_t height_px, std::vector<std::uint8_t> rgb_bytes)
    : width(width_px), height(height_px), rgb(std::move(rgb_bytes)) {
  check(width > 0 && height > 0, Code::invalid_argument, "a picture of {} x {} pixels has nothing in it", width,
        height);
  check(static_cast<std::int64_t>(rgb.size()) == width * height * 3, Code::invalid_argument,
        "a picture of {} x {} pixels has {} bytes, {} were given", width, height, width * height * 3, rgb.size());
}

Image decode_image(std::span<const std::byte> file, const ImageLimits& limits) {
  if (has_mark(file, 0, kPngMark)) {
    vision::Decoded png = vision::decode_png(file, limits);
    return vision::upright(std::move(png.image), png.orientation);
  }
  if (has_mark(file, 0, kJpegMark)) {
    vision::Decoded jpeg = vision::decode_jpeg(file, limits);
    return vision::upright(std::move(jpeg.image), jpeg.orientation);
  }
  for (const OtherFormat& other : kOtherFormats)
    check(!has_mark(file, other.at, other.mark), Code::unsupported, Hint{"convert it to PNG or JPEG"},
          "this is a {} file, and pictures are read from PNG and JPEG", other.name);
  fail(Code::parse, "this is neither PNG nor JPEG: the first bytes are those of neither");
}

Image load_image(const std::filesystem::path& path, const ImageLimits& limits) {
  return with_context(fmt::format("while reading the picture '{}'", path.string()),
                      [&] { return decode_image(read_file(path, limits.file_bytes), limits); });
}

std::vector<std::byte> encode_image(const Image& image, ImageFormat format) {
  check(!image.empty(), Code::invalid_argument, "a picture without pixels cannot be written");
  return format == ImageFormat::png ? vision::encode_png(image) : vision::encode_jpeg(image);
}

void save_image(const std::filesystem::path& path, const Image& image) {
  const std::string ending = lower_ending(path);
  check(has_image_name(path), Code::invalid_argument, Hint{"end the name in .png or .jpg"},
        "'{}' does not say which format to write", path.string());
  write_file_atomically(path, encode_image(image, ending == ".png" ? ImageFormat::png : ImageFormat::jpeg),
                        Directories::create);
}

bool has_image_name(const std::filesystem::path& path) {
  const std::string ending = lower_ending(path);
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

}  // namespace tessera
