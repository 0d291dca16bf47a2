// PNG through libpng. Its errors leave by longjmp: the functions that call setjmp hold nothing that has a destructor.

#include "tessera/core/error.h"
#include "tessera/vision/internal/codecs.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

namespace tessera::vision {
namespace {

constexpr std::uint64_t kMostInflation = 1032;  // of deflate: bytes that come of one
constexpr png_alloc_size_t kChunkBytes = 1 << 20;
constexpr png_uint_32 kChunks = 128;

struct Fault {
  std::array<char, 256> text{};
};

[[noreturn]] void escape(png_structp png, png_const_charp text) {
  Fault& fault = *static_cast<Fault*>(png_get_error_ptr(png));
  std::snprintf(fault.text.data(), fault.text.size(), "%s", text);
  png_longjmp(png, 1);
}
void no_warning(png_structp, png_const_charp) {}

// libpng takes the memory that an eXIf chunk claims before it reads the chunk: no claim may reach beyond the file.
bool chunks_fit(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8, kAroundData = 12;  // length and type before it, a checksum behind it
  for (std::size_t at = kSignature; at < file.size();) {
    const std::span<const std::byte> rest = file.subspan(at);
    if (rest.size() < kAroundData) return false;
    if (std::memcmp(&rest[4], "IEND", 4) == 0) return true;  // what comes behind is not read
    std::size_t length = 0;
    for (const std::byte byte : rest.first(4)) length = length << 8 | std::to_integer<std::size_t>(byte);
    if (length > rest.size() - kAroundData) return false;
    at += length + kAroundData;
  }
  return true;
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> file)
      : rest_(file), png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &fault_, escape, no_warning)) {
    check(png_ != nullptr, Code::out_of_memory, "there is no memory to read a PNG file with");
  }
  ~Reader() { png_destroy_read_struct(&png_, info_ != nullptr ? &info_ : nullptr, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) png_error(png_, "no memory");
    if (!chunks_fit(rest_)) png_error(png_, "it ends early");
    png_set_chunk_malloc_max(png_, kChunkBytes);
    png_set_chunk_cache_max(png_, kChunks);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // ours have a better text
    png_set_read_fn(png_, this, read);
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    file_row_bytes_ = png_get_rowbytes(png_, info_);
    return true;
  }

  // Takes memory for rows: what the header claims has been checked before.
  bool choose_form() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_scale_16(png_);
    png_set_expand(png_);  // palettes, greys of fewer bits, one transparent colour
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
    return true;
  }

  // `rows` points to height() rows of width() * channels() bytes.
  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, info_);
    return true;
  }

  int orientation() {
    png_bytep exif = nullptr;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(png_, info_, &size, &exif) == 0 || exif == nullptr) return 1;
    return exif_orientation(std::as_bytes(std::span(exif, size)));
  }

  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  std::size_t channels() const { return channels_; }
  std::uint64_t file_row_bytes() const { return file_row_bytes_; }
  const char* fault() const { return fault_.text.data(); }

 private:
  static void read(png_structp png, png_bytep to, std::size_t count) {
    Reader& self = *static_cast<Reader*>(png_get_io_ptr(png));
    if (count > self.rest_.size()) png_error(png, "it ends early");
    std::memcpy(to, self.rest_.data(), count);
    self.rest_ = self.rest_.subspan(count);
  }

  Fault fault_;
  std::span<const std::byte> rest_;
  png_structp png_;
  png_infop info_ = nullptr;
  std::int64_t width_ = 0, height_ = 0;
  std::size_t channels_ = 0;
  std::uint64_t file_row_bytes_ = 0;
};

// What shows through is white.
std::vector<std::uint8_t> on_white(std::span<const std::uint8_t> rgba) {
  std::vector<std::uint8_t> rgb(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgba.size() / 4; ++i) {
    const int alpha = rgba[i * 4 + 3];
    for (std::size_t c = 0; c < 3; ++c)
      rgb[i * 3 + c] = static_cast<std::uint8_t>((rgba[i * 4 + c] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
  return rgb;
}

class Writer {
 public:
  Writer() : png_(png_create_write_struct(PNG_LIBPNG_VER_STRING, &fault_, escape, no_warning)) {
    check(png_ != nullptr, Code::out_of_memory, "there is no memory to write a PNG file with");
  }
  ~Writer() { png_destroy_write_struct(&png_, info_ != nullptr ? &info_ : nullptr); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool write(const Image& image) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) png_error(png_, "no memory");
    png_set_write_fn(png_, this, append, [](png_structp) {});
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (std::int64_t y = 0; y < image.height; ++y) png_write_row(png_, image.pixel(0, y));
    png_write_end(png_, info_);
    return true;
  }

  std::vector<std::byte> bytes() && { return std::move(bytes_); }
  const char* fault() const { return fault_.text.data(); }

 private:
  static void append(png_structp png, png_bytep from, std::size_t count) {
    Writer& self = *static_cast<Writer*>(png_get_io_ptr(png));
    const auto bytes = std::as_bytes(std::span(from, count));
    try {
      self.bytes_.insert(self.bytes_.end(), bytes.begin(), bytes.end());
    } catch (...) {
      self.full_ = true;
    }
    if (self.full_) png_error(png, "no memory");
  }

  Fault fault_;
  png_structp png_;
  png_infop info_ = nullptr;
  std::vector<std::byte> bytes_;
  bool full_ = false;
};

}  // namespace

Decoded decode_png(std::span<const std::byte> file, const ImageLimits& limits) {
  Reader reader(file);
  check(reader.read_header(), Code::parse, "the PNG file is damaged: {}", reader.fault());
  check_extents(reader.width(), reader.height(), limits);
  check(reader.file_row_bytes() * static_cast<std::uint64_t>(reader.height()) / kMostInflation <= file.size(),
        Code::parse, "the PNG file is damaged: it says that it is {} x {} pixels, which {} bytes cannot hold",
        reader.width(), reader.height(), file.size());
  check(reader.choose_form(), Code::parse, "the PNG file is damaged: {}", reader.fault());
  const std::size_t row_bytes = static_cast<std::size_t>(reader.width()) * reader.channels();
  std::vector<std::uint8_t> pixels(row_bytes * static_cast<std::size_t>(reader.height()));
  std::vector<png_bytep> rows(static_cast<std::size_t>(reader.height()));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = pixels.data() + y * row_bytes;
  check(reader.read_rows(rows.data()), Code::parse, "the PNG file is damaged: {}", reader.fault());
  if (reader.channels() == 4) pixels = on_white(pixels);
  return {Image(reader.width(), reader.height(), std::move(pixels)), reader.orientation()};
}

std::vector<std::byte> encode_png(const Image& image) {
  Writer writer;
  check(writer.write(image), Code::internal, "cannot write a PNG file: {}", writer.fault());
  return std::move(writer).bytes();
}

}  // namespace tessera::vision
