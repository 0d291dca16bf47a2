#include "tessera/targets/tensix/ops/matmul/matmul.h"

#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include "card.h"

#include <cmath>

namespace tessera::tensix {
namespace {

std::vector<double> plain_product(const std::vector<float>& a, const std::vector<float>& b, std::int64_t batch,
                                  bool b_batched, std::int64_t m, std::int64_t k, std::int64_t n) {
  std::vector<double> y(static_cast<std::size_t>(batch * m * n), 0.0);
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t t = 0; t < k; ++t)
        for (std::int64_t c = 0; c < n; ++c)
          y[static_cast<std::size_t>((i * m + r) * n + c)] +=
              static_cast<double>(a[static_cast<std::size_t>((i * m + r) * k + t)]) *
              static_cast<double>(b[static_cast<std::size_t>(((b_batched ? i : 0) * k + t) * n + c)]);
  return y;
}

TEST(Matmul, ComesCloseToTheExactProductOnOddShapes) {
  const auto device = open_card();
  std::mt19937 rng(1);
  std::uniform_int_distribution<std::int64_t> size(1, 90);
  for (int round = 0; round < 12; ++round) {
    const std::int64_t batch = round % 3 + 1, m = size(rng), k = size(rng), n = size(rng);
    const bool b_batched = round % 2 == 0;
    const Shape sa{batch, m, k}, sb = b_batched ? Shape{batch, k, n} : Shape{k, n};
    const std::vector<float> a = random_values(sa, DType::bfloat16, rng), b = random_values(sb, DType::bfloat16, rng);
    MatmulOptions options;
    options.compute = ComputeConfig{.fp32_dest_acc_en = true};
    options.dtype = DType::float32;
    const DeviceTensor y = matmul(on_card(device, a, sa), on_card(device, b, sb), options);
    ASSERT_EQ(y.spec().logical_shape(), (Shape{batch, m, n}));
    const std::vector<double> want = plain_product(a, b, batch, b_batched, m, k, n);
    const std::vector<float> got = values_of(y);
    // All phases of bfloat16 are exact; sums of up to k terms are float32, but between blocks of 32 they pass through
    // SrcA, which keeps 10 bits of them.
    const double magnitude = 4 * std::sqrt(static_cast<double>(k));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(
          static_cast<double>(got[i]), want[i],
          tolerance(10, static_cast<double>(k / 32), magnitude) + tolerance(23, static_cast<double>(k) + 8, magnitude))
          << m << " " << k << " " << n;
  }
}

TEST(Matmul, IsTheProductOfTheCardsArithmeticPackedOnce) {
  const auto device = open_card();
  std::mt19937 rng(2);
  const Shape sa{1, 1, 70, 96}, sb{1, 1, 96, 40}, row{1, 1, 1, 40};
  const std::vector<float> a = random_values(sa, DType::bfloat16, rng), b = random_values(sb, DType::bfloat8_b, rng),
                           c = random_values(row, DType::bfloat16, rng);
  MatmulOptions options;
  options.bias = on_card(device, c, row);
  options.compute = ComputeConfig{.fidelity = MathFidelity::lofi};
  const std::vector<float> got =
      values_of(matmul(on_card(device, a, sa), on_card(device, b, sb, DType::bfloat8_b), options));
  const Product product{.m = 70,
                        .n = 40,
                        .k = 96,
                        .k_block = 32,
                        .compute = *options.compute,
                        .bias = c.data()};  // 3 tiles over 8 columns: blocks of one
  const std::vector<float> want =
      Tensor::from_float32(product_values_reference(product, a.data(), b.data()), {1, 1, 70, 40}, DType::bfloat16,
                           Layout::tile, {}, Rounding::packer)
          .to_float32();
  EXPECT_EQ(got, want);
}

TEST(Matmul, TransposesAndRowsAndColumns) {
  const auto device = open_card();
  std::mt19937 rng(3);
  const Shape sa{40, 33}, sb{50, 40};
  const std::vector<float> a = random_values(sa, DType::bfloat16, rng), b = random_values(sb, DType::bfloat16, rng);
  MatmulOptions options;
  options.transpose_a = options.transpose_b = true;
  options.compute = ComputeConfig{.fp32_dest_acc_en = true};
  const DeviceTensor y = matmul(on_card(device, a, sa), on_card(device, b, sb), options);
  ASSERT_EQ(y.spec().logical_shape(), (Shape{33, 50}));
  const std::vector<float> got = values_of(y);
  for (std::int64_t r = 0; r < 33; ++r)
    for (std::int64_t c = 0; c < 50; ++c) {
      double want = 0;
      for (std::int64_t t = 0; t < 40; ++t)
        want += static_cast<double>(a[static_cast<std::size_t>(t * 33 + r)]) *
                static_cast<double>(b[static_cast<std::size_t>(c * 40 + t)]);
      ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(r * 50 + c)]), want,
                  tolerance(8, 1, std::abs(want)) + tolerance(10, 2, 4 * std::sqrt(40.0)));
    }
  const DeviceTensor row = on_card(device, random_values({64}, DType::bfloat16, rng), {64}),
                     square = on_card(device, random_values({64, 64}, DType::bfloat16, rng), {64, 64});
  EXPECT_EQ(matmul(row, square).spec().logical_shape(), Shape{64});
  EXPECT_EQ(matmul(square, row).spec().logical_shape(), Shape{64});
  EXPECT_EQ(matmul(row, row).spec().logical_shape().rank(), 0);
}

TEST(Matmul, BiasAndActivationAreTheSameInOneProgramAndInMany) {
  const auto device = open_card();
  std::mt19937 rng(4);
  const Shape sa{1, 1, 64, 128}, sb{1, 1, 128, 96}, row{1, 1, 1, 96};
  const DeviceTensor a = on_card(device, random_values(sa, DType::bfloat16, rng), sa),
                     b = on_card(device, random_values(sb, DType::bfloat16, rng), sb);
  MatmulOptions fused;
  fused.bias = on_card(device, random_values(row, DType::bfloat16, rng), row);
  fused.activation = vector_function("relu");
  MatmulOptions apart = fused;
  apart.memory_config = kL1MemoryConfig;
  const DeviceTensor x = matmul(a, b, fused), y = matmul(a, b, apart);
  EXPECT_EQ(y.spec().memory_config(), kL1MemoryConfig);
  const std::vector<float> u = values_of(x), v = values_of(y);
  // Sums pass through bfloat16 in other places.
  for (std::size_t i = 0; i < u.size(); ++i) ASSERT_NEAR(u[i], v[i], tolerance(8, 128 / 16, 4 * std::sqrt(128.0)));
}

TEST(Matmul, RefusalsChangeNothing) {
  const auto device = open_card();
  std::mt19937 rng(5);
  const auto make = [&](Shape shape, Layout layout = Layout::tile, DType dtype = DType::bfloat16) {
    return on_card(device, random_values(shape, dtype, rng), shape, dtype, layout);
  };
  const DeviceTensor a = make({1, 1, 64, 64}), tall = make({1, 1, 32, 64}),
                     rows = make({1, 1, 64, 64}, Layout::row_major), whole = make({64, 64}, Layout::tile, DType::int32),
                     two = make({2, 64, 64}), three = make({3, 64, 64}), high = make({1, 1, 1024, 64}),
                     wide = make({1, 1, 64, 1024});
  const CardState before(*device);
  EXPECT_THROW(matmul(a, tall), Error);
  EXPECT_THROW(matmul(rows, a), Error);
  EXPECT_THROW(matmul(whole, a), Error);
  EXPECT_THROW(matmul(two, three), Error);
  MatmulOptions options;
  options.bias = tall;
  EXPECT_THROW(matmul(a, a, options), Error);
  options = {};
  options.memory_config = MemoryConfig(TensorMemoryLayout::width_sharded, BufferType::l1);
  EXPECT_THROW(matmul(high, wide, options), Error);
  EXPECT_EQ(CardState(*device), before);
}

TEST(Matmul, RandomConfigsGiveTheRightShapeOrARefusal) {
  const auto device = open_card();
  std::mt19937 rng(6);
  const auto pick = [&](auto... values) {
    const std::array all{values...};
    return all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(rng)];
  };
  int accepted = 0;
  for (int round = 0; round < 120; ++round) {
    const std::int64_t m = pick(1, 31, 32, 64, 100, 320), k = pick(1, 32, 64, 96, 130), n = pick(1, 32, 33, 160, 256);
    const Shape sa{1, 1, m, k}, sb{1, 1, k, n};
    MatmulOptions options;
    const int place = pick(0, 1, 2, 3, 4);
    if (place == 1) options.memory_config = kL1MemoryConfig;
    if (place > 1)
      options.memory_config = MemoryConfig(place == 2   ? TensorMemoryLayout::height_sharded
                                           : place == 3 ? TensorMemoryLayout::width_sharded
                                                        : TensorMemoryLayout::block_sharded,
                                           BufferType::l1);
    if (pick(0, 1) == 1) options.core_grid = CoreGrid{pick(1, 2, 8, 9), pick(1, 4, 8)};
    if (pick(0, 0, 1) == 1)
      options.program =
          MatmulProgramConfig{.kind = pick(MatmulKind::multicast_1d, MatmulKind::multicast_2d, MatmulKind::multi_core),
                              .grid = {pick(1, 8), pick(1, 8)},
                              .block_k = pick(1, 2, 3),
                              .per_core_m = pick(1, 2, 4, 10),
                              .per_core_n = pick(1, 2, 8),
                              .subblock_h = pick(1, 2),
                              .subblock_w = pick(1, 2, 4),
                              .multicast_in0 = pick(0, 1) == 1};
    const DeviceTensor a = on_card(device, random_values(sa, DType::bfloat16, rng), sa),
                       b = on_card(device, random_values(sb, DType::bfloat16, rng), sb);
    const CardState before(*device);
    try {
      const DeviceTensor y = matmul(a, b, options);
      ASSERT_EQ(y.spec().logical_shape(), (Shape{1, 1, m, n}));
      ++accepted;
    } catch (const Error&) {
      ASSERT_EQ(CardState(*device), before);
    }
  }
  EXPECT_GT(accepted, 30);
}

}  // namespace
}  // namespace tessera::tensix
