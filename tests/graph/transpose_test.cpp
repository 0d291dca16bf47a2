#include "tessera/graph/ops/transpose.h"

#include "op_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Transpose, ReversesByDefaultAndFollowsPerm) {
  EXPECT_EQ(run_one(Transpose{}, {counting({2, 3})}), floats({3, 2}, {0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(run_one(Transpose{{1, 0, 2}}, {counting({2, 2, 2})}), floats({2, 2, 2}, {0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(run_one(Transpose{}, {array_of<std::int8_t>({2, 2}, {1, 2, 3, 4})}),
            array_of<std::int8_t>({2, 2}, {1, 3, 2, 4}));
  EXPECT_EQ(run_one(Transpose{{2, 0, 1}}, {counting({2, 0, 3})}).shape(), (Shape{3, 2, 0}));
  EXPECT_EQ(run_one(Transpose{}, {Array::scalar(2.0)}), Array::scalar(2.0));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  EXPECT_THAT(error_of([] { run(Transpose{{0, 0}}, {counting({2, 3})}); }),
              HasSubstr("[0, 0] is not a permutation of 2"));
  EXPECT_THAT(error_of([] { run(Transpose{{1, 2}}, {counting({2, 3})}); }), HasSubstr("not a permutation"));
  EXPECT_THAT(error_of([] { run(Transpose{{0}}, {counting({2, 3})}); }), HasSubstr("not a permutation"));
}

}  // namespace
}  // namespace tessera
