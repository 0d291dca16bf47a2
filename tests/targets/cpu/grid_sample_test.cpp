#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::cpu {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16};
constexpr Order kOrders[] = {Order::row_major, Order::channels_last};
constexpr GridSample::Mode kModes[] = {GridSample::Mode::linear, GridSample::Mode::nearest, GridSample::Mode::cubic};
constexpr GridSample::Padding kPaddings[] = {GridSample::Padding::zeros, GridSample::Padding::border,
                                             GridSample::Padding::reflection};

// Places inside, on the borders, outside and nowhere.
Array places(const Shape& shape, std::mt19937_64& random) {
  Array grid(ElementType::float32, shape);
  std::uniform_real_distribution<float> inside(-1.3f, 1.3f);
  constexpr float kOdd[] = {
      -1, 1, 0, -0.0f, 5, -7, 1e30f, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()};
  for (float& at : grid.as<float>()) at = random() % 8 == 0 ? pick(random, kOdd) : inside(random);
  return grid;
}

void run(const GridSample& op, const Array& x, const Array& grid, Order order, double magnitude) {
  KernelCase test = one_node(op, {input(x, order), input(grid)});
  test.reduction = 16;
  test.magnitude = magnitude;
  EXPECT_THAT(expect_kernels_agree(test), testing::AllOf(Not(IsEmpty()), Each(StartsWith("grid_sample"))));
}

TEST(GridSample, AgreesForRandomProblemsOfEveryKind) {
  fuzz([](std::mt19937_64& random) {
    const std::int64_t n = between(random, 1, 2);
    const Array x = random_array(
        pick(random, kTypes), Shape{n, between(random, 1, 40), between(random, 1, 9), between(random, 1, 9)}, random);
    const Array grid = places(Shape{n, between(random, 1, 12), between(random, 1, 12), 2}, random);
    // Weights of a cubic add up to less than 3 in size; random numbers are under 8.
    run(GridSample{pick(random, kModes), pick(random, kPaddings), coin(random)}, x, grid, pick(random, kOrders), 24);
  });
}

TEST(GridSample, NearestMovesBitsOfAnyNumber) {
  std::mt19937_64 random(3);
  for (const ElementType type : kTypes)
    for (const GridSample::Padding padding : kPaddings)
      run(GridSample{GridSample::Mode::nearest, padding}, nasty_array(type, Shape{2, 19, 5, 7}, random),
          places(Shape{2, 9, 8, 2}, random), Order::channels_last, 0);
}

TEST(GridSample, WhatItCannotDoIsRefusedWithAReason) {
  std::mt19937_64 random(4);
  const auto refused = [&](const Shape& image, const Shape& grid, ElementType grid_type) {
    return expect_kernels_agree(one_node(GridSample{}, {input(random_array(ElementType::float32, image, random)),
                                                        input(random_array(grid_type, grid, random))}));
  };
  EXPECT_THAT(refused(Shape{1, 2, 3, 4, 5}, Shape{1, 2, 2, 2, 3}, ElementType::float32), IsEmpty());
  EXPECT_THAT(refused(Shape{1, 2, 3, 4}, Shape{1, 2, 2, 2}, ElementType::float64), IsEmpty());
}

}  // namespace
}  // namespace tessera::cpu
