// How a picture becomes an input: sizes, order, range, and where it lies.

#include "tessera/vision/preprocessing.h"

#include "tests/error_of.h"

#include "tessera/core/error.h"
#include "tessera/vision/resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;

TensorType floats(std::vector<std::int64_t> dims) { return {ElementType::float32, std::move(dims)}; }

// Red grows to the right, green downwards.
Image ramp(std::int64_t width, std::int64_t height) {
  Image image(width, height);
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      image.pixel(x, y)[0] = static_cast<std::uint8_t>(x);
      image.pixel(x, y)[1] = static_cast<std::uint8_t>(y);
      image.pixel(x, y)[2] = 7;
    }
  return image;
}

TEST(Preprocessing, PlanesAndInterleavedChannelsInEitherOrder) {
  const Image image = ramp(3, 2);
  Preprocessing how;
  how.range = {0, 255};
  const auto values = [&](const TensorType& type) {
    const PreparedPicture made = prepare_picture(image, picture_input(type, how), how);
    return made.values.to_double();
  };
  EXPECT_EQ(values(floats({1, 3, 2, 3})), (std::vector<double>{0, 1, 2, 0, 1, 2, 0, 0, 0, 1, 1, 1, 7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(values(floats({1, 2, 3, 3})),  // H W C: 2 x 3 pixels; 3 could be channels on either side, planes come first
            (std::vector<double>{0, 0, 7, 1, 0, 7, 2, 0, 7, 0, 1, 7, 1, 1, 7, 2, 1, 7}));
  how.channels = ChannelOrder::bgr;
  EXPECT_EQ(values(floats({3, 2, 3}))[0], 7);  // without a batch
  EXPECT_EQ(values({ElementType::uint8, std::vector<std::int64_t>{1, 3, 2, 3}})[12], 0);
}

TEST(Preprocessing, RangeThenMeanThenDeviationOfEachChannel) {
  Preprocessing how = preprocessing_preset("imagenet");
  how.fit = Fit::stretch;
  const PictureInput input = picture_input(floats({1, 3, 2, 2}), how);
  const PreparedPicture made = prepare_picture(Image(2, 2, 51), input, how);  // 0.2
  const auto values = made.values.as<float>();
  EXPECT_FLOAT_EQ(values[0], static_cast<float>((0.2 - 0.485) / 0.229));
  EXPECT_FLOAT_EQ(values[4], static_cast<float>((0.2 - 0.456) / 0.224));
  EXPECT_FLOAT_EQ(values[8], static_cast<float>((0.2 - 0.406) / 0.225));
}

TEST(Preprocessing, OneChannelIsLuma) {
  Image image(1, 1);
  image.pixel(0, 0)[1] = 255;
  const Preprocessing how;
  const PictureInput input = picture_input(floats({1, 1, 1, 1}), how);
  EXPECT_EQ(input.channels, ChannelOrder::gray);
  EXPECT_NEAR(prepare_picture(image, input, how).values.as<float>()[0], 0.587, 0.5 / 255);
}

TEST(Preprocessing, ImagenetTakesTheMiddleSevenEighths) {
  const Preprocessing how = preprocessing_preset("imagenet");
  const PictureInput input = picture_input(floats({1, 3, 224, 224}), how);
  // 512 x 256 stays 512 x 256 (its shorter side is 256), and 224 x 224 of the middle are taken.
  const PreparedPicture made = prepare_picture(ramp(512, 256), input, how);
  EXPECT_DOUBLE_EQ(made.placement.scale_x, 1);
  EXPECT_DOUBLE_EQ(made.placement.picture_x(0), 144);
  EXPECT_DOUBLE_EQ(made.placement.picture_y(0), 16);
  Preprocessing raw = how;
  raw.mean.clear(), raw.std.clear(), raw.range = {0, 255};
  EXPECT_EQ(prepare_picture(ramp(512, 256), input, raw).values.as<float>()[0], 144);
}

TEST(Preprocessing, PaddingKeepsTheProportionAndFillsTheRest) {
  Preprocessing how = preprocessing_preset("yolo");
  how.range = {0, 255};
  const PictureInput input = picture_input(floats({1, 3, 100, 100}), how);
  const PreparedPicture made = prepare_picture(Image(200, 100, 9), input, how);
  const auto values = made.values.as<float>();
  EXPECT_EQ(values[0], 114);
  EXPECT_EQ(values[24 * 100], 114);
  EXPECT_EQ(values[25 * 100], 9);
  EXPECT_EQ(values[74 * 100 + 99], 9);
  EXPECT_EQ(values[75 * 100], 114);
  EXPECT_DOUBLE_EQ(made.placement.picture_x(50), 100);
  EXPECT_DOUBLE_EQ(made.placement.picture_y(25), 0);
  EXPECT_DOUBLE_EQ(made.placement.picture_y(75), 100);
}

TEST(Preprocessing, StrokesAreLightOnBlackWhateverThePaper) {
  Preprocessing how;
  how.strokes = true;
  how.fit = Fit::pad;
  const PictureInput input = picture_input(floats({1, 1, 8, 8}), how);
  Image dark_on_light(40, 60, 230), light_on_dark(40, 60, 20);
  for (std::int64_t y = 10; y < 50; ++y)
    for (std::int64_t x = 15; x < 25; ++x) {
      std::fill_n(dark_on_light.pixel(x, y), 3, std::uint8_t{40});
      std::fill_n(light_on_dark.pixel(x, y), 3, std::uint8_t{200});
    }
  const PreparedPicture one = prepare_picture(dark_on_light, input, how);
  EXPECT_EQ(one.values, prepare_picture(light_on_dark, input, how).values);
  // A bar of 10 x 40 pixels becomes 2 x 8 in the middle.
  const auto values = one.values.as<float>();
  for (std::size_t y = 0; y < 8; ++y)
    for (std::size_t x = 0; x < 8; ++x) EXPECT_EQ(values[y * 8 + x], x == 3 || x == 4 ? 1.0f : 0.0f) << x << ", " << y;
  EXPECT_DOUBLE_EQ(one.placement.picture_y(0), 10);
  EXPECT_DOUBLE_EQ(one.placement.picture_x(3), 15);
  EXPECT_NO_THROW(prepare_picture(Image(5, 5, 99), input, how));  // nothing drawn on it
}

TEST(Preprocessing, AFileSaysEverythingAndIsWrittenTheSame) {
  const Preprocessing read = parse_preprocessing(
      "preset = \"imagenet\"\nfit = \"pad\"\nsize = [640, 480]\nfill = 3\nfilter = \"bicubic\"\nchannels = \"bgr\"\n"
      "layout = \"nhwc\"\nrange = [-1, 1]\nmean = 0.5\nstd = [1, 2, 4]\nstrokes = true\n");
  EXPECT_EQ(read.fit, Fit::pad);
  EXPECT_EQ(read.width, 640);
  EXPECT_EQ(read.height, 480);
  EXPECT_EQ(read.mean, std::vector<double>{0.5});
  EXPECT_EQ(parse_preprocessing(to_toml(read)).std, read.std);
  Preprocessing again = parse_preprocessing(to_toml(read));
  again.crop = read.crop;  // of another fit, so it is not written
  EXPECT_EQ(again, read);
  const Preprocessing imagenet = preprocessing_preset("imagenet");
  EXPECT_EQ(parse_preprocessing(to_toml(imagenet)), imagenet);
}

TEST(Preprocessing, FieldsAsText) {
  Preprocessing how;
  set_preprocessing_field(how, "size", "640x480");
  set_preprocessing_field(how, "mean", "0.1,0.2,0.3");
  set_preprocessing_field(how, "range", "-1,1");
  EXPECT_EQ(how.height, 480);
  EXPECT_EQ(how.mean, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(how.range[0], -1);
  const auto refusal = [](const char* field, const char* text) {
    Preprocessing any;
    return error_of([&] { set_preprocessing_field(any, field, text); });
  };
  EXPECT_THAT(refusal("fit", "crops"), AllOf(HasSubstr("stretch, crop, pad"), HasSubstr("did you mean 'crop'")));
  EXPECT_THAT(refusal("mean", "0.1,x"), HasSubstr("'x' is none"));
  EXPECT_THAT(refusal("std", "0"), HasSubstr("divided by"));
  EXPECT_THAT(refusal("range", "1,0"), HasSubstr("begins at 1 and ends at 0"));
  EXPECT_THAT(refusal("size", "0x4"), HasSubstr("1 to 16384"));
  EXPECT_THAT(refusal("fill", "256"), HasSubstr("0 to 255"));
  EXPECT_THAT(refusal("crop", "1.5"), HasSubstr("above 0 to 1"));
  EXPECT_THAT(refusal("strokes", "maybe"), HasSubstr("true or false"));
}

TEST(Preprocessing, FaultsOfAFileAreToldWithTheirLine) {
  const auto refusal = [](const char* text) { return error_of([&] { parse_preprocessing(text, "p.toml"); }); };
  EXPECT_THAT(refusal("\nmeen = 1\n"),
              AllOf(HasSubstr("'meen'"), HasSubstr("did you mean 'mean'"), HasSubstr("p.toml:2")));
  EXPECT_THAT(refusal("preset = \"imagent\""), AllOf(HasSubstr("imagent"), HasSubstr("did you mean 'imagenet'")));
  EXPECT_THAT(refusal("mean = ["), HasSubstr("not valid TOML"));
  EXPECT_THAT(refusal("[mean]\nx = 1"), HasSubstr("neither a word"));
}

TEST(Preprocessing, InputsThatTakeNoPictureAreRefused) {
  const auto refusal = [](const TensorType& type, const Preprocessing& how = {}) {
    return error_of([&] { picture_input(type, how); });
  };
  EXPECT_THAT(refusal(floats({1, 10})), AllOf(HasSubstr("float32[1, 10]"), HasSubstr("2 dimensions")));
  EXPECT_THAT(refusal(floats({1, 5, 8, 8})), HasSubstr("has 5 channels"));
  EXPECT_THAT(refusal(floats({1, 3, -1, -1})), AllOf(HasSubstr("leaves the width"), HasSubstr("--size")));
  EXPECT_THAT(refusal({ElementType::int64, std::vector<std::int64_t>{1, 3, 8, 8}}),
              HasSubstr("neither floating-point nor uint8"));
  Preprocessing how;
  how.width = 9;
  EXPECT_THAT(refusal(floats({1, 3, 8, 8}), how), HasSubstr("shall be 9, and the network fixes it to 8"));
  Preprocessing uneven;
  uneven.mean = {1, 2};
  EXPECT_THAT(error_of([&] { prepare_picture(Image(1, 1), picture_input(floats({1, 3, 1, 1}), uneven), uneven); }),
              HasSubstr("not 2"));
}

// A few words of a file may not ask for gigabytes: the whole picture is scaled before the middle is cut out.
TEST(Preprocessing, WhatIsScaledOnTheWayIsBounded) {
  const TensorType type = floats({1, 3, 16, 16});
  const auto made = [&](std::int64_t resize, const Image& image) {
    Preprocessing how;
    how.fit = Fit::crop;
    how.resize = resize;
    return error_of([&] { prepare_picture(image, picture_input(type, how), how); });
  };
  EXPECT_EQ(made(2000, Image(9, 5, 100)), "no error");  // 3600 x 2000
  EXPECT_THAT(made(16384, Image(9, 5, 100)),
              AllOf(HasSubstr("9 x 5 pixels would be scaled to 29491 x 16384"), HasSubstr("67108864 pixels")));
}

TEST(Resample, KeepsWhatIsEvenAndTheMeanOfWhatIsNot) {
  EXPECT_EQ(resample(Image(37, 11, 200), 5, 40, Filter::bilinear), Image(5, 40, 200));
  EXPECT_EQ(resample(Image(37, 11, 200), 90, 3, Filter::bicubic), Image(90, 3, 200));
  Image board(64, 64);
  for (std::int64_t y = 0; y < 64; ++y)
    for (std::int64_t x = 0; x < 64; ++x) std::fill_n(board.pixel(x, y), 3, std::uint8_t((x + y) % 2 * 255));
  const Image small = resample(board, 8, 8, Filter::bilinear);
  for (const std::uint8_t value : small.rgb) EXPECT_NEAR(value, 127.5, 1);  // no pattern is left: 0.5 of each pass
  const Image nearest = resample(ramp(4, 4), 2, 2, Filter::nearest);
  EXPECT_EQ(nearest.pixel(0, 0)[0], 1);
  EXPECT_EQ(nearest.pixel(1, 1)[0], 3);
}

}  // namespace
}  // namespace tessera
