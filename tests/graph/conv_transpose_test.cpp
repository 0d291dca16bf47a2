#include "tessera/graph/ops/conv_transpose.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(ConvTranspose, SpreadsEveryInputOverItsWindow) {
  const Array x = floats({1, 1, 2}, {1, 10}), w = floats({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(run(ConvTranspose{}, {x, w})[0], floats({1, 1, 4}, {1, 12, 23, 30}));
}

TEST(ConvTranspose, StridesAndDilationsMoveTheTapsApart) {
  const Array x = floats({1, 1, 2}, {1, 10}), w = floats({1, 1, 2}, {1, 2});
  EXPECT_EQ(run(ConvTranspose{.window = {.kernel = {}, .strides = {3}, .dilations = {2}}}, {x, w})[0],
            floats({1, 1, 6}, {1, 0, 2, 10, 0, 20}));
}

TEST(ConvTranspose, PadsCutAndOutputPaddingAdds) {
  const Array x = floats({1, 1, 2}, {1, 10}), w = floats({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(run(ConvTranspose{.window = {.kernel = {}, .pads = {1, 1}}}, {x, w})[0], floats({1, 1, 2}, {12, 23}));
  EXPECT_EQ(run(ConvTranspose{.window = {.kernel = {}, .strides = {2}}, .output_padding = {1}}, {x, w})[0],
            floats({1, 1, 6}, {1, 2, 13, 20, 30, 0}));
}

TEST(ConvTranspose, AnOutputShapeDecidesThePads) {
  // Five elements in full, four are wanted: the odd one goes from the front, with same_upper from the end.
  const Array x = floats({1, 1, 2}, {1, 10}), w = floats({1, 1, 3}, {1, 2, 3});
  const Window window{.kernel = {}, .strides = {2}};
  EXPECT_EQ(run(ConvTranspose{.window = window, .output_shape = {4}}, {x, w})[0], floats({1, 1, 4}, {2, 13, 20, 30}));
  Window upper = window;
  upper.auto_pad = AutoPad::same_upper;
  EXPECT_EQ(run(ConvTranspose{.window = upper, .output_shape = {4}}, {x, w})[0], floats({1, 1, 4}, {1, 2, 13, 20}));
  EXPECT_EQ(run(ConvTranspose{.window = window, .output_shape = {7}}, {x, w})[0],
            floats({1, 1, 7}, {1, 2, 13, 20, 30, 0, 0}));
}

TEST(ConvTranspose, SameMultipliesTheExtentByTheStride) {
  const Array x = floats({1, 1, 2}, {1, 10}), w = floats({1, 1, 3}, {1, 2, 3});
  Window window{.kernel = {}, .strides = {2}};
  window.auto_pad = AutoPad::same_lower;
  EXPECT_EQ(run(ConvTranspose{.window = window}, {x, w})[0], floats({1, 1, 4}, {2, 13, 20, 30}));
}

TEST(ConvTranspose, GroupsAndBias) {
  // Two groups of one input channel and two output channels each.
  const Array x = floats({1, 2, 1}, {1, 10}), w = floats({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(run(ConvTranspose{.window = {}, .groups = 2}, {x, w, floats({4}, {100, 200, 300, 400})})[0],
            floats({1, 4, 1}, {101, 202, 330, 440}));
}

TEST(ConvTranspose, TellsWhatItCanOfPartlyKnownInputs) {
  EXPECT_EQ(inferred(ConvTranspose{}, {type_of({kAny, 3, kAny, 4}), type_of({3, 8, 2, 2})}), "float32[?, 8, ?, 5]");
  EXPECT_EQ(inferred(ConvTranspose{.window = {}, .output_shape = {7, 9}},
                     {type_of({1, 3, kAny, kAny}), type_of({3, 8, 2, 2})}),
            "float32[1, 8, 7, 9]");
  EXPECT_EQ(inferred(ConvTranspose{}, {any_rank(), any_rank()}), "float32[...]");
}

TEST(ConvTranspose, OperandsThatDoNotFitAreRefused) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<TensorType> fine{type_of({1, 4, 8}), type_of({4, 2, 3})};
  EXPECT_THAT(refusal(ConvTranspose{}, {type_of({1, 4, 8}), type_of({3, 2, 3})}), HasSubstr("4 channels"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {}, .groups = 3}, fine), HasSubstr("3 groups"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {.kernel = {}, .pads = {9, 9}}}, fine), HasSubstr("padding"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {}, .output_shape = {7, 7}}, fine), HasSubstr("output_shape"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {}, .output_padding = {-1}}, fine), HasSubstr("-1"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {}, .output_shape = {huge}}, fine), HasSubstr("output_shape"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {.kernel = {}, .strides = {huge}}}, fine), HasSubstr("strides"));
  EXPECT_THAT(refusal(ConvTranspose{.window = {}, .groups = huge}, fine), HasSubstr("groups"));
}

}  // namespace
}  // namespace tessera
