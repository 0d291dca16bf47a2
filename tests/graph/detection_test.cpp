#include "tessera/graph/ops/detection.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tessera {
namespace {

using testing::HasSubstr;

Array int64(std::int64_t value) { return array_of<std::int64_t>({1}, {value}); }
Array indices(std::int64_t count, std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>({count, 3}, values);
}

// Unit boxes; the second covers the first by 0.9 / 1.1, the third is apart.
const Array& three_boxes() {
  static const Array boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
  return boxes;
}

TEST(NonMaxSuppression, KeepsTheBestOfBoxesThatOverlap) {
  const Array scores = floats({1, 1, 3}, {0.5f, 0.9f, 0.7f});
  EXPECT_EQ(run(NonMaxSuppression{}, {three_boxes(), scores, int64(3), floats({1}, {0.5f})})[0],
            indices(2, {0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(run(NonMaxSuppression{}, {three_boxes(), scores, int64(3), floats({1}, {0.9f})})[0],
            indices(3, {0, 0, 1, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(run(NonMaxSuppression{}, {three_boxes(), scores, int64(1), floats({1}, {0.5f})})[0], indices(1, {0, 0, 1}));
}

TEST(NonMaxSuppression, KeepsNothingUnlessToldHowMuch) {
  EXPECT_EQ(run(NonMaxSuppression{}, {three_boxes(), floats({1, 1, 3}, {1, 2, 3})})[0], indices(0, {}));
}

TEST(NonMaxSuppression, TheScoreMustExceedItsThreshold) {
  const Array scores = floats({1, 1, 3}, {0.5f, NAN, 0.7f});
  EXPECT_EQ(run(NonMaxSuppression{}, {three_boxes(), scores, int64(3), floats({1}, {0.5f}), floats({1}, {0.5f})})[0],
            indices(1, {0, 0, 2}));
}

TEST(NonMaxSuppression, AnOverlapOfExactlyTheThresholdIsKept) {
  // The second is one half of the first.
  const Array boxes = floats({1, 2, 4}, {0, 0, 1, 3, 0, 0, 1, 1.5f}), scores = floats({1, 1, 2}, {2, 1});
  EXPECT_EQ(run(NonMaxSuppression{}, {boxes, scores, int64(2), floats({1}, {0.5f})})[0],
            indices(2, {0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(run(NonMaxSuppression{}, {boxes, scores, int64(2), floats({1}, {0.49f})})[0], indices(1, {0, 0, 0}));
}

TEST(NonMaxSuppression, EqualScoresKeepTheirOrderAndCornersMayBeSwapped) {
  const Array boxes = floats({1, 2, 4}, {1, 1, 0, 0, 0, 0, 1, 1});
  EXPECT_EQ(run(NonMaxSuppression{}, {boxes, floats({1, 1, 2}, {1, 1}), int64(2), floats({1}, {0.5f})})[0],
            indices(1, {0, 0, 0}));
}

TEST(NonMaxSuppression, CentresAndExtents) {
  const Array boxes = floats({1, 2, 4}, {0.5f, 0.5f, 1, 1, 10.5f, 0.5f, 1, 1});
  EXPECT_EQ(run(NonMaxSuppression{.center_point_box = true}, {boxes, floats({1, 1, 2}, {1, 2}), int64(2)})[0],
            indices(2, {0, 0, 1, 0, 0, 0}));
}

TEST(NonMaxSuppression, ClassesAreIndependentAndInOrder) {
  const Array scores = floats({1, 2, 3}, {0.1f, 0.2f, 0.05f, 0.9f, 0.8f, 0.7f});
  EXPECT_EQ(run(NonMaxSuppression{}, {three_boxes(), scores, int64(1), floats({1}, {0.5f})})[0],
            indices(2, {0, 0, 1, 0, 1, 0}));
}

TEST(RoiAlign, AveragesSamplesOfAPlaneExactly) {
  Array x(ElementType::float32, {1, 1, 8, 8});  // a slope: the average of a region is its value at the centre
  for (std::int64_t i = 0; i < 64; ++i)
    x.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i / 8 * 10 + i % 8);
  const Array roi = floats({1, 4}, {1, 2, 5, 6}), batch = array_of<std::int64_t>({1}, {0});
  const RoiAlign op{.half_pixel = false, .output_height = 2, .output_width = 2, .sampling_ratio = 2};
  EXPECT_EQ(run(op, {x, roi, batch})[0], floats({1, 1, 2, 2}, {32, 34, 52, 54}));
  RoiAlign half = op;
  half.half_pixel = true;
  EXPECT_EQ(run(half, {x, roi, batch})[0], floats({1, 1, 2, 2}, {26.5f, 28.5f, 46.5f, 48.5f}));
  RoiAlign adaptive = op;
  adaptive.sampling_ratio = 0;
  EXPECT_EQ(run(adaptive, {x, roi, batch})[0], floats({1, 1, 2, 2}, {32, 34, 52, 54}));
}

TEST(RoiAlign, MaxTakesTheGreatestWeightedPixel) {
  const Array x = floats({1, 1, 2, 2}, {1, 2, 3, 4}), roi = floats({1, 4}, {0, 0, 1, 1}),
              batch = array_of<std::int64_t>({1}, {0});
  // One sample in the middle: a quarter of each pixel.
  EXPECT_EQ(run(RoiAlign{.max = true, .half_pixel = false, .sampling_ratio = 1}, {x, roi, batch})[0],
            floats({1, 1, 1, 1}, {1}));
}

TEST(RoiAlign, ARegionFarOutsideIsZero) {
  const Array x = floats({1, 1, 2, 2}, {1, 2, 3, 4}), roi = floats({1, 4}, {50, 50, 60, 60}),
              batch = array_of<std::int64_t>({1}, {0});
  EXPECT_EQ(run(RoiAlign{}, {x, roi, batch})[0], floats({1, 1, 1, 1}, {0}));
}

TEST(RoiAlign, RefusesWhatMakesNoSense) {
  const Array x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THROW(run(RoiAlign{}, {x, floats({1, 4}, {0, 0, 1, 1}), array_of<std::int64_t>({1}, {1})}), Error);
  EXPECT_THROW(run(RoiAlign{}, {x, floats({1, 4}, {0, 0, 1e30f, 1e30f}), array_of<std::int64_t>({1}, {0})}), Error);
  const TensorType image = type_of({1, 1, 2, 2}), one = type_of({1}, ElementType::int64);
  EXPECT_THAT(refusal(RoiAlign{.output_height = 0}, {image, type_of({1, 4}), one}), HasSubstr("extent of 0"));
  EXPECT_THAT(refusal(RoiAlign{}, {image, type_of({1, 5}), one}), HasSubstr("5 against 4"));
  EXPECT_THAT(refusal(RoiAlign{}, {image, type_of({2, 4}), one}), HasSubstr("2 against 1"));
  EXPECT_EQ(inferred(RoiAlign{}, {any_rank(), any_rank(), any_rank(ElementType::int64)}), "float32[?, ?, 1, 1]");
}

TEST(NonMaxSuppression, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal(NonMaxSuppression{}, {type_of({1, 3, 4}), type_of({1, 1, 2})}), HasSubstr("3 against 2"));
  EXPECT_THAT(refusal(NonMaxSuppression{}, {type_of({1, 3, 5}), type_of({1, 1, 3})}), HasSubstr("5 against 4"));
  EXPECT_EQ(inferred(NonMaxSuppression{}, {any_rank(), any_rank()}), "int64[?, 3]");
}

}  // namespace
}  // namespace tessera
