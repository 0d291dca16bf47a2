#include "tessera/targets/tensix/ops/pool/pool_values.h"

#include "tests/targets/tensix/random_values.h"

#include "tessera/core/error.h"
#include "tessera/graph/op.h"
#include "tessera/targets/tensix/ops/matmul/product_values.h"
#include "tessera/targets/tensix/ops/pool/weighted_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::tensix {
namespace {

PoolValues small() {
  PoolValues pool{.batch = 2, .height = 9, .width = 8, .channels = 5};
  pool.window = {.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .top = 1, .bottom = 1, .left = 1};
  return pool;
}

Array to_nchw(std::span<const float> x, std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c) {
  Array out(ElementType::float32, Shape{batch, c, h, w});
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t p = 0; p < h * w; ++p)
      for (std::int64_t i = 0; i < c; ++i)
        out.as<float>()[static_cast<std::size_t>((b * c + i) * h * w + p)] =
            x[static_cast<std::size_t>((b * h * w + p) * c + i)];
  return out;
}

Array pooled(const Op& op, const PoolValues& pool, std::span<const float> input) {
  const Array x = to_nchw(input, pool.batch, pool.height, pool.width, pool.channels);
  const Array* operands[] = {&x};
  return reference(op, operands)[0];
}

template <class Pool>
Pool op_of(const PoolValues& pool) {
  const SlidingWindow& w = pool.window;
  Pool op;
  op.window.kernel = {w.kernel_h, w.kernel_w};
  op.window.strides = {w.stride_h, w.stride_w};
  op.window.dilations = {w.dilation_h, w.dilation_w};
  op.window.pads = {w.top, w.left, w.bottom, w.right};
  op.ceil_mode = pool.ceil_mode;
  return op;
}

TEST(PoolValues, MaximaAreThoseOfTheOperator) {
  for (const bool ceil_mode : {false, true}) {
    PoolValues pool = small();
    pool.ceil_mode = ceil_mode;
    const std::vector<float> x = random_values(2 * 9 * 8 * 5, 1, Kind::wide);
    const std::vector<float> y = max_pool_values(pool, x);
    EXPECT_EQ(to_nchw(y, 2, pool.out_h(), pool.out_w(), 5), pooled(op_of<MaxPool>(pool), pool, x)) << ceil_mode;
  }
}

TEST(PoolValues, AveragesAreThoseOfTheOperatorUpToRounding) {
  for (const bool ceil_mode : {false, true})
    for (const bool with_padding : {false, true}) {
      PoolValues pool = small();
      pool.ceil_mode = ceil_mode;
      pool.count_include_pad = with_padding;
      pool.compute = {.fidelity = MathFidelity::hifi4, .fp32_dest_acc_en = true};
      std::vector<float> x = random_values(2 * 9 * 8 * 5, 2, Kind::bfloat16);
      for (float& v : x) v = std::abs(v);  // so that errors are a part of the result
      AveragePool op = op_of<AveragePool>(pool);
      op.count_include_pad = with_padding;
      const Array wanted = pooled(op, pool, x);
      const Array found = to_nchw(average_pool_values(pool, x), 2, pool.out_h(), pool.out_w(), 5);
      ASSERT_EQ(found.shape(), wanted.shape());
      for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.count()); ++i)
        EXPECT_NEAR(found.as<float>()[i], wanted.as<float>()[i], 0x1p-8 * wanted.as<float>()[i])
            << "one rounding to bfloat16, that of the scaler";
    }
}

TEST(PoolValues, AnAverageIsAProductWithARowOfScalers) {
  PoolValues pool{.height = 7, .width = 7, .channels = 64};
  pool.window.kernel_h = pool.window.kernel_w = 7;
  for (const MathFidelity fidelity : {MathFidelity::lofi, MathFidelity::hifi4}) {
    pool.compute.fidelity = fidelity;
    const std::vector<float> x = random_values(49 * 64, 3, Kind::bfloat16);
    const std::vector<float> row(49, float_from_bfloat16(bfloat16_from_float_host(1.0f / 49)));
    Product product{.m = 1, .n = 64, .k = 49};
    product.compute = pool.compute;
    EXPECT_EQ(average_pool_values(pool, x), product_values(product, row.data(), x.data()));
  }
}

TEST(PoolValues, TheDivisorCanBeGiven) {
  PoolValues pool{.height = 2, .width = 2, .channels = 1};
  pool.window.kernel_h = pool.window.kernel_w = 2;
  pool.divisor_override = 2;
  EXPECT_THAT(average_pool_values(pool, std::vector<float>{1, 2, 3, 4}), testing::ElementsAre(5));
}

TEST(PoolValues, UpsamplingRepeatsOrInterpolates) {
  const PoolValues image{.height = 1, .width = 2, .channels = 1};
  const std::vector<float> x{1, 3};
  EXPECT_THAT(upsample_nearest_values(image, 2, 2, x), testing::ElementsAre(1, 1, 3, 3, 1, 1, 3, 3));
  EXPECT_THAT(upsample_bilinear_values(image, 1, 2, x), testing::ElementsAre(1, 1.5, 2.5, 3));
}

TEST(PoolValues, RefuseWhatDoesNotFit) {
  PoolValues pool = small();
  try {
    max_pool_values(pool, std::vector<float>(3));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("3 elements instead of 720"));
  }
  pool.window.kernel_h = 20;
  try {
    max_pool_values(pool, std::vector<float>(720));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("20 x 2 does not fit into 9 x 8"));
  }
}

}  // namespace
}  // namespace tessera::tensix
