#include "tessera/core/tensor_from_array.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera {
namespace {

template <class T>
Tensor import(const std::vector<T>& values, ElementType type, const ArrayImport& how) {
  return tensor_from_array(std::as_bytes(std::span(values)), type, Shape{static_cast<std::int64_t>(values.size())},
                           how);
}

template <class T>
std::vector<T> elements(const Tensor& x, DType dtype) {
  const Bytes bytes = x.to_elements(dtype);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

TEST(Array, KeepsTheTypesThatMachinesHave) {
  EXPECT_EQ(default_dtype(ElementType::float32), DType::float32);
  EXPECT_EQ(default_dtype(ElementType::bfloat16), DType::bfloat16);
  EXPECT_EQ(default_dtype(ElementType::uint16), DType::uint16);
  EXPECT_EQ(default_dtype(ElementType::int32), DType::int32);
}

TEST(Array, FindsAPlaceForTheOthers) {
  EXPECT_EQ(default_dtype(ElementType::boolean), DType::uint8);
  EXPECT_EQ(default_dtype(ElementType::int8), DType::int32);
  EXPECT_EQ(default_dtype(ElementType::int16), DType::uint16);
  EXPECT_EQ(default_dtype(ElementType::int64), DType::uint32);
  EXPECT_EQ(default_dtype(ElementType::float64), DType::float32);
}

TEST(Array, IntegersWrapAround) {
  const std::vector<std::int32_t> values{257, -1, 65536, 255};
  EXPECT_EQ(elements<std::uint8_t>(import(values, ElementType::int32, {DType::uint8}), DType::uint8),
            (std::vector<std::uint8_t>{1, 255, 0, 255}));
  EXPECT_EQ(elements<std::uint32_t>(import(values, ElementType::int32, {DType::uint32}), DType::uint32),
            (std::vector<std::uint32_t>{257, 4294967295U, 65536, 255}));
}

TEST(Array, FloatingValuesAreTruncatedAndSaturate) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> doubles{1.9, -1.9, 1e30, -1e30, nan};
  EXPECT_EQ(elements<std::int32_t>(import(doubles, ElementType::float64, {DType::int32}), DType::int32),
            (std::vector<std::int32_t>{1, -1, 2147483647, -2147483647 - 1, 0}));
  const std::vector<float> floats{300.7F, -0.5F};
  EXPECT_EQ(elements<std::uint8_t>(import(floats, ElementType::float32, {DType::uint8}), DType::uint8),
            (std::vector<std::uint8_t>{255, 0}));
}

TEST(Array, BooleansAreZeroOrOne) {
  const std::vector<std::uint8_t> values{0, 1, 7};
  EXPECT_EQ(elements<float>(import(values, ElementType::boolean, {DType::float32}), DType::float32),
            (std::vector<float>{0, 1, 1}));
}

TEST(Array, BlockFloatsChooseTilesAndNothingElse) {
  const std::vector<float> values(40, 1.5F);
  EXPECT_EQ(import(values, ElementType::float32, {DType::bfloat8_b}).layout(), Layout::tile);
  EXPECT_EQ(import(values, ElementType::float32, {}).layout(), Layout::row_major);
  EXPECT_THROW(import(values, ElementType::float32, {DType::bfloat8_b, Layout::row_major}), Error);
}

TEST(Array, ThePadValueFillsTheRestOfTheTiles) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  ArrayImport how{DType::float32, Layout::tile, {}, 9.0F};
  const Tensor x = tensor_from_array(std::as_bytes(std::span(values)), ElementType::float32, Shape{2, 3}, how);
  std::vector<float> stored(x.bytes().size() / sizeof(float));
  std::memcpy(stored.data(), x.bytes().data(), x.bytes().size());
  ASSERT_EQ(stored.size(), 1024U);
  EXPECT_EQ(std::count(stored.begin(), stored.end(), 9.0F), 1024 - 6);
  EXPECT_EQ(x.to_float32(), values);  // the padding is not part of the tensor
}

TEST(Array, AWrongNumberOfBytesIsRefused) {
  const std::vector<float> values{1, 2, 3};
  EXPECT_THROW(tensor_from_array(std::as_bytes(std::span(values)), ElementType::float32, Shape{2, 2}, {}), Error);
}

}  // namespace
}  // namespace tessera
