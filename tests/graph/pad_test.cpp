#include "tessera/graph/ops/pad.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr Pad kConstant{Pad::Mode::constant}, kReflect{Pad::Mode::reflect}, kEdge{Pad::Mode::edge},
    kWrap{Pad::Mode::wrap};

TEST(Pad, SurroundsWithZeroOrTheValue) {
  EXPECT_EQ(run_one(kConstant, {floats({1, 2}, {1, 2}), int64s({1, 0, 0, 1})}), floats({2, 3}, {0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(run_one(kConstant, {floats({2}, {1, 2}), int64s({1, 2}), Array::scalar(9.0F)}),
            floats({5}, {9, 1, 2, 9, 9}));
  EXPECT_EQ(run_one(kConstant, {array_of<bool>({1}, {false}), int64s({1, 1}), array_of<bool>({1}, {true})}),
            array_of<bool>({3}, {true, false, true}));
}

TEST(Pad, RepeatsInEachMode) {
  EXPECT_EQ(run_one(kReflect, {counting({3}), int64s({2, 2})}), floats({7}, {2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(run_one(kEdge, {counting({3}), int64s({2, 1})}), floats({6}, {0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(run_one(kWrap, {counting({3}), int64s({4, 2})}), floats({9}, {2, 0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(run_one(kReflect, {counting({2, 2}), int64s({0, 1, 1, 0})}), floats({3, 3}, {1, 0, 1, 3, 2, 3, 1, 0, 1}));
}

TEST(Pad, ReflectsAsOftenAsNeeded) {
  EXPECT_EQ(run_one(kReflect, {counting({2}), int64s({3, 3})}), floats({8}, {1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(run_one(kReflect, {floats({1}, {4}), int64s({1, 1})}), floats({3}, {4, 4, 4}));
}

TEST(Pad, CutsWithNegativePads) {
  EXPECT_EQ(run_one(kConstant, {counting({5}), int64s({-1, -2})}), floats({2}, {1, 2}));
  EXPECT_EQ(run_one(kConstant, {counting({3}), int64s({-1, 2}), Array::scalar(7.0F)}), floats({4}, {1, 2, 7, 7}));
  EXPECT_EQ(run_one(kConstant, {counting({3}), int64s({-5, 4}), Array::scalar(7.0F)}), floats({2}, {7, 7}));
  EXPECT_EQ(run_one(kEdge, {counting({4}), int64s({-1, 1})}), floats({4}, {1, 2, 3, 3}));
  EXPECT_EQ(run_one(kEdge, {counting({2}), int64s({-1, -1})}).count(), 0);
}

TEST(Pad, TouchesOnlyTheAxesNamed) {
  EXPECT_EQ(run_one(kConstant, {counting({1, 2}), int64s({1, 0}), absent, int64s({-1})}), floats({1, 3}, {0, 0, 1}));
  const TensorType x(ElementType::float32, Shape{2, 3}), pads(ElementType::int64, Shape{2});
  const Array axes = int64s({1});
  const std::vector<Known> knowns{
      {x}, {pads}, {{}, nullptr, false}, {TensorType(ElementType::int64, Shape{1}), &axes, true}};
  EXPECT_EQ(infer(kConstant, Knowns("Pad", knowns)).front().to_string(), "float32[2, ?]");
}

TEST(Pad, PadsEmptyTensorsWithAValueOnly) {
  EXPECT_EQ(run_one(kConstant, {counting({0}), int64s({1, 1})}), floats({2}, {0, 0}));
  EXPECT_THAT(error_of([] { run(kEdge, {counting({0}), int64s({1, 1})}); }), HasSubstr("leave nothing"));
}

TEST(Pad, RefusesPadsThatMakeNoSense) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                         kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(error_of([] { run(kConstant, {counting({2}), int64s({1})}); }), HasSubstr("1 pads are given for 1 axes"));
  EXPECT_THAT(error_of([] { run(kConstant, {counting({2}), int64s({-2, -1})}); }),
              HasSubstr("cut more than the 2 elements"));
  EXPECT_THAT(error_of([&] { run(kConstant, {counting({2}), int64s({kMax, 0})}); }), HasSubstr("63 bits"));
  EXPECT_THAT(error_of([&] { run(kEdge, {counting({2}), int64s({kMin, kMax})}); }), HasSubstr("Pad"));
  EXPECT_THAT(error_of([&] { run(kConstant, {counting({2}), int64s({1L << 50, 0})}); }), HasSubstr("GiB"));
  EXPECT_THAT(error_of([&] { run(kConstant, {counting({2}), int64s({1, 1}), Array::scalar(1.0)}); }),
              HasSubstr("one element type"));
  EXPECT_THAT(error_of([&] { run(kConstant, {counting({2}), int64s({1, 1}), counting({2})}); }),
              HasSubstr("one element, not"));
}

}  // namespace
}  // namespace tessera
