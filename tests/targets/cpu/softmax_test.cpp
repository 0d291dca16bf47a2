#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::StartsWith;

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16};
constexpr Order kOrders[] = {Order::row_major, Order::channels_last};

void run(const Softmax& op, const Array& x, Order order) {
  KernelCase test = one_node(op, {input(x, x.shape().rank() < 3 ? Order::row_major : order)});
  for (const std::int64_t extent : x.shape()) test.reduction *= std::max<std::int64_t>(extent, 1);
  // x - max is rounded as a number of its own size; around zero a logarithm is the difference of two such.
  test.magnitude = op.log ? 200 : 1;
  EXPECT_THAT(expect_kernels_agree(test), Contains(StartsWith("softmax")));
}

TEST(Softmax, AgreesAlongEveryAxisInBothOrders) {
  std::mt19937_64 random(1);
  for (const ElementType type : kTypes)
    for (const Order order : kOrders)
      for (const Shape& shape :
           {Shape{2, 17, 5, 3}, Shape{3, 100, 33}, Shape{4, 1000}, Shape{1}, Shape{5, 1, 2}, Shape{2, 3, 70}})
        for (int axis = 0; axis < shape.rank(); ++axis)
          for (const bool log : {false, true})
            for (const bool flatten : {false, true})
              run(Softmax{axis, log, flatten}, random_array(type, shape, random), order);
}

TEST(Softmax, NastyNumbersGoThroughAsInTheDefinition) {
  std::mt19937_64 random(2);
  for (const ElementType type : kTypes)
    for (int i = 0; i < 20; ++i)
      for (const bool log : {false, true})
        for (int axis = 0; axis < 2; ++axis) {
          Array x = nasty_array(type, Shape{between(random, 1, 9), between(random, 1, 40)}, random);
          run(Softmax{axis, log}, x, Order::row_major);
        }
  // Nothing but the least there is.
  Array x(ElementType::float32, Shape{2, 20});
  for (float& v : x.as<float>()) v = -std::numeric_limits<float>::infinity();
  x.as<float>()[3] = 2;
  run(Softmax{}, x, Order::row_major);
}

TEST(Softmax, AgreesForRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    std::vector<std::int64_t> dims;
    for (std::int64_t i = between(random, 1, 4); i > 0; --i) dims.push_back(between(random, 1, 40 / (i + 1)));
    const Array x = random_array(pick(random, kTypes), Shape(dims), random);
    run(Softmax{between(random, 0, x.shape().rank() - 1), coin(random), coin(random)}, x, pick(random, kOrders));
  });
}

}  // namespace
}  // namespace tessera::cpu
