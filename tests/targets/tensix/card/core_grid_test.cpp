#include "tessera/targets/tensix/card/core_grid.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

CoreRange range(int x0, int y0, int x1, int y1) { return {{x0, y0}, {x1, y1}}; }

TEST(CoreGrid, PrintsAsTtnnDoes) {
  EXPECT_EQ(CoreCoord({3, 4}).to_string(), "3-4");
  EXPECT_EQ(range(1, 2, 3, 5).to_string(), "[1-2 - 3-5]");
  EXPECT_EQ(CoreRangeSet(std::vector{range(0, 0, 1, 1), range(3, 0, 3, 2)}).to_string(), "{[0-0 - 1-1], [3-0 - 3-2]}");
  EXPECT_EQ(CoreRangeSet().to_string(), "{}");
}

TEST(CoreGrid, RefusesBackwardAndOverlappingRanges) {
  EXPECT_THROW(range(3, 0, 1, 1), Error);
  EXPECT_THROW(range(-1, 0, 1, 1), Error);
  EXPECT_THROW(CoreRangeSet(std::vector{range(0, 0, 1, 1), range(1, 1, 2, 2)}), Error);
  EXPECT_THROW(CoreRangeSet().bounding_box(), Error);
}

TEST(CoreGrid, MergingKeepsTheCoresAndJoinsRectangles) {
  const CoreRangeSet a(std::vector{range(0, 0, 3, 0), range(0, 1, 3, 1), range(5, 0, 5, 0)});
  const CoreRangeSet b(std::vector{range(0, 2, 3, 2), range(2, 0, 3, 1)});
  const CoreRangeSet both = a.merged_with(b);
  EXPECT_EQ(both.to_string(), "{[0-0 - 3-2], [5-0 - 5-0]}");
  EXPECT_EQ(both.num_cores(), 13);
}

TEST(CoreGrid, SubtractingLeavesExactlyTheRest) {
  const CoreRangeSet all = CoreGrid{8, 8}.to_core_range_set();
  const CoreRangeSet hole(std::vector{range(2, 3, 4, 4), range(7, 7, 7, 7)});
  const CoreRangeSet rest = all.without(hole);
  EXPECT_EQ(rest.num_cores(), 64 - 6 - 1);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 8; ++x) EXPECT_NE(rest.contains(CoreCoord{x, y}), hole.contains(CoreCoord{x, y}));
}

TEST(NumCores, TakesFullLinesThenTheRest) {
  const CoreGrid grid{7, 8};  // 8 columns, 7 rows
  EXPECT_EQ(num_cores_to_corerangeset({0, 0}, 8, grid, true).to_string(), "{[0-0 - 7-0]}");
  EXPECT_EQ(num_cores_to_corerangeset({0, 0}, 19, grid, true).to_string(), "{[0-0 - 7-1], [0-2 - 2-2]}");
  EXPECT_EQ(num_cores_to_corerangeset({0, 0}, 19, grid, false).to_string(), "{[0-0 - 1-6], [2-0 - 2-4]}");
  EXPECT_EQ(num_cores_to_corerangeset({5, 1}, 19, grid, true).to_string(), "{[5-1 - 7-1], [0-2 - 7-3]}");
  EXPECT_EQ(num_cores_to_corerangeset({0, 0}, 0, grid, true).to_string(), "{}");
  EXPECT_THROW(num_cores_to_corerangeset({0, 0}, 57, grid, true), Error);
  EXPECT_THROW(num_cores_to_corerangeset({8, 0}, 1, grid, true), Error);
}

TEST(NumCores, EveryCountGivesThatManyDifferentCores) {
  for (const bool row_wise : {true, false})
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 5; ++x) {
        const int available = row_wise ? (4 - 1 - y) * 5 + 5 - x : (5 - 1 - x) * 4 + 4 - y;
        for (int n = 1; n <= available; ++n) {
          const CoreRangeSet cores = num_cores_to_corerangeset({x, y}, n, {4, 5}, row_wise);
          EXPECT_EQ(cores.num_cores(), n);
          EXPECT_LE(cores.ranges().size(), 3u);
          EXPECT_TRUE(cores.contains(CoreCoord{x, y}));
        }
      }
}

TEST(NumCores, SubgridsAreWalkedInOrderAndNeverBack) {
  const CoreRangeSet grids(std::vector{range(0, 0, 2, 1), range(4, 0, 6, 3)});
  EXPECT_EQ(num_cores_to_corerangeset_in_subcoregrids({1, 0}, 7, grids, true).to_string(),
            "{[1-0 - 2-0], [0-1 - 2-1], [4-0 - 5-0]}");
  EXPECT_THROW(num_cores_to_corerangeset_in_subcoregrids({4, 0}, 13, grids, true), Error);
  EXPECT_THROW(num_cores_to_corerangeset_in_subcoregrids({3, 0}, 1, grids, true), Error);
  EXPECT_THROW(num_cores_to_corerangeset_in_subcoregrids({0, 0}, 0, grids, true), Error);
}

}  // namespace
}  // namespace tessera::tensix
