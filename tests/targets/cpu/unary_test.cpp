#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

using Kind = Unary::Kind;

constexpr Kind kFloating[] = {
    Kind::abs,
    Kind::acos,
    Kind::acosh,
    Kind::asin,
    Kind::asinh,
    Kind::atan,
    Kind::atanh,
    Kind::ceil,
    Kind::celu,
    Kind::cos,
    Kind::cosh,
    Kind::elu,
    Kind::erf,
    Kind::exp,
    Kind::floor,
    Kind::gelu,
    Kind::gelu_tanh,
    Kind::hard_sigmoid,
    Kind::hard_swish,
    Kind::is_inf,
    Kind::is_nan,
    Kind::leaky_relu,
    Kind::log,
    Kind::mish,
    Kind::neg,
    Kind::relu,
    Kind::round,
    Kind::reciprocal,
    Kind::selu,
    Kind::shrink,
    Kind::sigmoid,
    Kind::sign,
    Kind::silu,
    Kind::sin,
    Kind::sinh,
    Kind::softplus,
    Kind::softsign,
    Kind::sqrt,
    Kind::tan,
    Kind::tanh,
    Kind::thresholded_relu,
};

Unary op_of(Kind kind) {
  switch (kind) {
    case Kind::celu: return {kind, 0.7f};
    case Kind::elu: return {kind, 1.3f};
    case Kind::hard_sigmoid: return {kind, 0.2f, 0.5f};
    case Kind::is_inf: return {kind, 0, 1};
    case Kind::leaky_relu: return {kind, 0.01f};
    case Kind::selu: return {kind, 1.67326f, 1.0507f};
    case Kind::shrink: return {kind, 0.5f, 0.25f};
    case Kind::thresholded_relu: return {kind, 0.75f};
    default: return {kind};
  }
}

// The largest finite |x|, where a result is a small difference of large things.
double magnitude_of(Kind kind, const Array& x) {
  double most = 0;
  switch (kind) {
    case Kind::hard_sigmoid: return 1;
    case Kind::gelu:
    case Kind::gelu_tanh:
    case Kind::hard_swish:
    case Kind::shrink:
      // Beyond 20 the results are x or 0.
      for (const double v : x.to_double())
        if (std::abs(v) < 20) most = std::max(most, std::abs(v));
      return most;
    default: return 0;
  }
}

KernelCase case_of(Unary op, Array x) {
  const double magnitude = magnitude_of(op.kind, x);
  KernelCase test = one_node(op, {{std::move(x)}});
  test.magnitude = magnitude;
  test.ulps = op.kind == Kind::mish || op.kind == Kind::celu || op.kind == Kind::selu ? 6 : 4;
  return test;
}

TEST(UnaryKernels, EveryKindAgreesWithItsDefinitionOnEveryLength) {
  std::mt19937_64 random(1);
  for (const Kind kind : kFloating)
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16})
      for (const std::int64_t n : {0, 1, 3, 5, 17, 33, 100, 1000}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " of " << name(type) << " x " << n);
        const auto accepted = expect_kernels_agree(case_of(op_of(kind), nasty_array(type, Shape{n}, random)));
        EXPECT_FALSE(accepted.empty());
        if (HasFailure()) return;
      }
}

TEST(UnaryKernels, ValuesWithChannelsLastStayThatWay) {
  std::mt19937_64 random(2);
  for (const Kind kind : {Kind::silu, Kind::relu, Kind::sin}) {
    KernelCase test = case_of(op_of(kind), random_array(ElementType::float32, Shape{2, 5, 7, 3}, random));
    test.orders = {Order::channels_last};
    EXPECT_FALSE(expect_kernels_agree(test).empty());
  }
}

TEST(UnaryKernels, SeveralThreadsShareLongOnes) {
  std::mt19937_64 random(3);
  for (const Kind kind : {Kind::tanh, Kind::abs, Kind::cos})
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16})
      EXPECT_FALSE(expect_kernels_agree(case_of(op_of(kind), random_array(type, Shape{70001}, random))).empty());
}

TEST(UnaryKernels, IntegersAndTruthValuesAreTakenToo) {
  std::mt19937_64 random(4);
  for (const ElementType type :
       {ElementType::int8, ElementType::int16, ElementType::int32, ElementType::int64, ElementType::uint8}) {
    Array x = random_array(type, Shape{37}, random);
    for (std::byte& b : x.bytes())
      if (random() % 4 == 0) b = static_cast<std::byte>(random());
    for (const Kind kind : {Kind::abs, Kind::neg, Kind::sign, Kind::relu, Kind::bitwise_not})
      EXPECT_THAT(expect_kernels_agree(case_of({kind}, x)), testing::Contains("unary_plain"));
  }
  constexpr bool kTruth[] = {true, false, true};
  const Array truth = Array::of<bool>(Shape{3}, kTruth);
  EXPECT_THAT(expect_kernels_agree(case_of({Kind::logical_not}, truth)), testing::Contains("unary_plain"));
}

TEST(UnaryKernels, RandomParametersAgree) {
  for (Fuzz fuzz; fuzz.next();) {
    std::normal_distribution<float> normal;
    const Unary op{kFloating[fuzz.pick(0, std::size(kFloating) - 1)], std::abs(normal(fuzz.random)) + 0.1f,
                   normal(fuzz.random)};
    const ElementType type = fuzz.one_of({ElementType::float32, ElementType::bfloat16});
    const Shape shape{fuzz.pick(1, 3), fuzz.pick(1, 9), fuzz.pick(1, 9), fuzz.pick(1, 9)};
    KernelCase test = case_of(op, nasty_array(type, shape, fuzz.random));
    test.magnitude = std::max<double>(test.magnitude, op.kind == Kind::hard_sigmoid ? 1 + std::abs(op.beta) : 0);
    // x * alpha is rounded before the exponential sees it, which makes so many units of it.
    if (op.kind == Kind::silu || op.kind == Kind::celu) test.ulps += 110;
    test.orders = {fuzz.one_of({Order::row_major, Order::channels_last})};
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(op.kind) << " alpha " << op.alpha << " beta "
                                    << op.beta);
    EXPECT_FALSE(expect_kernels_agree(test).empty());
  }
}

}  // namespace
}  // namespace tessera::cpu
