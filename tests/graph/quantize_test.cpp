#include "tessera/graph/ops/quantize.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tessera {
namespace {

using testing::HasSubstr;
using I8 = std::int8_t;
using U8 = std::uint8_t;

TEST(QuantizeLinear, RoundsHalfToEvenAndSaturates) {
  const Array x = floats({7}, {1, 3, 5, -1, 1000, -1000, INFINITY});
  EXPECT_EQ(run(QuantizeLinear{}, {x, floats({}, {2}), array_of<U8>({}, {10})})[0],
            array_of<U8>({7}, {10, 12, 12, 10, 255, 0, 255}));
  EXPECT_EQ(run(QuantizeLinear{}, {x, floats({}, {2}), array_of<I8>({}, {0})})[0],
            array_of<I8>({7}, {0, 2, 2, 0, 127, -128, 127}));
}

TEST(QuantizeLinear, WithoutAZeroPointTheTypeIsUint8OrTheOneAskedFor) {
  const Array x = floats({2}, {-2, 4});
  EXPECT_EQ(run(QuantizeLinear{}, {x, floats({}, {2})})[0], array_of<U8>({2}, {0, 2}));
  EXPECT_EQ(run(QuantizeLinear{.type = ElementType::int16}, {x, floats({}, {2})})[0],
            array_of<std::int16_t>({2}, {-1, 2}));
}

TEST(QuantizeLinear, OneScalePerPositionOfAnAxis) {
  const Array x = floats({2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_EQ(run(QuantizeLinear{.axis = 0}, {x, floats({2}, {1, 10}), array_of<U8>({2}, {0, 100})})[0],
            array_of<U8>({2, 3}, {1, 2, 3, 101, 102, 103}));
  EXPECT_EQ(run(QuantizeLinear{.axis = -1}, {x, floats({3}, {1, 2, 3})})[0],
            array_of<U8>({2, 3}, {1, 1, 1, 10, 10, 10}));
}

TEST(QuantizeLinear, OneScalePerBlockWithAShorterLastBlock) {
  const Array x = floats({2, 3}, {1, 2, 30, 4, 8, 10});
  EXPECT_EQ(run(QuantizeLinear{.axis = 1, .block = 2}, {x, floats({2, 2}, {1, 10, 2, 5})})[0],
            array_of<U8>({2, 3}, {1, 2, 3, 2, 4, 2}));
  EXPECT_EQ(run(QuantizeLinear{.axis = 0, .block = 2}, {x, floats({1, 3}, {1, 2, 5})})[0],
            array_of<U8>({2, 3}, {1, 1, 6, 4, 4, 2}));
}

TEST(QuantizeLinear, TiesAreDecidedInThePrecisionOfTheDivision) {
  // 10.001 / 4 is 2.50025: above the tie in float, on it in float16 (steps of 1/512).
  const Array x = floats({1}, {10.001f}), scale = floats({}, {4});
  EXPECT_EQ(run(QuantizeLinear{}, {x, scale})[0], array_of<U8>({1}, {3}));
  EXPECT_EQ(run(QuantizeLinear{.precision = ElementType::float16}, {x, scale})[0], array_of<U8>({1}, {2}));
}

TEST(DequantizeLinear, UndoesAllGranularities) {
  const Array x = array_of<I8>({2, 2}, {-128, 0, 1, 127});
  EXPECT_EQ(run(DequantizeLinear{}, {x, floats({}, {0.5f}), array_of<I8>({}, {-1})})[0],
            floats({2, 2}, {-63.5f, 0.5f, 1, 64}));
  EXPECT_EQ(run(DequantizeLinear{.axis = 0}, {x, floats({2}, {1, 2})})[0], floats({2, 2}, {-128, 0, 2, 254}));
  EXPECT_EQ(run(DequantizeLinear{.axis = 1, .block = 2}, {x, floats({2, 1}, {1, 2})})[0],
            floats({2, 2}, {-128, 0, 2, 254}));
  EXPECT_EQ(run(DequantizeLinear{}, {array_of<std::int32_t>({1}, {1 << 30}), floats({}, {0.25f})})[0],
            floats({1}, {static_cast<float>(1 << 28)}));
}

TEST(DequantizeLinear, TheOutputHasTheTypeOfTheScaleOrTheOneAskedFor) {
  const Array x = array_of<U8>({1}, {3});
  EXPECT_EQ(run(DequantizeLinear{}, {x, array_of<Float16>({}, {Float16(2.0f)})})[0].type(), ElementType::float16);
  EXPECT_EQ(run(DequantizeLinear{.type = ElementType::bfloat16}, {x, floats({}, {2})})[0].type(),
            ElementType::bfloat16);
}

TEST(DynamicQuantizeLinear, KeepsZeroExact) {
  const std::vector<Array> y = run(DynamicQuantizeLinear{}, {floats({4}, {-1, 0, 1, 1.55f})});
  EXPECT_EQ(y[1], floats({}, {2.55f / 255}));
  EXPECT_EQ(y[2], array_of<U8>({}, {100}));
  EXPECT_EQ(y[0], array_of<U8>({4}, {0, 100, 200, 255}));
  const std::vector<Array> positive = run(DynamicQuantizeLinear{}, {floats({2}, {255, 51})});
  EXPECT_EQ(positive[0], array_of<U8>({2}, {255, 51}));
  EXPECT_EQ(positive[2], array_of<U8>({}, {0}));
}

TEST(DynamicQuantizeLinear, ZerosAndNothingStayFinite) {
  EXPECT_EQ(run(DynamicQuantizeLinear{}, {floats({2}, {0, 0})})[0], array_of<U8>({2}, {0, 0}));
  EXPECT_EQ(run(DynamicQuantizeLinear{}, {floats({0}, {})})[1], floats({}, {1}));
}

TEST(Quantization, RefusesWhatItCannotDo) {
  const TensorType x = type_of({2, 4}), one = type_of({});
  EXPECT_THAT(refusal(QuantizeLinear{}, {x, type_of({3})}), HasSubstr("do not fit axis 1"));
  EXPECT_THAT(refusal(QuantizeLinear{.axis = 5}, {x, type_of({4})}), HasSubstr("axis 5"));
  EXPECT_THAT(refusal(QuantizeLinear{.block = 3}, {x, type_of({2, 3})}), HasSubstr("blocks of 3"));
  EXPECT_THAT(refusal(QuantizeLinear{.block = -1}, {x, one}), HasSubstr("-1"));
  EXPECT_THAT(refusal(QuantizeLinear{.type = ElementType::float8_e8m0}, {x, one}), HasSubstr("float8_e8m0"));
  EXPECT_THAT(refusal(QuantizeLinear{.type = ElementType::int8}, {x, one, type_of({}, ElementType::uint8)}),
              HasSubstr("uint8"));
  EXPECT_THAT(refusal(QuantizeLinear{}, {x, type_of({4}), type_of({}, ElementType::uint8)}), HasSubstr("zero point"));
  EXPECT_THAT(refusal(DequantizeLinear{}, {type_of({2}, ElementType::float8_e8m0), one}), HasSubstr("float8_e8m0"));
  EXPECT_THAT(refusal(DequantizeLinear{}, {type_of({2}, ElementType::int8), one, type_of({}, ElementType::uint8)}),
              HasSubstr("one element type"));
  EXPECT_THAT(refusal(DynamicQuantizeLinear{}, {type_of({2}, ElementType::float16)}), HasSubstr("float16"));
}

TEST(Quantization, TellsWhatItCanOfPartlyKnownInputs) {
  EXPECT_EQ(inferred(QuantizeLinear{}, {type_of({kAny, 4}), type_of({4})}), "uint8[?, 4]");
  EXPECT_EQ(inferred(DynamicQuantizeLinear{}, {any_rank()}), "uint8[...] float32[] uint8[]");
}

}  // namespace
}  // namespace tessera
