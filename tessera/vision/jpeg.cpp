// JPEG through libjpeg. The library reports errors by a function that must not return: longjmp leaves its frames, so
// the functions that call setjmp hold nothing that has a destructor.

#include "tessera/core/error.h"
#include "tessera/vision/internal/codecs.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tessera::vision {
namespace {

constexpr int kQuality = 92;
constexpr int kMostScans = 200;                 // real ones have about ten; thousands would only take time
constexpr std::uint64_t kPixelsPerByte = 2048;  // the flattest picture has a few hundred
constexpr std::string_view kExif("Exif\0\0", 6);

struct Fault {
  jpeg_error_mgr manager{};
  std::jmp_buf escape{};
  std::array<char, JMSG_LENGTH_MAX> text{};
};

[[noreturn]] void escape(j_common_ptr info) {
  Fault& fault = *reinterpret_cast<Fault*>(info->err);
  info->err->format_message(info, fault.text.data());
  std::longjmp(fault.escape, 1);
}

// Warnings about missing or damaged data are errors here: the library would go on with grey.
void on_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 &&
      (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE))
    escape(info);
}

void limit_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  Fault& fault = *reinterpret_cast<Fault*>(info->err);
  std::snprintf(fault.text.data(), fault.text.size(), "more than %d scans", kMostScans);
  std::longjmp(fault.escape, 1);
}

void watch(Fault& fault) {
  jpeg_std_error(&fault.manager);
  fault.manager.error_exit = escape;
  fault.manager.emit_message = on_message;
}

class Reader {
 public:
  Reader() {
    watch(fault_);
    info_.err = &fault_.manager;
    progress_.progress_monitor = limit_scans;
  }
  ~Reader() { jpeg_destroy_decompress(&info_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool read_header(std::span<const std::byte> file) {
    if (setjmp(fault_.escape) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info_, TRUE);
    cmyk_ = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk_ ? JCS_CMYK : JCS_RGB;
    return true;
  }

  // `rows` has room for height() rows of width() * channels() bytes.
  bool read_rows(std::uint8_t* rows) {
    if (setjmp(fault_.escape) != 0) return false;
    jpeg_start_decompress(&info_);
    const std::size_t stride = static_cast<std::size_t>(info_.output_width) * channels();
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = rows + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  std::int64_t width() const { return info_.image_width; }
  std::int64_t height() const { return info_.image_height; }
  std::size_t channels() const { return cmyk_ ? 4 : 3; }
  bool inverted_ink() const { return info_.saw_Adobe_marker != 0; }  // 255 is no ink then
  void limit_memory(std::int64_t bytes) { info_.mem->max_memory_to_use = bytes; }
  const char* fault() const { return fault_.text.data(); }

  int orientation() const {
    for (jpeg_saved_marker_ptr marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (marker->marker == JPEG_APP0 + 1 && data.starts_with(kExif))
        return exif_orientation(std::as_bytes(std::span(data.substr(kExif.size()))));
    }
    return 1;
  }

 private:
  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  Fault fault_;
  bool cmyk_ = false;
};

std::vector<std::uint8_t> rgb_of_cmyk(std::span<const std::uint8_t> cmyk, bool inverted) {
  std::vector<std::uint8_t> rgb(cmyk.size() / 4 * 3);
  for (std::size_t i = 0; i < cmyk.size() / 4; ++i) {
    const auto light = [&](std::size_t c) { return inverted ? cmyk[i * 4 + c] : 255 - cmyk[i * 4 + c]; };
    for (std::size_t c = 0; c < 3; ++c) rgb[i * 3 + c] = static_cast<std::uint8_t>((light(c) * light(3) + 127) / 255);
  }
  return rgb;
}

struct Writer {
  jpeg_compress_struct info{};
  Fault fault;
  unsigned char* bytes = nullptr;
  unsigned long size = 0;

  Writer() {
    watch(fault);
    info.err = &fault.manager;
  }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

bool write(Writer& writer, const Image& image) {
  if (setjmp(writer.fault.escape) != 0) return false;
  jpeg_create_compress(&writer.info);
  jpeg_mem_dest(&writer.info, &writer.bytes, &writer.size);
  writer.info.image_width = static_cast<JDIMENSION>(image.width);
  writer.info.image_height = static_cast<JDIMENSION>(image.height);
  writer.info.input_components = 3;
  writer.info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&writer.info);
  jpeg_set_quality(&writer.info, kQuality, TRUE);
  jpeg_start_compress(&writer.info, TRUE);
  while (writer.info.next_scanline < writer.info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.pixel(0, writer.info.next_scanline));
    jpeg_write_scanlines(&writer.info, &row, 1);
  }
  jpeg_finish_compress(&writer.info);
  return true;
}

}  // namespace

Decoded decode_jpeg(std::span<const std::byte> file, const ImageLimits& limits) {
  Reader reader;
  check(reader.read_header(file), Code::parse, "the JPEG file is damaged: {}", reader.fault());
  check_extents(reader.width(), reader.height(), limits);
  const std::uint64_t pixels = static_cast<std::uint64_t>(reader.width() * reader.height());
  check(pixels / kPixelsPerByte <= file.size(), Code::parse,
        "the JPEG file is damaged: it says that it is {} x {} pixels, which {} bytes cannot hold", reader.width(),
        reader.height(), file.size());
  constexpr std::int64_t kBesidePixels = std::int64_t{64} << 20, kCoefficientBytesPerPixel = 8;
  reader.limit_memory(kBesidePixels + static_cast<std::int64_t>(pixels) * kCoefficientBytesPerPixel);
  const int orientation = reader.orientation();  // markers go with the end of decompression
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(pixels) * reader.channels());
  check(reader.read_rows(rows.data()), Code::parse, "the JPEG file is damaged: {}", reader.fault());
  if (reader.channels() == 4) rows = rgb_of_cmyk(rows, reader.inverted_ink());
  return {Image(reader.width(), reader.height(), std::move(rows)), orientation};
}

std::vector<std::byte> encode_jpeg(const Image& image) {
  check(image.width <= JPEG_MAX_DIMENSION && image.height <= JPEG_MAX_DIMENSION, Code::invalid_argument,
        Hint{"write it as .png"}, "a JPEG file holds {} x {} pixels at most, and the picture has {} x {}",
        JPEG_MAX_DIMENSION, JPEG_MAX_DIMENSION, image.width, image.height);
  Writer writer;
  check(write(writer, image), Code::internal, "cannot write a JPEG file: {}", writer.fault.text.data());
  const auto bytes = std::as_bytes(std::span(writer.bytes, writer.size));
  return {bytes.begin(), bytes.end()};
}

}  // namespace tessera::vision
