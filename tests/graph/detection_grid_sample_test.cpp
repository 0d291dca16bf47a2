#include "op_testing.h"
#include "partly_known.h"
#include "tessera/graph/ops/detection.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tessera {
namespace {

using testing::HasSubstr;
using Mode = GridSample::Mode;
using Padding = GridSample::Padding;

// Samples a row of three pixels at one normalised place.
float at(const GridSample& op, float place) {
  return run(op, {floats({1, 1, 1, 3}, {1, 10, 100}), floats({1, 1, 1, 2}, {place, 0})})[0].as<float>()[0];
}

TEST(GridSample, LinearBetweenPixels) {
  const GridSample op{.align_corners = true};
  EXPECT_EQ(at(op, -1), 1);
  EXPECT_EQ(at(op, 0.5f), 55);
  EXPECT_EQ(at(GridSample{}, 0), 10);
  EXPECT_EQ(at(GridSample{}, -1), 0.5f);  // half of the first pixel, half of the zeros around
}

TEST(GridSample, NearestRoundsHalfToEven) {
  const GridSample op{.mode = Mode::nearest, .align_corners = true};
  EXPECT_EQ(at(op, -0.5f), 1);   // 0.5
  EXPECT_EQ(at(op, 0.5f), 100);  // 1.5
  EXPECT_EQ(at(op, 1.75f), 0);   // outside
}

TEST(GridSample, PaddingModes) {
  EXPECT_EQ(at(GridSample{.padding = Padding::border}, -5), 1);
  EXPECT_EQ(at(GridSample{.padding = Padding::border}, 1), 100);
  EXPECT_EQ(at(GridSample{.padding = Padding::reflection, .align_corners = true}, 2), 10);   // 3 folds back to 1
  EXPECT_EQ(at(GridSample{.padding = Padding::reflection, .align_corners = true}, -4), 10);  // -3, 3, 1
  EXPECT_NEAR(at(GridSample{.padding = Padding::reflection}, 5.0f / 3), 55, 1e-3);           // 3.5 folds at 2.5 to 1.5
}

TEST(GridSample, CubicWeighsFourNeighbours) {
  // At 0.5: -0.09375 of nothing, 0.59375 of 1 and of 10, -0.09375 of 100; across the row of one pixel nothing changes.
  EXPECT_FLOAT_EQ(at(GridSample{.mode = Mode::cubic, .align_corners = true}, -0.5f), 0.59375f * 11 - 9.375f);
}

TEST(GridSample, PlacesThatAreNoNumbersDoNoHarm) {
  for (const Mode mode : {Mode::linear, Mode::nearest, Mode::cubic})
    for (const float place : {static_cast<float>(NAN), INFINITY, -INFINITY, 1e30f}) {
      EXPECT_EQ(at(GridSample{.mode = mode}, place), 0);
      EXPECT_TRUE(std::isfinite(at(GridSample{.mode = mode, .padding = Padding::border}, place)));
      EXPECT_TRUE(std::isfinite(at(GridSample{.mode = mode, .padding = Padding::reflection}, place)));
    }
}

TEST(GridSample, VolumesNameTheLastDimensionFirst) {
  const Array x = floats({1, 1, 2, 1, 2}, {1, 2, 3, 4});
  const Array y = run(GridSample{.align_corners = true}, {x, floats({1, 1, 1, 2, 3}, {1, 0, -1, 0, 0, 0})})[0];
  EXPECT_EQ(y, floats({1, 1, 1, 1, 2}, {2, 2.5f}));
}

TEST(GridSample, TellsAndRefuses) {
  EXPECT_EQ(inferred(GridSample{}, {type_of({kAny, 3, 8, 8}), type_of({2, 4, kAny, 2})}), "float32[2, 3, 4, ?]");
  EXPECT_EQ(inferred(GridSample{}, {any_rank(), any_rank()}), "float32[...]");
  EXPECT_EQ(inferred(GridSample{}, {type_of({2, 3, 8, 8}), any_rank()}), "float32[2, 3, ?, ?]");
  EXPECT_THAT(refusal(GridSample{}, {type_of({1, 3, 8, 8}), type_of({1, 4, 4, 3})}), HasSubstr("3 coordinates"));
  EXPECT_THAT(refusal(GridSample{}, {type_of({1, 3, 8, 8}), type_of({2, 4, 4, 2})}), HasSubstr("batch of 1"));
  EXPECT_THAT(refusal(GridSample{}, {type_of({1, 3, 0, 8}), type_of({1, 4, 4, 2})}), HasSubstr("nothing to sample"));
}

}  // namespace
}  // namespace tessera
