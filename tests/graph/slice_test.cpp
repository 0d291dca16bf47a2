#include "tessera/graph/ops/slice.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();

TEST(Slice, TakesTheFirstAxesWhenNoneAreNamed) {
  EXPECT_EQ(run_one(Slice{}, {counting({3, 4}), int64s({1, 0}), int64s({3, 2})}), floats({2, 2}, {4, 5, 8, 9}));
  EXPECT_EQ(run_one(Slice{}, {counting({2, 2}), int64s({1}), int64s({2})}), floats({1, 2}, {2, 3}));
}

TEST(Slice, CountsNegativePositionsFromTheEnd) {
  EXPECT_EQ(run_one(Slice{}, {counting({5}), int64s({-3}), int64s({-1})}), floats({2}, {2, 3}));
  EXPECT_EQ(run_one(Slice{}, {counting({2, 3}), int64s({-2}), int64s({kMax}), int64s({-1})}),
            floats({2, 2}, {1, 2, 4, 5}));
}

TEST(Slice, ClampsToTheExtent) {
  EXPECT_EQ(run_one(Slice{}, {counting({3}), int64s({-100}), int64s({100})}), counting({3}));
  EXPECT_EQ(run_one(Slice{}, {counting({3}), int64s({100}), int64s({200})}).count(), 0);
  EXPECT_EQ(run_one(Slice{}, {counting({3}), int64s({kMin}), int64s({kMax})}), counting({3}));
  EXPECT_EQ(run_one(Slice{}, {counting({3}), int64s({2}), int64s({1})}).count(), 0);
}

TEST(Slice, WalksBackwards) {
  EXPECT_EQ(run_one(Slice{}, {counting({5}), int64s({-1}), int64s({kMin}), int64s({0}), int64s({-1})}),
            floats({5}, {4, 3, 2, 1, 0}));
  EXPECT_EQ(run_one(Slice{}, {counting({5}), int64s({kMax}), int64s({0}), int64s({0}), int64s({-2})}),
            floats({2}, {4, 2}));
  EXPECT_EQ(run_one(Slice{}, {counting({2, 3}), int64s({5, 5}), int64s({-50, -50}), absent, int64s({-1, -2})}),
            floats({2, 2}, {5, 3, 2, 0}));
}

TEST(Slice, TakesStepsOfAnySize) {
  EXPECT_EQ(run_one(Slice{}, {counting({5}), int64s({0}), int64s({5}), int64s({0}), int64s({2})}),
            floats({3}, {0, 2, 4}));
  EXPECT_EQ(run_one(Slice{}, {counting({5}), int64s({1}), int64s({5}), int64s({0}), int64s({kMax})}), floats({1}, {1}));
  EXPECT_EQ(run_one(Slice{}, {counting({5}), int64s({3}), int64s({kMin}), int64s({0}), int64s({kMin})}),
            floats({1}, {3}));
}

TEST(Slice, LeavesEmptyDimensionsEmpty) {
  EXPECT_EQ(run_one(Slice{}, {counting({0, 2}), int64s({-1}), int64s({kMin}), int64s({0}), int64s({-1})}).shape(),
            (Shape{0, 2}));
}

TEST(Slice, TakesInt32ListsAndAnyElement) {
  EXPECT_EQ(run_one(Slice{}, {array_of<bool>({3}, {true, false, true}), array_of<std::int32_t>({1}, {1}),
                              array_of<std::int32_t>({1}, {3})}),
            array_of<bool>({2}, {false, true}));
}

TEST(Slice, KeepsWhatItCanTellOfUnknownPositions) {
  const TensorType x(ElementType::float32, Shape{2, 3, 4}), one(ElementType::int64, Shape{1});
  EXPECT_EQ(infer_types_only(Slice{}, {x, one, one}).front().to_string(), "float32[?, 3, 4]");
  EXPECT_EQ(infer_types_only(Slice{}, {x, one, one, one}).front().to_string(), "float32[?, ?, ?]");
  const Array axes = int64s({-1});
  const std::vector<Known> knowns{{x}, {one}, {one}, {one, &axes, true}};
  EXPECT_EQ(infer(Slice{}, Knowns("Slice", knowns)).front().to_string(), "float32[2, 3, ?]");
}

TEST(Slice, RefusesListsThatMakeNoSense) {
  const Array x = counting({2, 3});
  EXPECT_THAT(error_of([&] { run(Slice{}, {x, int64s({0}), int64s({1}), int64s({0}), int64s({0})}); }),
              HasSubstr("a step cannot be 0"));
  EXPECT_THAT(error_of([&] { run(Slice{}, {x, int64s({0, 0}), int64s({1, 1}), int64s({1, -1})}); }),
              HasSubstr("axis -1 is given twice"));
  EXPECT_THAT(error_of([&] { run(Slice{}, {x, int64s({0}), int64s({1, 2})}); }), HasSubstr("1 starts, 2 ends"));
  EXPECT_THAT(error_of([&] { run(Slice{}, {x, int64s({0, 0, 0}), int64s({1, 1, 1})}); }), HasSubstr("rank 2"));
  EXPECT_THAT(error_of([&] { run(Slice{}, {x, floats({1}, {0}), int64s({1})}); }),
              HasSubstr("starts must be whole numbers"));
}

}  // namespace
}  // namespace tessera
