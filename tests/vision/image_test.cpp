// Pictures in files: what is read, what is refused, and that no file, however damaged, does more than that.

#include "tessera/vision/image.h"

#include "tests/error_of.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(TESSERA_TEST_DATA) / "vision";

std::vector<std::byte> bytes_of(const std::string& name) { return read_file(kData / name, 1 << 20); }

// Left upper red, right upper green, left lower blue, right lower white: the picture that every file of an orientation
// shows when it is upright.
void expect_quarters(const Image& image, int tolerance) {
  ASSERT_EQ(image.width, 48);
  ASSERT_EQ(image.height, 32);
  const auto expect = [&](std::int64_t x, std::int64_t y, int r, int g, int b) {
    const std::uint8_t* p = image.pixel(x, y);
    EXPECT_NEAR(p[0], r, tolerance) << x << ", " << y;
    EXPECT_NEAR(p[1], g, tolerance) << x << ", " << y;
    EXPECT_NEAR(p[2], b, tolerance) << x << ", " << y;
  };
  expect(4, 4, 255, 0, 0);
  expect(43, 4, 0, 255, 0);
  expect(4, 27, 0, 0, 255);
  expect(43, 27, 255, 255, 255);
}

class Orientation : public testing::TestWithParam<int> {};

TEST_P(Orientation, OfExifTurnsAJpegAndAPngUpright) {
  // JPEG at quality 95, 4:4:4: far from edges colours are within 3.
  expect_quarters(load_image(kData / fmt::format("orientation_{}.jpg", GetParam())), 3);
  expect_quarters(load_image(kData / fmt::format("orientation_{}.png", GetParam())), 0);
}
INSTANTIATE_TEST_SUITE_P(All, Orientation, testing::Range(1, 9));

TEST(Image, EveryKindOfPngBecomesRgbOfEightBits) {
  const Image rgb = load_image(kData / "rgb.png");
  EXPECT_EQ(load_image(kData / "palette.png"), rgb);
  EXPECT_EQ(load_image(kData / "rgb16.png"), rgb);  // 257 times each value
  EXPECT_EQ(load_image(kData / "interlaced.png"), rgb);
  EXPECT_EQ(load_image(kData / "opaque.png"), rgb);
  const Image grey = load_image(kData / "gray.png");
  EXPECT_EQ(load_image(kData / "gray16.png"), grey);
  EXPECT_EQ(load_image(kData / "gray_alpha.png"), grey);
  for (std::int64_t i = 0; i < grey.width; ++i) {
    EXPECT_EQ(grey.pixel(i, 0)[0], grey.pixel(i, 0)[1]);
    EXPECT_EQ(grey.pixel(i, 0)[0], grey.pixel(i, 0)[2]);
  }
}

TEST(Image, WhatIsTransparentShowsWhite) {
  const Image image = load_image(kData / "transparent.png");  // black of alpha 0, 51, 255
  EXPECT_EQ(image.pixel(0, 0)[0], 255);
  EXPECT_EQ(image.pixel(1, 0)[0], 204);
  EXPECT_EQ(image.pixel(2, 0)[0], 0);
}

TEST(Image, AJpegOfInksBecomesRgb) {
  const Image image = load_image(kData / "cmyk.jpg");  // without ink, and with cyan alone
  EXPECT_NEAR(image.pixel(2, 2)[0], 255, 3);
  EXPECT_NEAR(image.pixel(2, 2)[1], 255, 3);
  EXPECT_NEAR(image.pixel(13, 2)[0], 0, 3);
  EXPECT_NEAR(image.pixel(13, 2)[1], 255, 3);
  EXPECT_NEAR(image.pixel(13, 2)[2], 255, 3);
}

TEST(Image, WrittenAsPngItIsTheSame) {
  const Image rgb = load_image(kData / "rgb.png");
  EXPECT_EQ(decode_image(encode_image(rgb, ImageFormat::png)), rgb);
  const Image jpeg = decode_image(encode_image(Image(20, 10, 77), ImageFormat::jpeg));
  EXPECT_EQ(jpeg, Image(20, 10, 77));  // one grey survives
}

TEST(Image, FormatsThatAreNotReadAreNamed) {
  const auto refusal = [](std::string text) { return error_of([&] { decode_image(std::as_bytes(std::span(text))); }); };
  EXPECT_THAT(refusal("GIF89a......"), AllOf(HasSubstr("GIF file"), HasSubstr("convert it to PNG or JPEG")));
  EXPECT_THAT(refusal("RIFF....WEBPVP8 "), HasSubstr("WebP file"));
  EXPECT_THAT(refusal("....ftypheic...."), HasSubstr("HEIF"));
  EXPECT_THAT(refusal("hello"), HasSubstr("neither PNG nor JPEG"));
  EXPECT_THAT(refusal(""), HasSubstr("neither PNG nor JPEG"));
  EXPECT_THAT(error_of([] { load_image(kData / "nothing.png"); }), HasSubstr("nothing.png"));
}

TEST(Image, AFileThatEndsEarlyIsRefusedWhereverItEnds) {
  for (const char* name : {"rgb.png", "orientation_6.jpg", "progressive.jpg", "interlaced.png"}) {
    const std::vector<std::byte> whole = bytes_of(name);
    ASSERT_NO_THROW(decode_image(whole)) << name;
    for (std::size_t size = 0; size + 12 < whole.size(); ++size)
      EXPECT_THROW(decode_image(std::span(whole).first(size)), Error) << name << " cut to " << size;
  }
}

TEST(Image, AChunkThatClaimsMoreThanTheFileHasIsRefused) {
  // eXIf behind the header, which says that it has a gigabyte: libpng would take that much first.
  std::vector<std::byte> file = bytes_of("rgb.png");
  const char claim[] = {0x40, 0, 0, 0, 'e', 'X', 'I', 'f', 0, 0, 0, 0};
  const std::size_t behind_header = 8 + 12 + 13;
  const auto* const bytes = reinterpret_cast<const std::byte*>(claim);
  file.insert(file.begin() + behind_header, bytes, bytes + sizeof(claim));
  EXPECT_THAT(error_of([&] { decode_image(file); }), HasSubstr("it ends early"));
}

TEST(Image, AFileWithAChangedByteIsReadOrRefused) {
  for (const char* name : {"rgb.png", "orientation_6.jpg", "cmyk.jpg", "progressive.jpg"}) {
    const std::vector<std::byte> whole = bytes_of(name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> changed = whole;
      changed[at] ^= std::byte{0x55};
      try {
        const Image image = decode_image(changed, {.pixels = 1 << 20});
        EXPECT_EQ(std::ssize(image.rgb), image.width * image.height * 3);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), Code::internal) << error.what();
      }
    }
  }
}

TEST(Image, MoreThanTheLimitIsRefusedBeforeMemoryIsTaken) {
  EXPECT_THAT(error_of([] { decode_image(bytes_of("rgb.png"), {.pixels = 10}); }),
              AllOf(HasSubstr("more than 10 are not read"), HasSubstr("48 x 32")));
  // A header that claims what so few bytes cannot hold: 30000 x 3000 pixels in a file of some hundreds.
  std::vector<std::byte> png = bytes_of("claims_too_much.png");
  EXPECT_THAT(error_of([&] { decode_image(png); }), AllOf(HasSubstr("30000 x 3000"), HasSubstr("cannot hold")));
  std::vector<std::byte> jpeg = bytes_of("claims_too_much.jpg");
  EXPECT_THAT(error_of([&] { decode_image(jpeg); }), AllOf(HasSubstr("9000 x 9000"), HasSubstr("cannot hold")));
}

TEST(Image, AMistakenPictureIsRefused) {
  EXPECT_THAT(error_of([] { Image(0, 5); }), HasSubstr("0 x 5 pixels has nothing in it"));
  EXPECT_THAT(error_of([] { Image(2, 2, std::vector<std::uint8_t>(5)); }), HasSubstr("has 12 bytes, 5 were given"));
  EXPECT_THAT(error_of([] { save_image("/tmp/x.bmp", Image(1, 1)); }), HasSubstr("end the name in .png or .jpg"));
}

}  // namespace
}  // namespace tessera
