#include "tessera/graph/ops/window.h"

#include "tessera/core/error.h"
#include "tessera/graph/tensor_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

using Extents = std::vector<std::int64_t>;

TEST(Window, AnEmptyListMeansOnesAndNoPadding) {
  const ResolvedWindow w = resolve({.kernel = {3, 2}}, {5, 5}, false, "Op");
  EXPECT_EQ(w.strides, (Extents{1, 1}));
  EXPECT_EQ(w.dilations, (Extents{1, 1}));
  EXPECT_EQ(w.begins, (Extents{0, 0}));
  EXPECT_EQ(w.output, (Extents{3, 4}));
}

TEST(Window, CeilModeKeepsAPartialLastWindowThatStartsInTheInput) {
  EXPECT_EQ(resolve({.kernel = {2}, .strides = {2}}, {5}, false, "Op").output, (Extents{2}));
  EXPECT_EQ(resolve({.kernel = {2}, .strides = {2}}, {5}, true, "Op").output, (Extents{3}));
}

TEST(Window, CeilModeDropsALastWindowThatStartsInTheTrailingPadding) {
  // Starts at 0, 3 and 6 of 1 + 4 + 1: the third begins after the input.
  EXPECT_EQ(resolve({.kernel = {1}, .strides = {5}, .pads = {1, 1}}, {4}, true, "Op").output, (Extents{1}));
  EXPECT_EQ(resolve({.kernel = {1}, .strides = {4}, .pads = {1, 1}}, {4}, true, "Op").output, (Extents{2}));
}

TEST(Window, SamePutsTheOddElementAtTheEndOrAtTheBeginning) {
  const ResolvedWindow upper = resolve({.kernel = {2}, .auto_pad = AutoPad::same_upper}, {5}, false, "Op");
  EXPECT_EQ(upper.begins, (Extents{0}));
  EXPECT_EQ(upper.ends, (Extents{1}));
  const ResolvedWindow lower = resolve({.kernel = {2}, .auto_pad = AutoPad::same_lower}, {5}, false, "Op");
  EXPECT_EQ(lower.begins, (Extents{1}));
  EXPECT_EQ(lower.ends, (Extents{0}));
  EXPECT_EQ(upper.output, (Extents{5}));
}

TEST(Window, SameOfNothingIsNothing) {
  EXPECT_EQ(resolve({.kernel = {3}, .auto_pad = AutoPad::same_upper}, {0}, false, "Op").output, (Extents{0}));
}

TEST(Window, SameReachesWithItsDilation) {
  const ResolvedWindow w =
      resolve({.kernel = {3}, .strides = {2}, .dilations = {2}, .auto_pad = AutoPad::same_upper}, {7}, false, "Op");
  EXPECT_EQ(w.output, (Extents{4}));
  EXPECT_EQ(w.begins, (Extents{2}));
  EXPECT_EQ(w.ends, (Extents{2}));
}

TEST(Window, AnUnknownExtentStaysUnknown) {
  EXPECT_EQ(resolve({.kernel = {3, 3}}, {TensorType::kUnknown, 8}, false, "Op").output,
            (Extents{TensorType::kUnknown, 6}));
}

TEST(Window, ListsThatMakeNoSenseAreRefused) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(resolve({.kernel = {3}}, {5, 5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {0}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {1}, .strides = {0}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {1}, .dilations = {-1}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {1}, .pads = {-1, 0}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {6}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {huge}, .dilations = {huge}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {1}, .pads = {huge, huge}}, {5}, false, "Op"), Error);
  EXPECT_THROW(resolve({.kernel = {1}}, {huge}, false, "Op"), Error);
}

}  // namespace
}  // namespace tessera
