#include "tessera/session/fused_conv2d_maxpool.h"
#include "tessera/kernel_plan/plan.h"

#include "tessera/core/element_type_of.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Problem {
  std::int64_t n, ic, h, w, oc, kh, kw, pool;

  std::string to_string() const {
    return fmt::format("n{} ic{} {}x{} oc{} k{}x{} pool{}", n, ic, h, w, oc, kh, kw, pool);
  }
};

struct Operands {
  Array x, w, bias;
};

template <class T>
Array random_array(Shape shape, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Array out(element_type_of<T>(), std::move(shape));
  for (T& value : out.as<T>()) value = T(uniform(random));
  return out;
}

template <class T>
Operands random_operands(const Problem& p, unsigned seed) {
  std::mt19937 random(seed);
  return {random_array<T>(Shape{p.n, p.ic, p.h, p.w}, random), random_array<T>(Shape{p.oc, p.ic, p.kh, p.kw}, random),
          random_array<T>(Shape{p.oc}, random)};
}

struct Expected {
  Shape shape;
  std::vector<double> y;
  std::vector<double> magnitude;  // the largest sum of magnitudes within the window of the pool
};

Expected plain_loops(const Problem& p, const Operands& given) {
  const std::vector<double> x = given.x.to_double(), w = given.w.to_double(), bias = given.bias.to_double();
  const std::int64_t oh = (p.h - p.kh + 1) / p.pool, ow = (p.w - p.kw + 1) / p.pool;
  Expected out{Shape{p.n, p.oc, oh, ow}, {}, {}};
  const auto at = [](const std::vector<double>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t o = 0; o < p.oc; ++o)
      for (std::int64_t py = 0; py < oh; ++py)
        for (std::int64_t px = 0; px < ow; ++px) {
          double most = -std::numeric_limits<double>::infinity(), magnitude = 0;
          for (std::int64_t i = 0; i < p.pool * p.pool; ++i) {
            const std::int64_t y0 = py * p.pool + i / p.pool, x0 = px * p.pool + i % p.pool;
            double sum = at(bias, o), size = std::abs(sum);
            for (std::int64_t c = 0; c < p.ic; ++c)
              for (std::int64_t ky = 0; ky < p.kh; ++ky)
                for (std::int64_t kx = 0; kx < p.kw; ++kx) {
                  const double product = at(x, ((n * p.ic + c) * p.h + y0 + ky) * p.w + x0 + kx) *
                                         at(w, ((o * p.ic + c) * p.kh + ky) * p.kw + kx);
                  sum += product;
                  size += std::abs(product);
                }
            most = std::max(most, sum);
            magnitude = std::max(magnitude, size);
          }
          out.y.push_back(most);
          out.magnitude.push_back(magnitude);
        }
  return out;
}

// Sums of ic*kh*kw products in float32 in any order, and one rounding to the type of the result. Winograd's
// transformations (exact = false) round more: a few units for each of their multiplications by constants.
void expect_close(const Array& got, const Expected& wanted, const Problem& p, bool exact) {
  ASSERT_EQ(got.shape(), wanted.shape) << p.to_string();
  const double eps = std::numeric_limits<float>::epsilon();
  const double digits = got.type() == ElementType::bfloat16 ? 8 : got.type() == ElementType::float16 ? 11 : 24;
  const double terms = static_cast<double>(p.ic * p.kh * p.kw + 1);
  const std::vector<double> y = got.to_double();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double bound = (exact ? 1 : 64) * terms * eps * wanted.magnitude[i] +
                         std::ldexp(std::abs(wanted.y[i]), static_cast<int>(-digits)) + std::ldexp(1.0, -25);
    ASSERT_LE(std::abs(y[i] - wanted.y[i]), bound) << p.to_string() << " element " << i;
  }
}

// The harness of the case study, cropped; then what it leaves out: one channel, filters that are not square, pools that
// do not divide, several images.
const Problem kProblems[] = {
    {2, 128, 12, 8, 128, 3, 3, 1}, {2, 128, 12, 8, 128, 3, 3, 2}, {1, 256, 6, 14, 256, 3, 3, 2},
    {1, 1, 1, 1, 1, 1, 1, 1},      {2, 3, 9, 7, 5, 3, 2, 2},      {3, 5, 8, 11, 33, 1, 1, 3},
    {1, 17, 10, 10, 65, 5, 5, 2},  {1, 2, 13, 9, 3, 13, 9, 1},    {2, 7, 6, 20, 16, 1, 4, 6},
    {1, 4, 20, 21, 8, 3, 3, 4},    {1, 9, 5, 64, 31, 2, 3, 1},    {5, 16, 4, 4, 16, 3, 3, 2},
};

template <class T>
class FusedConv2dMaxPoolOf : public testing::Test {};
using Elements = testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(FusedConv2dMaxPoolOf, Elements);

TYPED_TEST(FusedConv2dMaxPoolOf, IsTheConvolutionAndThePool) {
  unsigned seed = 1;
  for (const Problem& p : kProblems) {
    const Operands given = random_operands<TypeParam>(p, seed++);
    const Expected wanted = plain_loops(p, given);
    for (const bool exact : {true, false}) {
      SessionOptions options;
      options.exact = exact;
      const Array got = fused_conv2d_maxpool(given.x, given.w, given.bias, p.pool, options);
      EXPECT_EQ(got.type(), element_type_of<TypeParam>());
      expect_close(got, wanted, p, exact);
    }
  }
}

TYPED_TEST(FusedConv2dMaxPoolOf, RunsAsOneKernel) {
  const Problem p{1, 32, 20, 20, 64, 3, 3, 2};
  const Operands given = random_operands<TypeParam>(p, 3);
  const FusedConv2dMaxPool layer(given.w, given.bias, p.pool);
  std::vector<std::string> nodes;
  for (const auto& plan : layer.session().plans({given.x}))
    for (const Step& step : plan->steps)
      if (step.kernel != nullptr) {
        EXPECT_NE(step.kernel->name, "reference");
        nodes.push_back(plan->graph.nodes[static_cast<std::size_t>(step.node)].name);
      }
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), "pool"), 0) << "the pool takes a pass of its own";
}

TEST(FusedConv2dMaxPool, AgreesWithPlainLoopsOnRandomShapes) {
  std::mt19937 random(11);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    Problem p{draw(1, 3), draw(1, 20), 0, 0, draw(1, 40), draw(1, 5), draw(1, 5), draw(1, 4)};
    p.h = p.kh - 1 + p.pool + draw(0, 12);
    p.w = p.kw - 1 + p.pool + draw(0, 20);
    const Operands given = random_operands<float>(p, static_cast<unsigned>(i));
    expect_close(fused_conv2d_maxpool(given.x, given.w, given.bias, p.pool), plain_loops(p, given), p, false);
  }
}

TEST(FusedConv2dMaxPool, PacksOnceForImagesOfAnySize) {
  const Problem shapes[] = {{1, 6, 9, 9, 10, 3, 3, 2}, {3, 6, 5, 12, 10, 3, 3, 2}, {1, 6, 9, 9, 10, 3, 3, 2}};
  Operands given = random_operands<float>(shapes[0], 5);
  const FusedConv2dMaxPool layer(given.w, given.bias, 2);
  const Array w = given.w;
  for (float& value : given.w.as<float>()) value = 0;  // the layer has its own
  for (const Problem& p : shapes) {
    Operands image = random_operands<float>(p, 7);
    image.w = w, image.bias = given.bias;
    expect_close(layer(image.x), plain_loops(p, image), p, false);
  }
  EXPECT_EQ(layer.session().plans_made(), 2u);
}

TEST(FusedConv2dMaxPool, DropsWhatThePoolLeavesOver) {
  const Problem p{1, 1, 4, 4, 1, 2, 2, 2};
  Array x(ElementType::float32, Shape{1, 1, 4, 4}), w(ElementType::float32, Shape{1, 1, 2, 2});
  x.as<float>()[15] = 100;  // only the last row and column of the convolution see it
  for (float& value : w.as<float>()) value = 1;
  const Array y = fused_conv2d_maxpool(x, w, Array::of<float>(Shape{1}, std::vector<float>{-3}), p.pool);
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(y.as<float>()[0], -3);
}

TEST(FusedConv2dMaxPool, NoImagesGiveNoResults) {
  const Operands given = random_operands<float>({1, 3, 5, 5, 4, 3, 3, 1}, 1);
  EXPECT_EQ(fused_conv2d_maxpool(Array(ElementType::float32, Shape{0, 3, 8, 8}), given.w, given.bias, 2).shape(),
            (Shape{0, 4, 3, 3}));
}

TEST(FusedConv2dMaxPool, RefusesWhatDoesNotFitWithTheValuesFound) {
  const auto refusal = [](const Shape& x, const Shape& w, const Shape& bias, std::int64_t pool = 1,
                          ElementType x_type = ElementType::float32, ElementType w_type = ElementType::float32,
                          ElementType bias_type = ElementType::float32) -> std::string {
    try {
      fused_conv2d_maxpool(Array(x_type, x), Array(w_type, w), Array(bias_type, bias), pool);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal({1, 3, 8}, {4, 3, 3, 3}, {4}), HasSubstr("4 dimensions (images, channels, height, width), not "
                                                               "the 3 of [1, 3, 8]"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 27}, {4}), HasSubstr("not the 2 of [4, 27]"));
  EXPECT_THAT(refusal({1, 2, 8, 8}, {4, 3, 3, 3}, {4}),
              HasSubstr("input [1, 2, 8, 8] has 2 channels, weights [4, 3, 3, 3] take 3"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {5}), AllOf(HasSubstr("bias of shape [5]"), HasSubstr("4 output")));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4, 1}), HasSubstr("bias of shape [4, 1]"));
  EXPECT_THAT(refusal({1, 3, 2, 8}, {4, 3, 3, 3}, {4}),
              AllOf(HasSubstr("a filter of 3x3 does not fit images of 2x8"), HasSubstr("pad the input first")));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, 7),
              HasSubstr("the convolution gives 6x6, a pool of 7x7 does not fit"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, std::numeric_limits<std::int64_t>::max()),
              HasSubstr("9223372036854775807, at most"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, 0), HasSubstr("pool_size is 0, at least 1"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, -2), HasSubstr("pool_size is -2"));
  EXPECT_THAT(refusal({1, 0, 8, 8}, {4, 0, 3, 3}, {4}), HasSubstr("weights of shape [4, 0, 3, 3] hold nothing"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, 1, ElementType::float16),
              HasSubstr("the input is float16, weights are float32"));
  EXPECT_THAT(
      refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, 1, ElementType::float32, ElementType::float32, ElementType::bfloat16),
      HasSubstr("bias is bfloat16, weights are float32"));
  EXPECT_THAT(refusal({1, 3, 8, 8}, {4, 3, 3, 3}, {4}, 1, ElementType::int8, ElementType::int8, ElementType::int8),
              HasSubstr("float32, bfloat16 or float16, not int8"));
}

}  // namespace
}  // namespace tessera
