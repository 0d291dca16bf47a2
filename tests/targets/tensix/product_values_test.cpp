#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include "tests/targets/tensix/random_values.h"

#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::tensix {
namespace {

class OnEachIsa {
 public:
  ~OnEachIsa() { set_active_isa(std::nullopt); }
  template <class Body>
  void operator()(Body body) {
    for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
      if (isa > host_isa()) continue;
      set_active_isa(isa);
      body(name(isa));
    }
  }
};

void expect_same_bits(const std::vector<float>& found, const std::vector<float>& wanted, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(float_bits(found[i]), float_bits(wanted[i]))
        << what << " at " << i << ": " << found[i] << " for " << wanted[i];
}

void expect_as_defined(const Product& product, const std::vector<float>& a, const std::vector<float>& b,
                       const std::string& what) {
  const std::vector<float> wanted = product_values_reference(product, a.data(), b.data());
  OnEachIsa{}([&](std::string_view isa) {
    expect_same_bits(product_values(product, a.data(), b.data()), wanted, fmt::format("{} on {}", what, isa));
  });
}

TEST(ProductValues, EqualTheDefinitionAtEveryFidelityAndWidthOfDst) {
  for (const Kind kind : {Kind::normal, Kind::bfloat16, Kind::wide, Kind::odd})
    for (const MathFidelity fidelity :
         {MathFidelity::lofi, MathFidelity::hifi2, MathFidelity::hifi3, MathFidelity::hifi4})
      for (const bool float32 : {false, true}) {
        Product product{.m = 13, .n = 37, .k = 75};
        product.compute = {.fidelity = fidelity, .fp32_dest_acc_en = float32};
        expect_as_defined(product, random_values(13 * 75, 1, kind), random_values(75 * 37, 2, kind),
                          fmt::format("{} {} {}", static_cast<int>(kind), name(fidelity), float32));
      }
}

TEST(ProductValues, EqualTheDefinitionForEveryWayOfPartialResults) {
  const std::int64_t m = 7, n = 50, k = 200;
  const std::vector<float> bias = random_values(n, 5, Kind::bfloat16);
  for (const Kind kind : {Kind::bfloat16, Kind::odd})
    for (const DType partials : {DType::float32, DType::bfloat16, DType::bfloat8_b, DType::bfloat4_b})
      for (const std::int64_t block : {0, 32, 96, 128})
        for (const bool in_l1 : {false, true})
          for (const bool with_bias : {false, true})
            for (const bool float32 : {false, true}) {
              Product product{.m = m, .n = n, .k = k, .k_block = block};
              product.compute = {.fidelity = MathFidelity::hifi2, .fp32_dest_acc_en = float32, .packer_l1_acc = in_l1};
              product.partials_dtype = partials;
              product.bias = with_bias ? bias.data() : nullptr;
              if (is_block_float(partials) && product.accumulates_in_l1()) continue;
              if (with_bias) product.activation = activation_from_name("silu");
              expect_as_defined(product, random_values(m * k, 3, kind), random_values(k * n, 4, kind),
                                fmt::format("partials {} block {} l1 {} bias {} float32 {}", name(partials), block,
                                            in_l1, with_bias, float32));
            }
}

TEST(ProductValues, EqualTheDefinitionForShapesAroundThoseOfTheKernels) {
  for (const std::int64_t m : {1, 5, 6, 97})
    for (const std::int64_t n : {1, 16, 31, 32, 33, 290})
      for (const std::int64_t k : {1, 16, 17, 32, 290}) {
        Product product{.m = m, .n = n, .k = k};
        product.compute = {.fidelity = m % 2 == 0 ? MathFidelity::lofi : MathFidelity::hifi4};
        expect_as_defined(product, random_values(m * k, 6, Kind::bfloat16), random_values(k * n, 7, Kind::bfloat16),
                          fmt::format("{} x {} x {}", m, k, n));
      }
  EXPECT_TRUE(product_values({.m = 0, .n = 3, .k = 4}, nullptr, nullptr).empty());
}

TEST(ProductValues, TilesOfZerosAddNothing) {
  const std::int64_t m = 8, n = 70, k = 640;
  std::vector<float> a = random_values(m * k, 8, Kind::odd), b = random_values(k * n, 9, Kind::bfloat16);
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if ((i / 32 + j / 32) % 3 != 0) b[static_cast<std::size_t>(i * n + j)] = 0;
  Product product{.m = m, .n = n, .k = k, .k_block = 160};
  product.compute.fidelity = MathFidelity::hifi2;
  expect_as_defined(product, a, b, "sparse");
  std::fill(b.begin(), b.end(), 0.0f);
  for (const float y : product_values(product, a.data(), b.data())) EXPECT_EQ(y, 0.0f);
}

TEST(ProductValues, DoNotDependOnThreads) {
  Product product{.m = 333, .n = 300, .k = 129, .k_block = 64};
  product.compute = {.fidelity = MathFidelity::hifi3, .packer_l1_acc = true};
  const std::vector<float> a = random_values(333 * 129, 10, Kind::wide), b = random_values(129 * 300, 11, Kind::wide);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    results.push_back(product_values(product, a.data(), b.data()));
  }
  expect_same_bits(results[1], results[0], "2 threads");
  expect_same_bits(results[2], results[0], "3 threads");
}

// A long sum in bfloat16 stops growing where its steps become larger than what is added.
TEST(ProductValues, LongSumsStallInBfloat16AndNotInFloat32) {
  const std::int64_t k = 16384;
  const std::vector<float> a(static_cast<std::size_t>(k), 1.0f), b(static_cast<std::size_t>(k), 1.0f);
  Product product{.m = 1, .n = 1, .k = k};
  EXPECT_EQ(product_values(product, a.data(), b.data())[0], 4096.0f);  // + 16 is half a step there
  product.compute.fp32_dest_acc_en = true;
  EXPECT_EQ(product_values(product, a.data(), b.data())[0], 16384.0f);
}

// With enough phases and float32 in Dst only the order of additions is left.
TEST(ProductValues, AreTheProductItselfWhereNothingIsCut) {
  const std::int64_t m = 9, n = 20, k = 500;
  const std::vector<float> a = random_values(m * k, 12, Kind::bfloat16), b = random_values(k * n, 13, Kind::bfloat16);
  Product product{.m = m, .n = n, .k = k};
  product.compute = {.fidelity = MathFidelity::hifi4, .fp32_dest_acc_en = true};
  const std::vector<float> y = product_values(product, a.data(), b.data());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double p =
            static_cast<double>(a[static_cast<std::size_t>(i * k + l)]) * b[static_cast<std::size_t>(l * n + j)];
        sum += p;
        magnitude += std::abs(p);
      }
      // 4 phases of 16 roundings and one into Dst for every 16 of k, each at most half a step of what is there.
      const double roundings = 4 * (static_cast<double>(k) + static_cast<double>(k) / 16 + 17);
      EXPECT_NEAR(y[static_cast<std::size_t>(i * n + j)], sum, magnitude * roundings * 0x1p-24);
    }
}

TEST(ProductValues, RefuseBlocksAndTypesThatNoCardHas) {
  const auto message = [](const Product& product) -> std::string {
    try {
      product_values(product, nullptr, nullptr);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message({.m = 1, .n = 1, .k = 64, .k_block = 40}), testing::HasSubstr("multiple of 32"));
  EXPECT_THAT(message({.m = 1, .n = 1, .k = 64, .partials_dtype = DType::int32}), testing::HasSubstr("int32"));
  Product product{.m = 1, .n = 1, .k = 96, .k_block = 32, .partials_dtype = DType::bfloat8_b};
  product.compute.packer_l1_acc = true;
  EXPECT_THAT(message(product), testing::HasSubstr("added up by the packer"));
}

}  // namespace
}  // namespace tessera::tensix
