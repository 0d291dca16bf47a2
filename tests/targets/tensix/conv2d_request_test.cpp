#include "tessera/targets/tensix/ops/conv2d/conv2d_request.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::tensix {
namespace {

std::string refusal(const Conv2dRequest& request, const Shape& input, const std::optional<Shape>& weights) {
  try {
    conv2d_problem(request, input, weights);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const Shape kWeights{64, 16, 3, 5};

TEST(Conv2dRequest, ReadsWhatIsLeftOutFromTheShapes) {
  const Conv2dProblem p = conv2d_problem({}, {2, 28, 30, 16}, kWeights);
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.height, 28);
  EXPECT_EQ(p.width, 30);
  EXPECT_EQ(p.in_channels, 16);
  EXPECT_EQ(p.out_channels, 64);
  EXPECT_EQ(p.groups, 1);
  EXPECT_EQ(p.window, (SlidingWindow{3, 5}));
  EXPECT_FALSE(says_everything({}));
}

TEST(Conv2dRequest, ReadsGroupsFromWeightsThatReadFewerChannels) {
  EXPECT_EQ(conv2d_problem({}, {1, 8, 8, 64}, kWeights).groups, 4);
  EXPECT_EQ(conv2d_problem({}, {1, 8, 8, 32}, Shape{32, 1, 3, 3}).groups, 32);
}

TEST(Conv2dRequest, TakesPixelsInOneColumn) {
  Conv2dRequest r;
  r.batch = 2, r.height = 8, r.width = 9;
  Conv2dProblem p = conv2d_problem(r, {1, 1, 144, 16}, kWeights);
  EXPECT_EQ(p.width, 9);
  r.width.reset();
  EXPECT_EQ(conv2d_problem(r, {1, 1, 144, 16}, kWeights), p);
  r.width = 9, r.batch.reset();
  EXPECT_EQ(conv2d_problem(r, {1, 1, 144, 16}, kWeights), p);
  r.width = 10;
  EXPECT_NE(refusal(r, {1, 1, 144, 16}, kWeights).find("1 images of 8x10 pixels do not make the 144 pixels"),
            std::string::npos);
  r = {};
  r.batch = 1;
  EXPECT_NE(refusal(r, {1, 1, 144, 16}, kWeights).find("a height and width that nothing shows"), std::string::npos);
}

TEST(Conv2dRequest, TakesTwoOrFourPaddings) {
  Conv2dRequest r;
  r.padding = {1, 2};
  EXPECT_EQ(conv2d_problem(r, {1, 8, 8, 16}, kWeights).window, (SlidingWindow{3, 5, 1, 1, 1, 1, 1, 1, 2, 2}));
  r.padding = {1, 2, 3, 4};
  EXPECT_EQ(conv2d_problem(r, {1, 8, 8, 16}, kWeights).window, (SlidingWindow{3, 5, 1, 1, 1, 1, 1, 2, 3, 4}));
  r.padding = {1, 2, 3};
  EXPECT_NE(refusal(r, {1, 8, 8, 16}, kWeights).find("3 values were given"), std::string::npos);
  r.padding = {-1, 0};
  EXPECT_NE(refusal(r, {1, 8, 8, 16}, kWeights).find("padding is -1"), std::string::npos);
}

TEST(Conv2dRequest, RefusesWhatIsSaidTwiceAndDisagrees) {
  const Shape input{1, 28, 28, 64};
  const Shape weights{64, 64, 3, 3};
  const auto with = [&](auto change) {
    Conv2dRequest r;
    change(r);
    return refusal(r, input, weights);
  };
  EXPECT_NE(with([](auto& r) { r.in_channels = 32; }).find("in_channels is 32, but the input has 64"),
            std::string::npos);
  EXPECT_NE(with([](auto& r) { r.out_channels = 32; }).find("out_channels is 32, but the weight has 64"),
            std::string::npos);
  EXPECT_NE(with([](auto& r) { r.height = 20; }).find("input_height is 20, but the input has 28"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.kernel = {5, 5}; }).find("kernel_size is 5x5"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.groups = 3; }).find("3 groups do not divide 64"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.groups = 2; }).find("read 128 channels in 2 groups"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.stride = {0, 1}; }).find("stride is 0"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.stride = {1}; }).find("1 values were given"), std::string::npos);
}

TEST(Conv2dRequest, RefusesWindowsThatDoNotFit) {
  EXPECT_NE(refusal({}, {1, 2, 8, 16}, kWeights).find("reaches over 3x5 pixels does not fit in 2x8"),
            std::string::npos);
  EXPECT_NE(refusal({}, {8, 8, 16}, kWeights).find("[batch, height, width, channels]"), std::string::npos);
  EXPECT_NE(refusal({}, {1, 8, 8, 16}, Shape{16, 16}).find("[out_channels, in_channels / groups"), std::string::npos);
}

TEST(Conv2dRequest, WeightsOfATransposedConvolutionBeginWithItsInput) {
  Conv2dRequest r;
  r.transposed = true;
  Conv2dProblem p = conv2d_problem(r, {1, 1, 2, 16}, Shape{16, 24, 3, 5});
  EXPECT_EQ(p.out_channels, 24);
  EXPECT_EQ(p.window, (SlidingWindow{3, 5}));
  r.groups = 4;
  EXPECT_EQ(conv2d_problem(r, {1, 1, 2, 16}, Shape{16, 6, 3, 5}).out_channels, 24);
  EXPECT_NE(refusal(r, {1, 1, 2, 16}, Shape{8, 6, 3, 5}).find("read 8 channels in 4 groups, but the input has 16"),
            std::string::npos);
}

TEST(Conv2dRequest, WantsToBeToldWhatPreparedWeightsDoNotShow) {
  Conv2dRequest r;
  EXPECT_NE(refusal(r, {1, 8, 8, 16}, std::nullopt).find("out_channels is not given"), std::string::npos);
  r.out_channels = 32;
  EXPECT_NE(refusal(r, {1, 8, 8, 16}, std::nullopt).find("kernel_size is not given"), std::string::npos);
  r.kernel = {3, 3};
  EXPECT_EQ(conv2d_problem(r, {1, 8, 8, 16}, std::nullopt).out_channels, 32);
}

}  // namespace
}  // namespace tessera::tensix
