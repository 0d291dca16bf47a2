#include "tessera/graph/ops/determinant.h"

#include "op_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

TEST(Determinant, IsThatOfEachMatrix) {
  EXPECT_EQ(run_one(Determinant{}, {floats({2, 2, 2}, {0, 1, 1, 0, 2, 3, 4, 5})}), floats({2}, {-1, -2}));
  EXPECT_EQ(run_one(Determinant{}, {floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 10})}), floats({}, {-3}));
  EXPECT_EQ(run_one(Determinant{}, {floats({2, 2}, {0, 0, 0, 1})}), floats({}, {0}));
  EXPECT_EQ(run_one(Determinant{}, {floats({0, 0}, {})}), floats({}, {1}));
}

TEST(Determinant, RefusesWhatIsNotSquare) {
  EXPECT_THAT(error_of([] { run(Determinant{}, {counting({2, 3})}); }), testing::HasSubstr("not square"));
  EXPECT_THAT(error_of([] { run(Determinant{}, {counting({4})}); }), testing::HasSubstr("rank"));
}

}  // namespace
}  // namespace tessera
