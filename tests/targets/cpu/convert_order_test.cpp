#include "tessera/targets/cpu/kernels/move/convert_order.h"

#include "tessera/core/isa.h"
#include "tests/targets/cpu/kernel_case.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

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

// What the definition of the two orders says, element by element.
Array channels_last(const Array& x) {
  const std::int64_t batch = x.shape()[0], channels = x.shape()[1], bytes = element_bytes(x.type());
  const std::int64_t pixels = x.count() / (batch * channels);
  Array y(x.type(), x.shape());
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t p = 0; p < pixels; ++p)
        std::memcpy(y.bytes().data() + ((n * pixels + p) * channels + c) * bytes,
                    x.bytes().data() + ((n * channels + c) * pixels + p) * bytes, static_cast<std::size_t>(bytes));
  return y;
}

// Many channels of few pixels are cut along the channels.
TEST(ConvertOrder, CutsLargeValuesAlongEitherExtent) {
  std::mt19937_64 random(3);
  for (const ElementType type : {ElementType::bfloat16, ElementType::float32})
    for (const Shape& shape : {Shape{1, 1100, 1, 33}, Shape{2, 301, 10, 20}, Shape{2, 67, 1, 511}, Shape{1, 67, 1, 512},
                               Shape{3, 50, 30, 31}}) {
      const Array x = random_array(type, shape, random), wanted = channels_last(x);
      Array last(type, shape), back(type, shape);
      convert_order(x.bytes().data(), Order::row_major, last.bytes().data(), Order::channels_last, shape,
                    element_bytes(type));
      EXPECT_TRUE(last == wanted) << shape.to_string();
      convert_order(wanted.bytes().data(), Order::channels_last, back.bytes().data(), Order::row_major, shape,
                    element_bytes(type));
      EXPECT_TRUE(back == x) << shape.to_string();
    }
}

TEST(ConvertOrder, EveryInstructionSetMovesEveryElementToItsPlace) {
  std::mt19937_64 random(2);
  for (const Isa isa : usable_isas()) {
    set_active_isa(isa);
    for (const ElementType type :
         {ElementType::uint8, ElementType::bfloat16, ElementType::float32, ElementType::float64})
      for (const std::int64_t channels : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 33, 100})
        for (const std::int64_t width : {1, 2, 3, 4, 5, 9, 16, 19, 50, 1031}) {
          const Array x = random_array(type, Shape{2, channels, 1, width}, random), wanted = channels_last(x);
          // Exactly as many bytes as there are, so that a sanitizer sees every one too many.
          Array last(type, x.shape()), back(type, x.shape());
          convert_order(x.bytes().data(), Order::row_major, last.bytes().data(), Order::channels_last, x.shape(),
                        element_bytes(type));
          EXPECT_TRUE(last == wanted) << name(isa) << " " << x.to_string();
          convert_order(last.bytes().data(), Order::channels_last, back.bytes().data(), Order::row_major, x.shape(),
                        element_bytes(type));
          EXPECT_TRUE(back == x) << name(isa) << " " << x.to_string();
        }
  }
  set_active_isa(std::nullopt);
}

TEST(ConvertOrder, KeepsTheBitsOfSignallingNaN) {
  Array x(ElementType::float32, Shape{1, 20, 20, 1}), y(ElementType::float32, x.shape());
  for (std::size_t i = 0; i < x.bytes().size(); i += 4) {
    const std::uint32_t bits = 0x7f800001u + static_cast<std::uint32_t>(i);
    std::memcpy(x.bytes().data() + i, &bits, 4);
  }
  for (const Isa isa : usable_isas()) {
    set_active_isa(isa);
    convert_order(x.bytes().data(), Order::row_major, y.bytes().data(), Order::channels_last, x.shape(), 4);
    EXPECT_TRUE(y == channels_last(x)) << name(isa);
  }
  set_active_isa(std::nullopt);
}

}  // namespace
}  // namespace tessera::cpu
