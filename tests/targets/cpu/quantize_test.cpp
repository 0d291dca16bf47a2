#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera::cpu {
namespace {

std::size_t sets() { return std::min<std::size_t>(usable_isas().size(), 3); }

// Scales around a tenth, some of them powers of two so that quotients end halfway.
Array scales_of(const Shape& shape, Fuzz& fuzz) {
  Array out(ElementType::float32, shape);
  for (float& v : out.as<float>()) v = fuzz.one_of({0.125f, 0.25f, 0.1f, 0.037f, 1.0f});
  return out;
}

Array random_bytes(ElementType type, const Shape& shape, Fuzz& fuzz) {
  Array out(type, shape);
  for (std::byte& b : out.bytes()) b = static_cast<std::byte>(fuzz.random());
  return out;
}

Array halves_of(const Shape& shape, Fuzz& fuzz) {
  Array out = nasty_array(ElementType::float32, shape, fuzz.random);
  for (float& v : out.as<float>())
    if (fuzz.pick(0, 2) == 0) v = static_cast<float>(fuzz.pick(-300, 300)) * 0.0625f;
  return out;
}

// Integers are right or wrong: no rounding is allowed for.
KernelCase exactly(KernelCase test) {
  test.ulps = 0;
  test.reduction = 0;
  return test;
}

TEST(QuantizeKernels, QuantizingAndBackIsExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const Shape shape{fuzz.pick(1, 3), fuzz.one_of<std::int64_t>({1, 3, 17, 70}), fuzz.pick(1, 9), fuzz.pick(1, 9)};
    const ElementType type = fuzz.one_of({ElementType::int8, ElementType::uint8});
    const bool per_tensor = fuzz.pick(0, 1) == 0, zero = fuzz.pick(0, 1) == 0;
    const std::int64_t axis = fuzz.pick(-4, 3);
    const Shape scales = per_tensor ? Shape{} : Shape{shape[static_cast<int>(axis)]};
    const bool constant = !per_tensor || fuzz.pick(0, 1) == 0;
    const Operand scale{scales_of(scales, fuzz), constant};
    const Operand zeros = zero ? Operand{random_bytes(type, scales, fuzz), constant} : Operand{};
    const Order order = fuzz.one_of({Order::row_major, Order::channels_last});
    SCOPED_TRACE(shape.to_string() + " axis " + std::to_string(axis));
    QuantizeLinear quantize{.axis = axis};
    if (!zero) quantize.type = type;
    KernelCase forth = one_node(quantize, {{halves_of(shape, fuzz)}, scale, zeros});
    forth.orders = {order, Order::row_major, Order::row_major};
    EXPECT_EQ(expect_kernels_agree(exactly(std::move(forth))).size(), sets());
    KernelCase back = one_node(DequantizeLinear{.axis = axis}, {{random_bytes(type, shape, fuzz)}, scale, zeros});
    back.orders = {order, Order::row_major, Order::row_major};
    EXPECT_EQ(expect_kernels_agree(exactly(std::move(back))).size(), sets());
  }
}

TEST(QuantizeKernels, DynamicScalesAreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const Shape shape{fuzz.one_of<std::int64_t>({1, 3, 17, 100, 33000, 70001})};
    Array x = random_array(ElementType::float32, shape, fuzz.random);
    if (fuzz.pick(0, 3) == 0)
      for (float& v : x.as<float>()) v = std::abs(v);
    if (fuzz.pick(0, 3) == 0) x.as<float>()[0] = std::nanf("");
    EXPECT_EQ(expect_kernels_agree(exactly(one_node(DynamicQuantizeLinear{}, {{std::move(x)}}, 3))).size(), sets());
  }
}

}  // namespace
}  // namespace tessera::cpu
