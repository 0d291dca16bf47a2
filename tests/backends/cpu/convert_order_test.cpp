#include "tessera/backends/cpu/convert_order.h"

#include "tests/backends/cpu/kernel_case.h"

#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

TEST(ConvertOrder, GoesThereAndBackForEveryElementSizeAndOddShapes) {
  std::mt19937_64 random(1);
  for (const ElementType type : {ElementType::uint8, ElementType::bfloat16, ElementType::float32, ElementType::float64})
    for (const Shape& shape : {Shape{1, 3, 5, 7}, Shape{2, 17, 33}, Shape{3, 1, 4, 4}, Shape{1, 40, 1, 1},
                               Shape{2, 3, 4, 5, 6}, Shape{0, 3, 4, 5}, Shape{6, 7}}) {
      const Array x = random_array(type, shape, random);
      Array last(type, shape), back(type, shape);
      convert_order(x.bytes().data(), Order::row_major, last.bytes().data(), Order::channels_last, shape,
                    element_bytes(type));
      convert_order(last.bytes().data(), Order::channels_last, back.bytes().data(), Order::row_major, shape,
                    element_bytes(type));
      EXPECT_TRUE(x == back) << shape.to_string();
    }
}

TEST(ConvertOrder, PutsTheChannelsOfAPixelSideBySide) {
  const Array x = Array::of<float>(Shape{1, 2, 1, 3}, std::vector<float>{1, 2, 3, 10, 20, 30});
  Array y(ElementType::float32, Shape{1, 2, 1, 3});
  convert_order(x.bytes().data(), Order::row_major, y.bytes().data(), Order::channels_last, x.shape(), 4);
  EXPECT_TRUE(y == Array::of<float>(Shape{1, 2, 1, 3}, std::vector<float>{1, 10, 2, 20, 3, 30}));
}

}  // namespace
}  // namespace tessera::cpu
