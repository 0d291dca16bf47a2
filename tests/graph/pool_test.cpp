#include "tessera/graph/ops/pool.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(MaxPool, PaddingNeverWins) {
  const MaxPool op{.window = {.kernel = {2}, .pads = {1, 1}}};
  EXPECT_EQ(run(op, {floats({1, 1, 2}, {-3, -5})})[0], floats({1, 1, 3}, {-3, -3, -5}));
  EXPECT_EQ(run(op, {array_of<std::int8_t>({1, 1, 2}, {-3, -128})})[0],
            array_of<std::int8_t>({1, 1, 3}, {-3, -3, -128}));
}

TEST(MaxPool, AWindowOverPaddingOnlyIsTheLeastValue) {
  const MaxPool op{.window = {.kernel = {1}, .strides = {1}, .pads = {1, 0}}, .with_indices = true};
  const std::vector<Array> y = run(op, {floats({1, 1, 1}, {7})});
  EXPECT_EQ(y[0], floats({1, 1, 2}, {-kInf, 7}));
  EXPECT_EQ(y[1], array_of<std::int64_t>({1, 1, 2}, {-1, 0}));
}

TEST(MaxPool, IndicesPointIntoTheWholeTensor) {
  const Array x = floats({1, 2, 2, 3}, {1, 5, 2, 3, 4, 9, 8, 1, 1, 1, 1, 8});
  MaxPool op{.window = {.kernel = {2, 2}}, .with_indices = true};
  EXPECT_EQ(run(op, {x})[0], floats({1, 2, 1, 2}, {5, 9, 8, 8}));
  EXPECT_EQ(run(op, {x})[1], array_of<std::int64_t>({1, 2, 1, 2}, {1, 5, 6, 11}));
  op.column_major_indices = true;  // row + 2 * column within a plane of six
  EXPECT_EQ(run(op, {x})[1], array_of<std::int64_t>({1, 2, 1, 2}, {2, 5, 6, 11}));
}

TEST(MaxPool, TheFirstOfEqualsIsNamedAndMinusInfinityHasAPlace) {
  const MaxPool op{.window = {.kernel = {2}}, .with_indices = true};
  EXPECT_EQ(run(op, {floats({1, 1, 3}, {4, 4, 4})})[1], array_of<std::int64_t>({1, 1, 2}, {0, 1}));
  EXPECT_EQ(run(op, {floats({1, 1, 2}, {-kInf, -kInf})})[1], array_of<std::int64_t>({1, 1, 1}, {0}));
}

TEST(MaxPool, CeilModeDilationsAndStrides) {
  const Array x = floats({1, 1, 6}, {1, 9, 2, 8, 3, 7});
  EXPECT_EQ(run(MaxPool{.window = {.kernel = {2}, .strides = {2}, .dilations = {2}}}, {x})[0],
            floats({1, 1, 2}, {2, 3}));
  EXPECT_EQ(run(MaxPool{.window = {.kernel = {3}, .strides = {2}}, .ceil_mode = true}, {x})[0],
            floats({1, 1, 3}, {9, 8, 7}));
}

TEST(MaxPool, ANanWinsOverNumbers) {
  const Array y = run(MaxPool{.window = {.kernel = {2}}}, {floats({1, 1, 4}, {1, NAN, 2, 3})})[0];
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
  EXPECT_TRUE(std::isnan(y.as<float>()[1]));
  EXPECT_EQ(y.as<float>()[2], 3);
}

TEST(MaxPool, ThreeDimensions) {
  const Array x = floats({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 8, 7});
  EXPECT_EQ(run(MaxPool{.window = {.kernel = {2, 2, 2}}}, {x})[0], floats({1, 1, 1, 1, 1}, {8}));
}

TEST(AveragePool, PaddingCountsOnlyIfAsked) {
  const Array x = floats({1, 1, 2}, {6, 12});
  AveragePool op{.window = {.kernel = {3}, .pads = {1, 1}}};
  EXPECT_EQ(run(op, {x})[0], floats({1, 1, 2}, {9, 9}));
  op.count_include_pad = true;
  EXPECT_EQ(run(op, {x})[0], floats({1, 1, 2}, {6, 6}));
}

TEST(AveragePool, WhatLiesBeyondThePaddingNeverCounts) {
  // Windows start at -1 and 2 of four elements with one of padding on both sides; the last one would reach to 5.
  const Array x = floats({1, 1, 4}, {1, 2, 3, 4});
  AveragePool op{
      .window = {.kernel = {4}, .strides = {3}, .pads = {1, 1}}, .ceil_mode = true, .count_include_pad = true};
  EXPECT_EQ(run(op, {x})[0], floats({1, 1, 2}, {1.5f, 7.0f / 3}));
  op.count_include_pad = false;
  EXPECT_EQ(run(op, {x})[0], floats({1, 1, 2}, {2, 3.5f}));
}

TEST(AveragePool, DilationsSkipElements) {
  EXPECT_EQ(run(AveragePool{.window = {.kernel = {2}, .dilations = {2}}}, {floats({1, 1, 4}, {1, 2, 3, 4})})[0],
            floats({1, 1, 2}, {2, 3}));
}

TEST(AveragePool, SameCountsOnlyTheInput) {
  const AveragePool op{.window = {.kernel = {2}, .auto_pad = AutoPad::same_upper}};
  EXPECT_EQ(run(op, {floats({1, 1, 3}, {1, 3, 5})})[0], floats({1, 1, 3}, {2, 4, 5}));
}

TEST(LpPool, IsTheNormOfItsWindow) {
  const Array x = floats({1, 1, 3}, {3, -4, 0});
  EXPECT_EQ(run(LpPool{.window = {.kernel = {2}}}, {x})[0], floats({1, 1, 2}, {5, 4}));
  EXPECT_EQ(run(LpPool{.window = {.kernel = {2}}, .p = 1}, {x})[0], floats({1, 1, 2}, {7, 4}));
}

TEST(Pools, TellWhatTheyCanOfPartlyKnownInputs) {
  EXPECT_EQ(inferred(MaxPool{.window = {.kernel = {2, 2}}, .with_indices = true}, {type_of({kAny, 3, kAny, 8})}),
            "float32[?, 3, ?, 7] int64[?, 3, ?, 7]");
  EXPECT_EQ(inferred(AveragePool{.window = {.kernel = {2}}}, {any_rank()}), "float32[...]");
}

TEST(Pools, RefuseWhatMakesNoSense) {
  EXPECT_THAT(refusal(MaxPool{}, {type_of({1, 1, 8})}), HasSubstr("no kernel"));
  EXPECT_THAT(refusal(MaxPool{.window = {.kernel = {2}}}, {type_of({1, 8})}), HasSubstr("rank"));
  EXPECT_THAT(refusal(MaxPool{.window = {.kernel = {2}}}, {type_of({1, 1, 8}, ElementType::boolean)}),
              HasSubstr("bool"));
  EXPECT_THAT(refusal(AveragePool{.window = {.kernel = {9}}}, {type_of({1, 1, 8})}), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(AveragePool{.window = {.kernel = {2}}}, {type_of({1, 1, 8}, ElementType::int8)}),
              HasSubstr("int8"));
  EXPECT_THAT(refusal(LpPool{.window = {.kernel = {2}}, .p = 0}, {type_of({1, 1, 8})}), HasSubstr("p is 0"));
}

}  // namespace
}  // namespace tessera
