#include "op_testing.h"
#include "partly_known.h"
#include "tessera/graph/ops/quantize.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;
using I8 = std::int8_t;
using I32 = std::int32_t;
using U8 = std::uint8_t;

TEST(MatMulInteger, SubtractsZeroPoints) {
  const Array a = array_of<U8>({2, 2}, {1, 2, 3, 4}), b = array_of<I8>({2, 1}, {1, -1});
  EXPECT_EQ(run(MatMulInteger{}, {a, b})[0], array_of<I32>({2, 1}, {-1, -1}));
  EXPECT_EQ(run(MatMulInteger{}, {a, b, array_of<U8>({}, {1}), array_of<I8>({}, {1})})[0],
            array_of<I32>({2, 1}, {-2, -6}));
}

TEST(MatMulInteger, ZeroPointsPerRowAndPerColumn) {
  const Array a = array_of<U8>({2, 1}, {10, 10}), b = array_of<U8>({1, 2}, {5, 5});
  EXPECT_EQ(run(MatMulInteger{}, {a, b, array_of<U8>({2}, {0, 8}), array_of<U8>({2}, {4, 6})})[0],
            array_of<I32>({2, 2}, {10, -10, 2, -2}));
}

TEST(MatMulInteger, BroadcastsBatchesAndTakesVectors) {
  const Array a = array_of<U8>({2, 1, 1}, {2, 3}), b = array_of<U8>({1, 3, 1, 1}, {1, 10, 100});
  EXPECT_EQ(run(MatMulInteger{}, {a, b.reshaped({3, 1, 1, 1})})[0],
            array_of<I32>({3, 2, 1, 1}, {2, 3, 20, 30, 200, 300}));
  EXPECT_EQ(run(MatMulInteger{}, {array_of<U8>({2}, {1, 2}), array_of<U8>({2}, {3, 4})})[0], array_of<I32>({}, {11}));
  EXPECT_EQ(run(MatMulInteger{}, {array_of<U8>({2, 2}, {1, 2, 3, 4}), array_of<U8>({2}, {1, 1})})[0],
            array_of<I32>({2}, {3, 7}));
}

TEST(QLinearMatMul, RequantizesTheProduct) {
  const std::vector<std::optional<Array>> inputs{array_of<U8>({1, 2}, {11, 12}),
                                                 floats({}, {0.5f}),
                                                 array_of<U8>({}, {10}),
                                                 array_of<I8>({2, 2}, {1, 2, 3, 60}),
                                                 floats({2}, {1, 2}),
                                                 array_of<I8>({}, {0}),
                                                 floats({}, {1}),
                                                 array_of<I8>({}, {-1})};
  // Sums 7 and 122, times 0.5 and 1: 3.5 rounds to 4.
  EXPECT_EQ(run(QLinearMatMul{}, inputs)[0], array_of<I8>({1, 2}, {3, 121}));
}

TEST(QuantizedMatMuls, RefuseWhatDoesNotFit) {
  const TensorType a = type_of({2, 3}, ElementType::uint8), b = type_of({3, 4}, ElementType::uint8);
  EXPECT_THAT(refusal(MatMulInteger{}, {a, a}), HasSubstr("3 columns against 2 rows"));
  EXPECT_THAT(refusal(MatMulInteger{}, {type_of({2, 3}), b}), HasSubstr("float32"));
  EXPECT_THAT(refusal(MatMulInteger{}, {a, b, type_of({3}, ElementType::uint8)}), HasSubstr("2 rows"));
  EXPECT_EQ(inferred(MatMulInteger{}, {type_of({kAny, kAny}, ElementType::uint8), b}), "int32[?, 4]");
  EXPECT_EQ(inferred(MatMulInteger{}, {any_rank(ElementType::uint8), b}), "int32[...]");
}

}  // namespace
}  // namespace tessera
