#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

using Kind = Binary::Kind;
using testing::Contains;
using testing::Not;

constexpr Kind kFloating[] = {Kind::add,     Kind::sub,           Kind::mul,   Kind::div,  Kind::min,
                              Kind::max,     Kind::fmod,          Kind::equal, Kind::less, Kind::less_equal,
                              Kind::greater, Kind::greater_equal, Kind::prelu};
constexpr Kind kInteger[] = {Kind::add,        Kind::sub,     Kind::mul,           Kind::min,   Kind::max,
                             Kind::bit_and,    Kind::bit_or,  Kind::bit_xor,       Kind::equal, Kind::less,
                             Kind::less_equal, Kind::greater, Kind::greater_equal, Kind::prelu};

KernelCase case_of(Kind kind, Array a, Array b, Order a_order = Order::row_major, Order b_order = Order::row_major) {
  KernelCase test = one_node(Binary{kind}, {{std::move(a)}, {std::move(b)}});
  test.orders = {a_order, b_order};
  return test;
}

TEST(BinaryKernels, EveryKindAgreesOnNastyValues) {
  std::mt19937_64 random(1);
  for (const Kind kind : kFloating)
    for (const ElementType type :
         {ElementType::float32, ElementType::bfloat16, ElementType::float16, ElementType::float64})
      for (const std::int64_t n : {0, 1, 3, 17, 33, 1000}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " of " << name(type) << " x " << n);
        const auto accepted = expect_kernels_agree(
            case_of(kind, nasty_array(type, Shape{n}, random), nasty_array(type, Shape{n}, random)));
        EXPECT_THAT(accepted, Contains("binary_plain"));
      }
}

TEST(BinaryKernels, IntegersWrapAsTheyShould) {
  std::mt19937_64 random(2);
  for (const ElementType type : {ElementType::int8, ElementType::uint8, ElementType::int32, ElementType::uint32,
                                 ElementType::int64, ElementType::uint64, ElementType::int16, ElementType::uint16}) {
    const auto any = [&] {
      Array x(type, Shape{3, 31});
      for (std::byte& b : x.bytes()) b = static_cast<std::byte>(random());
      return x;
    };
    for (const Kind kind : kInteger)
      EXPECT_THAT(expect_kernels_agree(case_of(kind, any(), any())), Contains("binary_plain"));
    Array divisor = any();
    visit_element_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>)
        for (T& v : divisor.as<T>()) v = v == 0 ? T{1} : v;
    });
    for (const Kind kind : {Kind::div, Kind::mod, Kind::fmod})
      EXPECT_THAT(expect_kernels_agree(case_of(kind, any(), divisor)), Contains("binary_plain"));
  }
  for (const Kind kind : {Kind::shift_left, Kind::shift_right})
    EXPECT_THAT(expect_kernels_agree(case_of(kind, random_array(ElementType::uint8, Shape{40}, random),
                                             random_array(ElementType::uint8, Shape{40}, random))),
                Contains("binary_plain"));
  for (const Kind kind : {Kind::logical_and, Kind::logical_or, Kind::logical_xor, Kind::equal}) {
    Array a(ElementType::boolean, Shape{40}), b = a;
    for (bool& v : a.as<bool>()) v = random() % 2 == 0;
    for (bool& v : b.as<bool>()) v = random() % 2 == 0;
    EXPECT_THAT(expect_kernels_agree(case_of(kind, a, b)), Contains("binary_plain"));
  }
}

TEST(BinaryKernels, DividingAnIntegerByZeroIsAnError) {
  KernelCase test = case_of(Kind::div, Array::scalar<std::int32_t>(1), Array::scalar<std::int32_t>(0));
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.name != "binary_plain") continue;
    EXPECT_THROW(run_kernel(kernel, test), Error);
  }
}

TEST(BinaryKernels, PowersThatAreCommonAgree) {
  std::mt19937_64 random(3);
  for (const float exponent : {2.0f, 3.0f, 0.5f, -1.5f, 1.0f})
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
      Array e(type, Shape{1});
      if (type == ElementType::float32) e.as<float>()[0] = exponent;
      if (type == ElementType::bfloat16) e.as<BFloat16>()[0] = BFloat16(exponent);
      const KernelCase test = one_node(Binary{Kind::pow}, {{nasty_array(type, Shape{2, 37}, random)}, {e, true}});
      EXPECT_EQ(expect_kernels_agree(test).empty(), type == ElementType::bfloat16 && (exponent < 0 || exponent == 1));
    }
  KernelCase general = case_of(Kind::pow, nasty_array(ElementType::float32, Shape{2, 37}, random),
                               random_array(ElementType::int64, Shape{37}, random));
  EXPECT_THAT(expect_kernels_agree(general), Contains("binary_plain"));
}

TEST(BinaryKernels, GatesAndBiasesWorkInBothOrders) {
  std::mt19937_64 random(4);
  const auto any = [&](Shape shape) { return random_array(ElementType::float32, shape, random); };
  for (const Order x : {Order::row_major, Order::channels_last})
    for (const Order gate : {Order::row_major, Order::channels_last})
      for (const Shape& other : {Shape{2, 19, 1, 1}, Shape{1, 19, 1, 1}, Shape{19, 1, 1}, Shape{2, 1, 7, 5},
                                 Shape{2, 19, 7, 5}, Shape{5}, Shape{}, Shape{19, 7, 5}, Shape{1, 19, 7, 5}}) {
        SCOPED_TRACE(other.to_string());
        const Order order = other.rank() < 3 ? Order::row_major : gate;
        EXPECT_FALSE(expect_kernels_agree(case_of(Kind::mul, any({2, 19, 7, 5}), any(other), x, order)).empty());
        EXPECT_FALSE(expect_kernels_agree(case_of(Kind::sub, any(other), any({2, 19, 7, 5}), order, x)).empty());
        KernelCase constant = one_node(Binary{Kind::add}, {{any({2, 19, 7, 5})}, {any(other), true}});
        constant.orders = {x, Order::row_major};
        EXPECT_FALSE(expect_kernels_agree(constant).empty());
      }
}

TEST(BinaryKernels, ResultsKeepTheOrderOfTheirLargeOperand) {
  std::mt19937_64 random(5);
  KernelCase test =
      case_of(Kind::mul, random_array(ElementType::float32, Shape{2, 8, 3, 3}, random),
              random_array(ElementType::float32, Shape{2, 8, 1, 1}, random), Order::channels_last, Order::row_major);
  const KernelMachine machine;
  const Problem problem{
      test.graph, test.graph.nodes[0], infer_node(test.graph, test.graph.nodes[0]), test.orders, machine, 1};
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.name != "binary_f32_portable") continue;
    const Answer answer = kernel.info.consider(kernel.info, problem);
    const Offer& offer = std::get<Offer>(answer);
    EXPECT_EQ(offer.outputs, std::vector{Order::channels_last});
    EXPECT_EQ(offer.inputs, (std::vector{Order::channels_last, Order::row_major}));
    EXPECT_EQ(offer.may_overwrite, 0);
  }
}

TEST(BinaryKernels, AnActivationMayFollow) {
  std::mt19937_64 random(6);
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16})
    for (const Op& follower : {Op{Unary{Unary::Kind::relu}}, Op{Unary{Unary::Kind::silu}},
                               Op{Unary{Unary::Kind::leaky_relu, 0.1f}}, Op{Unary{Unary::Kind::gelu}}}) {
      KernelCase test =
          case_of(Kind::add, random_array(type, Shape{3, 1000}, random), random_array(type, Shape{1000}, random));
      test.graph.nodes[0].fused.push_back({follower, {FusedOp::kChained}});
      test.magnitude = 8;  // gelu is as exact as its argument is
      EXPECT_THAT(expect_kernels_agree(test),
                  Contains(std::string(type == ElementType::float32 ? "binary_f32_portable" : "binary_bf16_portable")));
    }
}

TEST(BinaryKernels, RandomBroadcastsAgree) {
  for (Fuzz fuzz; fuzz.next();) {
    const int rank = static_cast<int>(fuzz.pick(0, 5));
    std::vector<std::int64_t> to;
    for (int d = 0; d < rank; ++d) to.push_back(fuzz.one_of<std::int64_t>({1, 2, 3, 5, 17, 33}));
    if (Shape(to).volume() > 20000) continue;
    const auto operand = [&] {
      std::vector<std::int64_t> dims(to.begin() + fuzz.pick(0, rank), to.end());
      if (fuzz.pick(0, 2) == 0) dims = to;
      for (std::int64_t& d : dims)
        if (fuzz.pick(0, 3) == 0) d = 1;
      return Shape(dims);
    };
    const Kind kind = kFloating[fuzz.pick(0, std::size(kFloating) - 2)];
    const ElementType type = fuzz.one_of({ElementType::float32, ElementType::bfloat16});
    const auto order = [&](const Shape& shape) {
      return shape.rank() < 3 ? Order::row_major : fuzz.one_of({Order::row_major, Order::channels_last});
    };
    const Shape a = operand(), b = operand();
    SCOPED_TRACE(a.to_string() + " with " + b.to_string());
    const auto accepted = expect_kernels_agree(
        case_of(kind, nasty_array(type, a, fuzz.random), nasty_array(type, b, fuzz.random), order(a), order(b)));
    EXPECT_FALSE(accepted.empty());
  }
}

}  // namespace
}  // namespace tessera::cpu
