#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::StartsWith;
using Mode = Resize::Mode;
using Coordinates = Resize::Coordinates;

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16};
constexpr Order kOrders[] = {Order::row_major, Order::channels_last};
constexpr Coordinates kCoordinates[] = {Coordinates::half_pixel,         Coordinates::half_pixel_symmetric,
                                        Coordinates::pytorch_half_pixel, Coordinates::align_corners,
                                        Coordinates::asymmetric,         Coordinates::tf_half_pixel_for_nn};

std::vector<std::string> run(const Resize& op, const Array& x, Order order, const std::vector<float>& scales,
                             const std::vector<std::int64_t>& sizes = {}) {
  const Array none(ElementType::float32, Shape{0});
  std::vector<Operand> operands{input(x, order), constant(none),
                                constant(Array::of<float>(Shape{static_cast<std::int64_t>(scales.size())}, scales))};
  if (!sizes.empty()) operands.push_back(integers(sizes));
  KernelCase test = one_node(op, operands);
  test.reduction = 16;
  test.magnitude = 8;
  return expect_kernels_agree(test);
}

TEST(Resize, NearestAgreesForEveryRuleTypeAndOrder) {
  std::mt19937_64 random(1);
  for (const ElementType type : {ElementType::uint8, ElementType::bfloat16, ElementType::float32, ElementType::int64})
    for (const Order order : kOrders)
      for (const std::int64_t channels : {1, 3, 17, 64}) {
        const Array x = nasty_array(type, Shape{2, channels, 5, 7}, random);
        EXPECT_THAT(run({}, x, order, {1, 1, 2, 2}), Contains("resize_nearest"));
        for (const Coordinates coordinates : kCoordinates)
          for (const Resize::Nearest rule : {Resize::Nearest::round_prefer_floor, Resize::Nearest::round_prefer_ceil,
                                             Resize::Nearest::floor, Resize::Nearest::ceil}) {
            Resize op;
            op.coordinates = coordinates;
            op.nearest = rule;
            run(op, x, order, {1, 1, 1.7f, 0.6f});
            run(op, x, order, {}, {2, channels, 3, 15});
          }
      }
}

TEST(Resize, InterpolationAgreesForEveryRuleAndOrder) {
  std::mt19937_64 random(2);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (const std::int64_t channels : {1, 5, 33, 100})
        for (const Mode mode : {Mode::linear, Mode::cubic})
          for (const Coordinates coordinates : kCoordinates) {
            const Array x = random_array(type, Shape{2, channels, 6, 5}, random);
            Resize op;
            op.mode = mode;
            op.coordinates = coordinates;
            EXPECT_THAT(run(op, x, order, {1, 1, 2, 2}), Contains(StartsWith("resize_")));
            op.exclude_outside = true;
            run(op, x, order, {1, 1, 0.55f, 1.0f});
            op.axes = {2, 3};
            run(op, x, order, {}, {1, 13});
            op.axes = {2};
            run(op, random_array(type, Shape{1, channels, 9}, random), order, {}, {14});
          }
}

TEST(Resize, InterpolationPassesOnWhatIsNotANumberAndNothingElse) {
  std::mt19937_64 random(3);
  for (const Order order : kOrders) {
    Array x = random_array(ElementType::float32, Shape{1, 20, 6, 5}, random);
    for (int i = 0; i < 30; ++i)
      x.as<float>()[random() % 600] =
          i % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    Resize op;
    op.mode = Mode::linear;
    run(op, x, order, {1, 1, 2, 2});
    op.coordinates = Coordinates::align_corners;
    run(op, x, order, {1, 1, 3, 1.5f});
  }
}

TEST(Resize, LeavesCropsAntialiasAndChannelsToTheDefinition) {
  std::mt19937_64 random(4);
  const Array x = random_array(ElementType::float32, Shape{1, 4, 6, 5}, random);
  Resize op;
  op.mode = Mode::linear;
  EXPECT_THAT(run(op, x, Order::row_major, {1, 2, 1, 1}), IsEmpty());
  op.antialias = true;
  EXPECT_THAT(run(op, x, Order::row_major, {1, 1, 0.5f, 0.5f}), IsEmpty());
}

TEST(Resize, AgreesForRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    Resize op;
    op.mode = pick(random, {Mode::nearest, Mode::linear, Mode::cubic});
    op.coordinates = pick(random, kCoordinates);
    op.exclude_outside = op.mode == Mode::cubic && coin(random);
    const Shape shape{between(random, 1, 2), between(random, 1, 40), between(random, 1, 9), between(random, 1, 9)};
    run(op, random_array(pick(random, kTypes), shape, random), pick(random, kOrders), {},
        {shape[0], shape[1], between(random, 1, 20), between(random, 1, 20)});
  });
}

}  // namespace
}  // namespace tessera::cpu
