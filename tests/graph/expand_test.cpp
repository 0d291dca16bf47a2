#include "tessera/graph/ops/expand.h"

#include "op_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Expand, BroadcastsBothWays) {
  EXPECT_EQ(run_one(Expand{}, {floats({2, 1}, {1, 2}), int64s({2, 1, 3})}),
            floats({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(run_one(Expand{}, {counting({2, 2}), int64s({1})}), counting({2, 2}));
  EXPECT_EQ(run_one(Expand{}, {floats({1}, {5}), int64s({0})}).count(), 0);
  EXPECT_THAT(error_of([] { run(Expand{}, {counting({2}), int64s({3})}); }), HasSubstr("cannot be broadcast"));
  EXPECT_THAT(error_of([] { run(Expand{}, {counting({1}), int64s({-1})}); }), HasSubstr("negative extent -1"));
}

TEST(Expand, RefusesOutputsThatCannotBeMeant) {
  EXPECT_THAT(error_of([] { run(Expand{}, {counting({1}), int64s({1L << 41})}); }), HasSubstr("more than 1024 GiB"));
  EXPECT_THAT(error_of([] { run(Expand{}, {counting({1}), int64s({1L << 62, 1L << 62})}); }), HasSubstr("63 bits"));
}

TEST(Tile, RepeatsEachDimension) {
  EXPECT_EQ(run_one(TileRepeat{}, {counting({2, 2}), int64s({2, 2})}),
            floats({4, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(run_one(TileRepeat{}, {counting({2}), int64s({0})}).count(), 0);
  EXPECT_EQ(run_one(TileRepeat{}, {counting({1, 1, 1, 1, 1, 1, 1, 2}), int64s({1, 1, 1, 1, 1, 1, 1, 2})}).count(), 4);
  EXPECT_THAT(error_of([] { run(TileRepeat{}, {counting({2}), int64s({2, 2})}); }),
              HasSubstr("2 repeats are given for a tensor of rank 1"));
  EXPECT_THAT(error_of([] { run(TileRepeat{}, {counting({2}), int64s({-1})}); }), HasSubstr("-1 times"));
  EXPECT_THAT(error_of([] { run(TileRepeat{}, {counting({2}), int64s({1L << 62})}); }), HasSubstr("63 bits"));
}

}  // namespace
}  // namespace tessera
