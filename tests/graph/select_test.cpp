#include "tessera/graph/ops/select.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();

TEST(TopK, SortsAndPrefersLowerIndices) {
  const std::vector<Array> top = run(TopK{}, {floats({2, 4}, {1, 3, 3, 2, 5, 4, 5, 5}), int64s({3})});
  EXPECT_EQ(top[0], floats({2, 3}, {3, 3, 2, 5, 5, 5}));
  EXPECT_EQ(top[1], array_of<std::int64_t>({2, 3}, {1, 2, 3, 0, 2, 3}));
  const std::vector<Array> low =
      run(TopK{.axis = 0, .largest = false, .sorted = false}, {floats({3, 2}, {3, 1, 2, 1, 1, 7}), int64s({2})});
  EXPECT_EQ(low[0], floats({2, 2}, {1, 1, 2, 1}));
  EXPECT_EQ(low[1], array_of<std::int64_t>({2, 2}, {2, 0, 1, 1}));
}

TEST(TopK, CountsNanAsTheGreatest) {
  const Array x = floats({4}, {1, NAN, 3, NAN});
  EXPECT_EQ(run(TopK{}, {x, int64s({3})})[1], int64s({1, 3, 2}));
  EXPECT_EQ(run(TopK{.axis = 0, .largest = false, .sorted = true}, {x, int64s({3})})[1], int64s({0, 2, 1}));
}

TEST(TopK, TakesWholeNumbersAndRefusesTooMany) {
  EXPECT_EQ(run(TopK{}, {array_of<std::uint64_t>({3}, {1, UINT64_MAX, 2}), int64s({1})})[0],
            array_of<std::uint64_t>({1}, {UINT64_MAX}));
  EXPECT_EQ(run(TopK{}, {counting({3}), int64s({0})})[1].count(), 0);
  EXPECT_THAT(error_of([] { run(TopK{}, {counting({3}), int64s({4})}); }), HasSubstr("k is 4"));
  EXPECT_THAT(error_of([] { run(TopK{}, {counting({3}), int64s({-1})}); }), HasSubstr("k is -1"));
  EXPECT_THAT(error_of([] { run(TopK{}, {counting({3}), int64s({1, 1})}); }), HasSubstr("one number"));
}

TEST(CumSum, SumsAlongTheAxis) {
  const Array x = counting({2, 3}), last = Array::scalar<std::int32_t>(-1);
  EXPECT_EQ(run_one(CumSum{}, {x, last}), floats({2, 3}, {0, 1, 3, 3, 7, 12}));
  EXPECT_EQ(run_one(CumSum{.exclusive = true}, {x, last}), floats({2, 3}, {0, 0, 1, 0, 3, 7}));
  EXPECT_EQ(run_one(CumSum{.reverse = true}, {x, last}), floats({2, 3}, {3, 3, 2, 12, 9, 5}));
  EXPECT_EQ(run_one(CumSum{.exclusive = true, .reverse = true}, {x, last}), floats({2, 3}, {3, 2, 0, 9, 5, 0}));
  EXPECT_EQ(run_one(CumSum{}, {x, int64s({0})}), floats({2, 3}, {0, 1, 2, 3, 5, 7}));
  EXPECT_EQ(run_one(CumSum{}, {array_of<std::int32_t>({2}, {INT32_MAX, 1}), int64s({0})}),
            array_of<std::int32_t>({2}, {INT32_MAX, INT32_MIN}));
  EXPECT_THAT(error_of([&] { run(CumSum{}, {x, int64s({2})}); }), HasSubstr("axis 2"));
}

TEST(CumSum, MultipliesWhenAskedTo) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), last = Array::scalar<std::int32_t>(-1);
  EXPECT_EQ(run_one(CumSum{.product = true}, {x, last}), floats({2, 3}, {1, 2, 6, 4, 20, 120}));
  EXPECT_EQ(run_one(CumSum{.exclusive = true, .reverse = true, .product = true}, {x, last}),
            floats({2, 3}, {6, 3, 1, 30, 6, 1}));
}

TEST(OneHot, MarksIndicesFromBothEnds) {
  EXPECT_EQ(run_one(OneHot{}, {int64s({0, -1, 5}), Array::scalar(3.0F), floats({2}, {0, 1})}),
            floats({3, 3}, {1, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(run_one(OneHot{.axis = 0}, {floats({2}, {1, 0}), int64s({2}), array_of<std::int32_t>({2}, {7, 9})}),
            array_of<std::int32_t>({2, 2}, {7, 9, 9, 7}));
  EXPECT_EQ(
      run_one(OneHot{.axis = -2}, {int64s({1}), array_of<std::uint8_t>({}, {2}), array_of<bool>({2}, {false, true})}),
      array_of<bool>({2, 1}, {false, true}));
  EXPECT_EQ(run_one(OneHot{}, {int64s({kMin, kMax}), int64s({1}), floats({2}, {0, 1})}), floats({2, 1}, {0, 0}));
}

TEST(OneHot, RefusesHostileDepths) {
  const Array values = floats({2}, {0, 1});
  EXPECT_THAT(error_of([&] { run(OneHot{}, {int64s({0}), int64s({0}), values}); }), HasSubstr("depth is 0"));
  EXPECT_THAT(error_of([&] { run(OneHot{}, {int64s({0}), Array::scalar(1e300), values}); }), HasSubstr("GiB"));
  EXPECT_THAT(error_of([&] { run(OneHot{}, {int64s({0}), Array::scalar(NAN), values}); }), HasSubstr("NaN"));
  EXPECT_THAT(error_of([&] { run(OneHot{2}, {int64s({0}), int64s({1}), values}); }), HasSubstr("axis 2"));
  EXPECT_THAT(error_of([&] { run(OneHot{}, {int64s({0}), int64s({1}), counting({3})}); }), HasSubstr("[off, on]"));
}

TEST(Trilu, KeepsOneSideOfTheDiagonal) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run_one(Trilu{}, {x}), floats({2, 3}, {1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(run_one(Trilu{false}, {x}), floats({2, 3}, {1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(run_one(Trilu{}, {x, Array::scalar<std::int64_t>(1)}), floats({2, 3}, {0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(run_one(Trilu{false}, {x, int64s({-1})}), floats({2, 3}, {0, 0, 0, 4, 0, 0}));
}

TEST(Trilu, TakesBatchesAndDiagonalsBeyondTheMatrix) {
  const Array x = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), zeros(ElementType::float32, Shape{2, 2, 2});
  EXPECT_EQ(run_one(Trilu{}, {x}), floats({2, 2, 2}, {1, 2, 0, 4, 5, 6, 0, 8}));
  EXPECT_EQ(run_one(Trilu{}, {x, Array::scalar(kMax)}), zeros);
  EXPECT_EQ(run_one(Trilu{}, {x, Array::scalar(kMin)}), x);
  EXPECT_EQ(run_one(Trilu{false}, {x, Array::scalar(kMax)}), x);
  EXPECT_EQ(run_one(Trilu{false}, {x, Array::scalar(kMin)}), zeros);
  EXPECT_EQ(run_one(Trilu{}, {counting({0, 2, 0})}).shape(), (Shape{0, 2, 0}));
  EXPECT_THAT(error_of([] { run(Trilu{}, {counting({2})}); }), HasSubstr("rank 1"));
}

TEST(NonZero, ListsPositionsByDimension) {
  EXPECT_EQ(run_one(NonZero{}, {floats({2, 2}, {1, 0, NAN, -0.0F})}), array_of<std::int64_t>({2, 2}, {0, 1, 0, 0}));
  EXPECT_EQ(run_one(NonZero{}, {array_of<bool>({3}, {false, true, true})}), array_of<std::int64_t>({1, 2}, {1, 2}));
  EXPECT_EQ(run_one(NonZero{}, {counting({0, 2})}).shape(), (Shape{2, 0}));
  EXPECT_EQ(run_one(NonZero{}, {Array::scalar(3.0F)}).shape(), (Shape{0, 1}));
}

}  // namespace
}  // namespace tessera
