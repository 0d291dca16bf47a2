#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/fold/fold.h"
#include "tessera/targets/tensix/ops/image_layout/image_layout.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"

#include "card.h"

#include <array>
#include <cmath>

namespace tessera::tensix {
namespace {

MemoryConfig width_shards(std::int64_t cores, std::int64_t rows, std::int64_t columns) {
  return MemoryConfig(TensorMemoryLayout::width_sharded, BufferType::l1,
                      ShardSpec{CoreRange({0, 0}, {static_cast<int>(cores) - 1, 0}), {rows, columns}});
}

TEST(Softmax, ComesCloseToTheExactOneAlongEveryDimension) {
  const auto device = open_card();
  std::mt19937 rng(1);
  const Shape shape{2, 3, 33, 40};
  for (const DType dtype : {DType::bfloat16, DType::float32}) {
    const std::vector<float> x = random_values(shape, dtype, rng, 2);
    for (int dim = -4; dim < 4; ++dim) {
      const std::vector<float> got = values_of(softmax(on_card(device, x, shape, dtype), dim));
      const int d = (dim + 4) % 4;
      std::int64_t step = 1;
      for (int i = d + 1; i < 4; ++i) step *= shape[i];
      for (std::int64_t at = 0; at < shape.volume(); at += 7) {
        const std::int64_t first = at - at / step % shape[d] * step;
        double sum = 0, most = -INFINITY;
        for (std::int64_t i = 0; i < shape[d]; ++i)
          most = std::max(most, static_cast<double>(x[static_cast<std::size_t>(first + i * step)]));
        for (std::int64_t i = 0; i < shape[d]; ++i)
          sum += std::exp(static_cast<double>(x[static_cast<std::size_t>(first + i * step)]) - 10);
        const double want = std::exp(static_cast<double>(x[static_cast<std::size_t>(at)]) - 10) / sum;
        // Sums of up to 40 terms in bfloat16, or in float32 of terms with 10 bits; what is rounded below the maximum
        // is a factor of the exponential.
        const double below = most - static_cast<double>(x[static_cast<std::size_t>(at)]);
        const double slack =
            tolerance(dtype == DType::float32 ? 10 : 8, 2 + below + static_cast<double>(shape[d]) / 16, want);
        ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(at)]), want, 2 * slack + 1e-6) << dim;
      }
    }
  }
  EXPECT_THROW(softmax(on_card(device, std::vector<float>(1024), {32, 32}), 2), Error);
}

TEST(Fold, PutsThePixelsOfABlockIntoChannels) {
  const auto device = open_card();
  std::mt19937 rng(2);
  const Shape shape{2, 6, 4, 3};
  const std::vector<float> x = random_values(shape, DType::bfloat16, rng);
  for (const Layout layout : {Layout::row_major, Layout::tile}) {
    const DeviceTensor y = fold(on_card(device, x, shape, DType::bfloat16, layout), {.stride_h = 3, .stride_w = 2});
    ASSERT_EQ(y.spec().logical_shape(), (Shape{2, 2, 2, 18}));
    const std::vector<float> got = values_of(y);
    std::size_t at = 0;
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t r = 0; r < 2; ++r)
        for (std::int64_t q = 0; q < 2; ++q)
          for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t j = 0; j < 2; ++j)
              for (std::int64_t c = 0; c < 3; ++c, ++at)
                ASSERT_EQ(got[at], x[static_cast<std::size_t>(((n * 6 + r * 3 + i) * 4 + q * 2 + j) * 3 + c)]);
  }
  const DeviceTensor image = on_card(device, x, shape, DType::bfloat16, Layout::row_major);
  const DeviceTensor padded = fold(image, {.stride_h = 2, .stride_w = 2, .padding = {1, 1, 2, 0}, .collapse = true});
  EXPECT_EQ(padded.spec().logical_shape(), (Shape{1, 1, 2 * 4 * 3, 12}));
  EXPECT_EQ(values_of(padded)[0], 0);
  const CardState before(*device);
  EXPECT_THROW(fold(image, {.stride_h = 4, .stride_w = 2}), Error);
  EXPECT_THROW(fold(image, {.stride_h = 0, .stride_w = 2}), Error);
  EXPECT_EQ(CardState(*device), before);
}

TEST(ImageLayout, ChannelsGoLastAndComeBack) {
  const auto device = open_card();
  std::mt19937 rng(3);
  const Shape shape{1, 1, 3, 128};
  const std::vector<float> x = random_values(shape, DType::bfloat16, rng);
  const DeviceTensor chw = on_card(device, x, shape, DType::bfloat16, Layout::row_major, width_shards(4, 3, 32));
  const DeviceTensor hwc = convert_to_hwc(chw);
  ASSERT_EQ(hwc.spec().logical_shape(), (Shape{1, 1, 128, 8}));
  const std::vector<float> got = values_of(hwc);
  for (std::size_t i = 0; i < 128; ++i)
    for (std::size_t c = 0; c < 8; ++c) ASSERT_EQ(got[i * 8 + c], c < 3 ? x[c * 128 + i] : 0);
  const Shape wide{1, 1, 128, 32};
  const std::vector<float> z = random_values(wide, DType::bfloat16, rng);
  const std::vector<float> back =
      values_of(convert_to_chw(on_card(device, z, wide, DType::bfloat16, Layout::tile, height_shards(4, 32, 32))));
  for (std::size_t i = 0; i < 128; ++i)
    for (std::size_t c = 0; c < 32; ++c) ASSERT_EQ(back[c * 128 + i], z[i * 32 + c]);
  const CardState before(*device);
  EXPECT_THROW(convert_to_chw(chw), Error);
  EXPECT_THROW(convert_to_hwc(hwc), Error);
  EXPECT_EQ(CardState(*device), before);
}

TEST(Upsample, NearestRepeatsPixelsForAnyScale) {
  const auto device = open_card();
  std::mt19937 rng(4);
  const Shape shape{2, 5, 7, 40};
  const std::vector<float> x = random_values(shape, DType::bfloat16, rng);
  for (const std::array<double, 2> scale : {std::array{2.0, 3.0}, std::array{1.5, 1.0}, std::array{0.6, 2.5}}) {
    const DeviceTensor y = upsample(on_card(device, x, shape, DType::bfloat16, Layout::row_major), {.scale = scale});
    const std::int64_t oh = static_cast<std::int64_t>(5 * scale[0]), ow = static_cast<std::int64_t>(7 * scale[1]);
    ASSERT_EQ(y.spec().logical_shape(), (Shape{2, oh, ow, 40}));
    const std::vector<float> got = values_of(y);
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t r = 0; r < oh; ++r)
        for (std::int64_t q = 0; q < ow; ++q) {
          const auto row = static_cast<std::int64_t>(static_cast<double>(r) / scale[0]),
                     column = static_cast<std::int64_t>(static_cast<double>(q) / scale[1]);
          ASSERT_EQ(got[static_cast<std::size_t>(((n * oh + r) * ow + q) * 40)],
                    x[static_cast<std::size_t>(((n * 5 + row) * 7 + column) * 40)]);
        }
  }
}

TEST(Upsample, BilinearKeepsPlanesAndRefusesFractions) {
  const auto device = open_card();
  const Shape shape{1, 8, 8, 32};
  std::vector<float> x(static_cast<std::size_t>(shape.volume()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 32 % 8);  // rises along rows
  const DeviceTensor image = on_card(device, x, shape, DType::bfloat16, Layout::row_major);
  const DeviceTensor y = upsample(image, {.scale = {2, 2}, .mode = UpsampleMode::bilinear});
  ASSERT_EQ(y.spec().logical_shape(), (Shape{1, 16, 16, 32}));
  const std::vector<float> got = values_of(y);
  for (std::int64_t q = 0; q < 16; ++q) {
    const double want = std::clamp((static_cast<double>(q) + 0.5) / 2 - 0.5, 0.0, 7.0);
    ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>((5 * 16 + q) * 32)]), want, tolerance(8, 4, 7));
  }
  const CardState before(*device);
  EXPECT_THROW(upsample(image, {.scale = {1.5, 2}, .mode = UpsampleMode::bilinear}), Error);
  EXPECT_THROW(upsample(image, {.scale = {0, 2}}), Error);
  EXPECT_THROW(upsample(image, {.scale = {NAN, 2}}), Error);
  EXPECT_THROW(upsample(image, {.scale = {0.01, 1}}), Error);
  EXPECT_EQ(CardState(*device), before);
}

TEST(Concat, GroupsAreInterleaved) {
  const auto device = open_card();
  std::mt19937 rng(5);
  const Shape a{1, 1, 64, 8}, b{1, 1, 64, 4};
  const std::vector<float> x = random_values(a, DType::bfloat16, rng), y = random_values(b, DType::bfloat16, rng);
  const std::vector<DeviceTensor> both = {on_card(device, x, a, DType::bfloat16, Layout::row_major),
                                          on_card(device, y, b, DType::bfloat16, Layout::row_major)};
  const std::vector<float> got = values_of(concat(both, 3, std::nullopt, 2));
  for (std::size_t r = 0; r < 64; ++r)
    for (std::size_t c = 0; c < 12; ++c) {
      const std::size_t group = c / 6, at = c % 6;
      ASSERT_EQ(got[r * 12 + c], at < 4 ? x[r * 8 + group * 4 + at] : y[r * 4 + group * 2 + at - 4]);
    }
  const CardState before(*device);
  EXPECT_THROW(concat(both, 3, std::nullopt, 3), Error);
  EXPECT_THROW(concat(both, 3, std::nullopt, 0), Error);
  EXPECT_EQ(CardState(*device), before);
}

}  // namespace
}  // namespace tessera::tensix
