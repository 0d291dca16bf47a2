#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16};

std::vector<std::string> run(const Op& op, const Array& x) {
  KernelCase test = one_node(op, {input(x, Order::channels_last)});
  test.reduction = 64;
  test.magnitude = 110;  // of the nasty ones, the huge apart
  return expect_kernels_agree(test);
}

// Without the numbers whose sums overflow float on one way and not on another.
Array averageable(ElementType type, const Shape& shape, std::mt19937_64& random) {
  Array x = nasty_array(type, shape, random);
  visit_floating_type(type, "average", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& v : x.as<T>())
      if (const float f = static_cast<float>(v); f > 1e30f || f < -1e30f)
        if (f - f == 0) v = T(1.0f);
  });
  return x;
}

TEST(Pool, MaximaAgreeForTheWindowsOfNetworksAndOddChannels) {
  std::mt19937_64 random(1);
  for (const ElementType type : kTypes)
    for (const std::int64_t channels : {1, 3, 5, 17, 33, 64, 100}) {
      const Array x = nasty_array(type, Shape{2, channels, 11, 9}, random);
      EXPECT_THAT(run(MaxPool{{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}}, x), Contains(StartsWith("max_pool")));
      run(MaxPool{{{2, 2}, {2, 2}}, true}, x);
      run(MaxPool{{{5, 5}, {}, {}, {2, 2, 2, 2}}}, x);
      run(MaxPool{{{2, 3}, {1, 2}, {2, 3}, {0, 2, 1, 1}}, true}, x);
      run(MaxPool{{.kernel = {3}, .strides = {2}, .pads = {1, 0}}}, nasty_array(type, Shape{2, channels, 15}, random));
    }
}

TEST(Pool, AveragesAgreeWithAndWithoutPaddingInTheCount) {
  std::mt19937_64 random(2);
  for (const ElementType type : kTypes)
    for (const std::int64_t channels : {1, 3, 17, 64, 100})
      for (const bool count : {false, true}) {
        const Array x = averageable(type, Shape{2, channels, 11, 10}, random);
        EXPECT_THAT(run(AveragePool{{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}, false, count}, x),
                    Contains(StartsWith("average_pool")));
        run(AveragePool{{{2, 2}, {2, 2}}, true, count}, x);
        run(AveragePool{{{4, 3}, {3, 4}, {1, 2}, {3, 0, 1, 2}}, true, count}, x);
        run(AveragePool{{.kernel = {4}, .strides = {3}, .pads = {3, 2}}, true, count},
            averageable(type, Shape{1, channels, 14}, random));
      }
}

TEST(Pool, WindowsOverNothingButPaddingAgree) {
  std::mt19937_64 random(3);
  const Array x = random_array(ElementType::float32, Shape{1, 20, 3, 3}, random);
  run(MaxPool{{{1, 1}, {}, {}, {2, 2, 2, 2}}}, x);
  for (const bool count : {false, true}) run(AveragePool{{{1, 2}, {}, {}, {2, 2, 2, 2}}, false, count}, x);
}

TEST(Pool, LeavesIndicesAndIntegersToTheDefinition) {
  std::mt19937_64 random(4);
  MaxPool op{{{2, 2}}};
  EXPECT_THAT(run(op, random_array(ElementType::int32, Shape{1, 4, 4, 4}, random)), testing::IsEmpty());
  op.with_indices = true;
  const KernelCase test = one_node(op, {input(random_array(ElementType::float32, Shape{1, 4, 4, 4}, random))}, 2);
  EXPECT_THAT(expect_kernels_agree(test), testing::IsEmpty());
}

TEST(Pool, AgreesForRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    Window window{{between(random, 1, 4), between(random, 1, 4)},
                  {between(random, 1, 3), between(random, 1, 3)},
                  {between(random, 1, 2), between(random, 1, 2)},
                  {}};
    for (int i = 0; i < 4; ++i) window.pads.push_back(between(random, 0, 3));
    const Shape shape{between(random, 1, 3), between(random, 1, 80), between(random, 7, 14), between(random, 7, 14)};
    const ElementType type = pick(random, kTypes);
    if (coin(random))
      run(MaxPool{window, coin(random)}, nasty_array(type, shape, random));
    else
      run(AveragePool{window, coin(random), coin(random)}, averageable(type, shape, random));
  });
}

}  // namespace
}  // namespace tessera::cpu
