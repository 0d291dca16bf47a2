#include "op_testing.h"
#include "partly_known.h"
#include "tessera/graph/ops/quantize.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;
using I8 = std::int8_t;
using U8 = std::uint8_t;

TEST(ConvInteger, SubtractsZeroPointsAndPadsWithThem) {
  // x - 1 is 1 2 3, w - 2 is -1 1.
  const Array x = array_of<U8>({1, 1, 3}, {2, 3, 4}), w = array_of<I8>({1, 1, 2}, {1, 3});
  const ConvInteger op{.window = {.kernel = {2}, .pads = {1, 0}}};
  EXPECT_EQ(run(op, {x, w, array_of<U8>({}, {1}), array_of<I8>({}, {2})})[0],
            array_of<std::int32_t>({1, 1, 3}, {1, 1, 1}));
}

TEST(ConvInteger, AZeroPointPerOutputChannel) {
  const Array x = array_of<U8>({1, 1, 1}, {10}), w = array_of<U8>({2, 1, 1}, {5, 5});
  EXPECT_EQ(run(ConvInteger{}, {x, w, std::nullopt, array_of<U8>({2}, {1, 7})})[0],
            array_of<std::int32_t>({1, 2, 1}, {40, -20}));
}

TEST(QLinearConv, RequantizesEachOutputChannelWithItsOwnScale) {
  const Array x = array_of<U8>({1, 1, 2}, {12, 20}), w = array_of<I8>({2, 1, 1}, {3, -1});
  const std::vector<std::optional<Array>> inputs{x,
                                                 floats({}, {0.5f}),
                                                 array_of<U8>({}, {10}),
                                                 w,
                                                 floats({2}, {1, 4}),
                                                 array_of<I8>({2}, {0, 1}),
                                                 floats({}, {2}),
                                                 array_of<U8>({}, {100}),
                                                 array_of<std::int32_t>({2}, {4, 0})};
  // Sums 6 + 4, 30 + 4 and -4, -20; times 1/4 and 1: 2.5 rounds to 2, 8.5 to 8.
  EXPECT_EQ(run(QLinearConv{}, inputs)[0], array_of<U8>({1, 2, 2}, {102, 108, 96, 80}));
}

TEST(QLinearConv, Saturates) {
  const std::vector<std::optional<Array>> inputs{array_of<I8>({1, 1, 2}, {100, -100}),
                                                 floats({}, {1}),
                                                 array_of<I8>({}, {0}),
                                                 array_of<I8>({1, 1, 1}, {100}),
                                                 floats({}, {1}),
                                                 array_of<I8>({}, {0}),
                                                 floats({}, {1}),
                                                 array_of<I8>({}, {0})};
  EXPECT_EQ(run(QLinearConv{}, inputs)[0], array_of<I8>({1, 1, 2}, {127, -128}));
}

TEST(QuantizedConvolutions, RefuseWhatDoesNotFit) {
  const TensorType x = type_of({1, 1, 4}, ElementType::uint8), w = type_of({2, 1, 1}, ElementType::int8);
  EXPECT_THAT(refusal(ConvInteger{}, {type_of({1, 1, 4}), w}), HasSubstr("float32"));
  EXPECT_THAT(refusal(ConvInteger{}, {x, w, type_of({2}, ElementType::uint8)}), HasSubstr("one value"));
  EXPECT_THAT(refusal(ConvInteger{}, {x, w, type_of({}, ElementType::uint8), type_of({3}, ElementType::int8)}),
              HasSubstr("2 output channels"));
  const TensorType one_weight = type_of({}, ElementType::int8);
  EXPECT_THAT(refusal(ConvInteger{}, {x, one_weight, type_of({}, ElementType::uint8), type_of({3}, ElementType::int8)}),
              HasSubstr("ConvInteger"));
  const TensorType scale = type_of({}), xz = type_of({}, ElementType::uint8), wz = type_of({}, ElementType::int8);
  EXPECT_THAT(refusal(QLinearConv{}, {x, scale, xz, w, type_of({3}), wz, scale, xz}), HasSubstr("2 output channels"));
  EXPECT_THAT(refusal(QLinearConv{}, {x, scale, xz, w, scale, wz, scale, xz, type_of({2})}), HasSubstr("int32"));
  EXPECT_THAT(refusal(QLinearConv{}, {x, scale, wz, w, scale, wz, scale, xz}), HasSubstr("one element type"));
  EXPECT_EQ(inferred(QLinearConv{}, {type_of({kAny, 1, 4}, ElementType::uint8), scale, xz, w, scale, wz, scale, xz}),
            "uint8[?, 2, 4]");
}

}  // namespace
}  // namespace tessera
