#include "op_testing.h"
#include "tessera/graph/ops/quantize.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using I8 = std::int8_t;
using U8 = std::uint8_t;

TEST(QLinearAdd, AddsInStepsOfTheResultAndStopsAtItsEnds) {
  const TestInputs inputs{array_of<U8>({4}, {10, 12, 14, 255}),
                          floats({}, {0.5f}),
                          array_of<U8>({}, {10}),
                          array_of<I8>({4}, {-3, -3, 0, 127}),
                          floats({}, {0.25f}),
                          array_of<I8>({}, {-3}),
                          floats({}, {1}),
                          array_of<U8>({}, {100})};
  // 0 + 0, 1 + 0, 2 + 0.75, 122.5 + 32.5.
  EXPECT_EQ(run(QLinearAdd{}, inputs)[0], array_of<U8>({4}, {100, 101, 103, 255}));
}

TEST(QLinearAdd, RoundsHalfToEven) {
  const TestInputs inputs{array_of<U8>({3}, {1, 3, 5}),
                          floats({}, {0.5f}),
                          array_of<U8>({}, {0}),
                          array_of<U8>({3}, {0, 0, 0}),
                          floats({}, {1}),
                          array_of<U8>({}, {0}),
                          floats({}, {1}),
                          array_of<I8>({}, {-1})};
  EXPECT_EQ(run(QLinearAdd{}, inputs)[0], array_of<I8>({3}, {-1, 1, 1}));
}

TEST(QLinearAdd, RefusesOtherShapes) {
  const std::vector<TensorType> types{{ElementType::uint8, Shape{2}},  {ElementType::float32, Shape{}},
                                      {ElementType::uint8, Shape{}},   {ElementType::uint8, Shape{3}},
                                      {ElementType::float32, Shape{}}, {ElementType::uint8, Shape{}},
                                      {ElementType::float32, Shape{}}, {ElementType::uint8, Shape{}}};
  EXPECT_THROW(infer_types_only(QLinearAdd{}, types), Error);
}

TEST(QLinearGlobalAveragePool, AveragesEachChannel) {
  const TestInputs inputs{array_of<U8>({1, 2, 2, 2}, {10, 12, 14, 16, 0, 0, 0, 20}), floats({}, {0.5f}),
                          array_of<U8>({}, {10}), floats({}, {0.25f}), array_of<I8>({}, {-5})};
  // Sums 12 and -20, times 0.5 / (4 * 0.25).
  EXPECT_EQ(run(QLinearGlobalAveragePool{}, inputs)[0], array_of<I8>({1, 2, 1, 1}, {1, -15}));
}

TEST(ByteLookup, TakesTheBitsOfTheByteAsPosition) {
  Array table(ElementType::uint8, Shape{256});
  for (std::size_t i = 0; i < 256; ++i) table.as<U8>()[i] = static_cast<U8>(255 - i);
  EXPECT_EQ(run(ByteLookup{}, {array_of<I8>({3}, {0, -1, -128}), table})[0], array_of<U8>({3}, {255, 0, 127}));
  EXPECT_THROW(run(ByteLookup{}, {array_of<I8>({1}, {0}), array_of<U8>({2}, {1, 2})}), Error);
}

}  // namespace
}  // namespace tessera
