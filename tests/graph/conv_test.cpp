#include "tessera/graph/ops/conv.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Conv, SumsAWindowPerOutput) {
  const Array x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Array w = floats({1, 1, 2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(run(Conv{}, {x, w})[0], floats({1, 1, 2, 2}, {5421, 6532, 8754, 9865}));
}

TEST(Conv, AddsTheBiasOfEachOutputChannel) {
  const Array x = floats({2, 1, 2}, {1, 2, 3, 4}), w = floats({2, 1, 1}, {1, -1});
  EXPECT_EQ(run(Conv{}, {x, w, floats({2}, {10, 20})})[0], floats({2, 2, 2}, {11, 12, 19, 18, 13, 14, 17, 16}));
}

TEST(Conv, GroupsSeeOnlyTheirOwnChannels) {
  const Array x = floats({1, 4, 1}, {1, 10, 100, 1000}), w = floats({4, 2, 1}, {1, 1, 2, 3, 1, 1, 2, 3});
  EXPECT_EQ(run(Conv{.window = {}, .groups = 2}, {x, w})[0], floats({1, 4, 1}, {11, 32, 1100, 3200}));
}

TEST(Conv, StridesDilationsAndLopsidedPadding) {
  // Padded: 0 0 1 2 3 4 5 0; taps two apart, every second start.
  const Array x = floats({1, 1, 5}, {1, 2, 3, 4, 5}), w = floats({1, 1, 3}, {1, 10, 100});
  const Conv op{.window = {.kernel = {3}, .strides = {2}, .dilations = {2}, .pads = {2, 1}}, .groups = 1};
  EXPECT_EQ(run(op, {x, w})[0], floats({1, 1, 2}, {310, 531}));
}

TEST(Conv, ThreeDimensionsAndHalfPrecision) {
  Array x(ElementType::float16, {1, 1, 2, 2, 2}), w(ElementType::float16, {1, 1, 2, 2, 2});
  for (std::size_t i = 0; i < 8; ++i) {
    x.as<Float16>()[i] = Float16(static_cast<float>(i));
    w.as<Float16>()[i] = Float16(0.5f);
  }
  EXPECT_EQ(run(Conv{}, {x, w})[0].to_double(), std::vector<double>{14});
}

TEST(Conv, PaddingDoesNotMeetAnInfiniteWeight) {
  const float inf = std::numeric_limits<float>::infinity();
  const Conv op{.window = {.kernel = {2}, .pads = {1, 0}}, .groups = 1};
  EXPECT_EQ(run(op, {floats({1, 1, 1}, {2}), floats({1, 1, 2}, {inf, 3})})[0], floats({1, 1, 1}, {6}));
}

TEST(Conv, ANanStaysInTheOutputsThatSeeIt) {
  const Array y = run(Conv{}, {floats({1, 1, 3}, {NAN, 1, 2}), floats({1, 1, 2}, {1, 1})})[0];
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
  EXPECT_EQ(y.as<float>()[1], 3);
}

TEST(Conv, AnEmptyBatchGivesAnEmptyBatch) {
  EXPECT_EQ(run(Conv{}, {Array(ElementType::float32, {0, 1, 3}), floats({1, 1, 2}, {1, 1})})[0].shape(),
            (Shape{0, 1, 2}));
}

TEST(Conv, TellsWhatItCanOfPartlyKnownInputs) {
  EXPECT_EQ(inferred(Conv{}, {type_of({kAny, 3, kAny, 8}), type_of({16, 3, 3, 3})}), "float32[?, 16, ?, 6]");
  EXPECT_EQ(inferred(Conv{}, {type_of({1, 3, 8, 8}), any_rank()}), "float32[1, ?, ?, ?]");
  EXPECT_EQ(inferred(Conv{}, {any_rank(), type_of({16, 3, 3, 3})}), "float32[...]");
}

TEST(Conv, OperandsThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal(Conv{}, {type_of({1, 4, 8, 8}), type_of({16, 3, 3, 3})}), HasSubstr("4 channels"));
  EXPECT_THAT(refusal(Conv{.window = {}, .groups = 3}, {type_of({1, 3, 8}), type_of({4, 1, 1})}),
              HasSubstr("3 groups"));
  EXPECT_THAT(refusal(Conv{.window = {}, .groups = 0}, {type_of({1, 3, 8}), type_of({4, 3, 1})}),
              HasSubstr("0 groups"));
  EXPECT_THAT(refusal(Conv{}, {type_of({1, 3, 8}), type_of({4, 3, 1, 1})}), HasSubstr("rank"));
  EXPECT_THAT(refusal(Conv{}, {type_of({1, 3, 8}), type_of({4, 3, 1}), type_of({3})}), HasSubstr("bias"));
  EXPECT_THAT(refusal(Conv{.window = {.kernel = {2}}, .groups = 1}, {type_of({1, 3, 8}), type_of({4, 3, 1})}),
              HasSubstr("kernel_shape"));
  EXPECT_THAT(refusal(Conv{}, {type_of({1, 1, 8}, ElementType::int32), type_of({1, 1, 1}, ElementType::int32)}),
              HasSubstr("int32"));
  EXPECT_THAT(refusal(Conv{}, {type_of({1, 1, 8})}), HasSubstr("missing"));
}

TEST(Conv, CountsTwoFlopsPerMultiplication) {
  const std::vector<TensorType> in{type_of({1, 3, 8, 8}), type_of({16, 3, 3, 3})}, out{type_of({1, 16, 6, 6})};
  EXPECT_EQ(work(Conv{}, in, out).flops, 2.0 * 16 * 36 * 27);
}

}  // namespace
}  // namespace tessera
