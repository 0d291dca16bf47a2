#include "tessera/graph/ops/shape_of.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();

template <class T>
Array range(T start, T limit, T step) {
  return run_one(Range{}, {Array::scalar(start), Array::scalar(limit), Array::scalar(step)});
}

TEST(ShapeOf, GivesTheExtentsAskedFor) {
  EXPECT_EQ(run_one(ShapeOf{}, {counting({2, 3, 4})}), int64s({2, 3, 4}));
  EXPECT_EQ(run_one(ShapeOf{.start = 1, .end = -1}, {counting({2, 3, 4})}), int64s({3}));
  EXPECT_EQ(run_one(ShapeOf{.start = -1, .end = {}}, {counting({2, 3, 4})}), int64s({4}));
  EXPECT_EQ(run_one(ShapeOf{.start = kMin, .end = kMax}, {counting({2, 3})}), int64s({2, 3}));
  EXPECT_EQ(run_one(ShapeOf{.start = 2, .end = 1}, {counting({2, 3})}), int64s({}));
  EXPECT_EQ(run_one(ShapeOf{}, {Array::scalar(1.0F)}), int64s({}));
}

TEST(SizeOf, CountsElements) {
  EXPECT_EQ(run_one(SizeOf{}, {counting({2, 3})}), Array::scalar<std::int64_t>(6));
  EXPECT_EQ(run_one(SizeOf{}, {counting({2, 0})}), Array::scalar<std::int64_t>(0));
}

TEST(ConstantOfShape, FillsWithAnyType) {
  EXPECT_EQ(run_one(ConstantOfShape{}, {int64s({2})}), floats({2}, {0, 0}));
  EXPECT_EQ(run_one(ConstantOfShape{array_of<std::int16_t>({1}, {-3})}, {int64s({1, 2})}),
            array_of<std::int16_t>({1, 2}, {-3, -3}));
  EXPECT_EQ(run_one(ConstantOfShape{array_of<bool>({1}, {true})}, {int64s({})}), array_of<bool>({}, {true}));
  EXPECT_EQ(run_one(ConstantOfShape{}, {int64s({0, 3})}).shape(), (Shape{0, 3}));
  EXPECT_THAT(error_of([] { run(ConstantOfShape{}, {int64s({-1})}); }), HasSubstr("negative extent -1"));
  EXPECT_THAT(error_of([] { run(ConstantOfShape{}, {int64s({1L << 39})}); }), HasSubstr("GiB"));
  EXPECT_THAT(error_of([] { run(ConstantOfShape{counting({2})}, {int64s({1})}); }), HasSubstr("one element"));
}

TEST(Range, CountsUpAndDown) {
  EXPECT_EQ(range<std::int64_t>(1, 7, 2), int64s({1, 3, 5}));
  EXPECT_EQ(range<std::int64_t>(10, 4, -2), int64s({10, 8, 6}));
  EXPECT_EQ(range<std::int64_t>(0, 5, -1), int64s({}));
  EXPECT_EQ(range<std::int64_t>(4, 0, 3), int64s({}));
  EXPECT_EQ(range<float>(1, 2, 0.4F).count(), 3);
  EXPECT_EQ(range<float>(3, 1, -1), floats({2}, {3, 2}));
  EXPECT_EQ(range<std::int64_t>(kMax - 1, kMax, 5), int64s({kMax - 1}));
  EXPECT_EQ(range<std::int64_t>(kMin, kMax, kMax), int64s({kMin, -1, kMax - 1}));
  EXPECT_EQ(range<std::int16_t>(32000, 32767, 500), array_of<std::int16_t>({2}, {32000, 32500}));
}

TEST(Range, RefusesEndlessRanges) {
  EXPECT_THAT(error_of([] { range<std::int64_t>(0, 5, 0); }), HasSubstr("step is 0"));
  EXPECT_THAT(error_of([] { range<std::int64_t>(kMin, kMax, 1); }), HasSubstr("not a range of at most"));
  EXPECT_THAT(error_of([] { range<float>(0, 1, 1e-30F); }), HasSubstr("not a range of at most"));
  EXPECT_THAT(error_of([] { range<float>(0, std::nanf(""), 1); }), HasSubstr("not a range of at most"));
  EXPECT_THAT(error_of([] { range<double>(0, INFINITY, 1); }), HasSubstr("not a range of at most"));
}

TEST(Range, HasAnUnknownLengthBeforeItsInputsAreKnown) {
  const TensorType scalar(ElementType::float32, Shape{});
  EXPECT_EQ(infer_types_only(Range{}, {scalar, scalar, scalar}).front().to_string(), "float32[?]");
}

TEST(EyeLike, MarksADiagonal) {
  EXPECT_EQ(run_one(EyeLike{}, {counting({2, 3})}), floats({2, 3}, {1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(run_one(EyeLike{.type = ElementType::boolean, .diagonal = -1}, {counting({2, 2})}),
            array_of<bool>({2, 2}, {false, false, true, false}));
  EXPECT_EQ(run_one(EyeLike{.type = {}, .diagonal = kMax}, {counting({2, 2})}), floats({2, 2}, {0, 0, 0, 0}));
  EXPECT_EQ(run_one(EyeLike{.type = {}, .diagonal = kMin}, {counting({2, 2})}), floats({2, 2}, {0, 0, 0, 0}));
  EXPECT_THAT(error_of([] { run(EyeLike{}, {counting({2})}); }), HasSubstr("rank"));
}

}  // namespace
}  // namespace tessera
