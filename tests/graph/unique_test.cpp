#include "tessera/graph/ops/unique.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tessera {
namespace {

TEST(Unique, TellsWhatThereIsWhereAndHowOften) {
  const Array x = floats({2, 3}, {2, 1, 1, 3, 4, 3});
  const std::vector<Array> sorted = run(Unique{}, {x});
  EXPECT_EQ(sorted[0], floats({4}, {1, 2, 3, 4}));
  EXPECT_EQ(sorted[1], int64s({1, 0, 3, 4}));
  EXPECT_EQ(sorted[2], int64s({1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(sorted[3], int64s({2, 1, 2, 1}));
  const std::vector<Array> seen = run(Unique{.axis = {}, .sorted = false}, {x});
  EXPECT_EQ(seen[0], floats({4}, {2, 1, 3, 4}));
  EXPECT_EQ(seen[1], int64s({0, 1, 3, 4}));
  EXPECT_EQ(seen[2], int64s({0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(seen[3], int64s({1, 2, 2, 1}));
}

TEST(Unique, ComparesSlicesAlongAnAxis) {
  const std::vector<Array> rows = run(Unique{.axis = 0}, {floats({3, 2}, {2, 3, 1, 0, 2, 3})});
  EXPECT_EQ(rows[0], floats({2, 2}, {1, 0, 2, 3}));
  EXPECT_EQ(rows[1], int64s({1, 0}));
  EXPECT_EQ(rows[2], int64s({1, 0, 1}));
  const std::vector<Array> columns = run(Unique{.axis = -1}, {floats({2, 3}, {5, 5, 4, 1, 1, 9})});
  EXPECT_EQ(columns[0], floats({2, 2}, {4, 5, 9, 1}));
  EXPECT_EQ(columns[3], int64s({1, 2}));
}

TEST(Unique, KeepsEveryNanApartAndTakesNothing) {
  const std::vector<Array> found = run(Unique{}, {floats({3}, {NAN, 1, NAN})});
  EXPECT_EQ(found[0].count(), 3);
  EXPECT_EQ(found[1], int64s({1, 0, 2}));
  EXPECT_EQ(run(Unique{}, {floats({0}, {})})[0].count(), 0);
  EXPECT_THAT(error_of([] { run(Unique{.axis = 2}, {counting({2, 2})}); }), testing::HasSubstr("axis 2"));
}

}  // namespace
}  // namespace tessera
