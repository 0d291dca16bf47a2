#include "tessera/graph/evaluate.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

using enum ElementType;

constexpr ElementType kTypes[] = {boolean, uint8,  int8,    int16,   uint16, float16, bfloat16,
                                  int32,   uint32, float32, float64, int64,  uint64};

// Numbers of all sizes, many halfway between two of a shorter type.
Array hard_array(ElementType type, std::int64_t n, std::mt19937_64& random) {
  Array out = nasty_array(type, Shape{n}, random);
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& v : out.as<T>()) {
      if (random() % 2 == 0) continue;
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        v = static_cast<T>(
                std::ldexp(static_cast<T>((random() % 4096) * 2 + 1), static_cast<int>(random() % 90) - 45)) *
            (random() % 2 == 0 ? 1 : -1);
      else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        v = static_cast<T>(random());
    }
  });
  return out;
}

TEST(CastKernels, EveryPairOfTypesIsExact) {
  std::mt19937_64 random(1);
  for (const ElementType from : kTypes)
    for (const ElementType to : kTypes) {
      const std::int64_t n = from == float32 && to == float16 ? 40001 : 301;
      SCOPED_TRACE(testing::Message() << name(from) << " to " << name(to));
      KernelCase test = one_node(Cast{to}, {{hard_array(from, n, random)}});
      const Array wanted = evaluate(test.graph, test.arrays).at(0);
      for (const CpuKernel& kernel : kernels()) {
        if (kernel.info.op != Cast::kName) continue;
        const auto result = run_kernel(kernel, test);
        ASSERT_TRUE(std::holds_alternative<std::vector<Array>>(result));
        const std::vector<double> got = std::get<std::vector<Array>>(result)[0].to_double();
        EXPECT_THAT(got, testing::Pointwise(testing::NanSensitiveDoubleEq(), wanted.to_double()));
      }
    }
}

}  // namespace
}  // namespace tessera::cpu
