#include "tests/targets/cpu/one_node.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera::cpu {
namespace {

Array scalar_of(ElementType type, double value) {
  Array out(type, Shape{});
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
      out.as<T>()[0] = T(static_cast<float>(value));
    else
      out.as<T>()[0] = static_cast<T>(value);
  });
  return out;
}

TEST(ClipKernels, BoundsMayBeConstantComputedOrAbsent) {
  std::mt19937_64 random(1);
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16, ElementType::float16,
                                 ElementType::float64, ElementType::int32, ElementType::uint8, ElementType::int64})
    for (const std::int64_t n : {1, 3, 17, 33, 1000})
      for (int bounds = 0; bounds < 8; ++bounds) {
        const Operand low = bounds & 1 ? Operand{scalar_of(type, 1), (bounds & 4) != 0} : Operand{};
        const Operand high = bounds & 2 ? Operand{scalar_of(type, 3), (bounds & 4) != 0} : Operand{};
        KernelCase test = one_node(Clip{}, {{nasty_array(type, Shape{n}, random)}, low, high});
        EXPECT_FALSE(expect_kernels_agree(test).empty()) << name(type);
      }
}

TEST(ClipKernels, BoundsInTheWrongOrderAndNanAreAsInTheDefinition) {
  std::mt19937_64 random(2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [low, high] : {std::pair{2.0f, -1.0f}, {nan, 1.0f}, {-1.0f, nan}}) {
    KernelCase test = one_node(Clip{}, {{nasty_array(ElementType::float32, Shape{2, 3, 5, 7}, random)},
                                        {Array::scalar(low), true},
                                        {Array::scalar(high)}});
    test.orders = {Order::channels_last, Order::row_major, Order::row_major};
    EXPECT_FALSE(expect_kernels_agree(test).empty());
  }
}

}  // namespace
}  // namespace tessera::cpu
