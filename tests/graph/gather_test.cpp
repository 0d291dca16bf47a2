#include "tessera/graph/ops/gather.h"

#include "op_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;

Array indices(Shape shape, std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>(std::move(shape), values);
}

TEST(Gather, TakesIndicesOfAnyRank) {
  EXPECT_EQ(run_one(Gather{0}, {counting({3, 2}), indices({2, 1}, {2, 0})}), floats({2, 1, 2}, {4, 5, 0, 1}));
  EXPECT_EQ(run_one(Gather{1}, {counting({2, 3}), indices({2}, {-1, 0})}), floats({2, 2}, {2, 0, 5, 3}));
  EXPECT_EQ(run_one(Gather{0}, {int64s({7, 8, 9}), Array::scalar<std::int64_t>(1)}), Array::scalar<std::int64_t>(8));
  EXPECT_EQ(run_one(Gather{-1}, {array_of<bool>({2}, {true, false}), array_of<std::int32_t>({1}, {1})}),
            array_of<bool>({1}, {false}));
  EXPECT_EQ(run_one(Gather{0}, {counting({0, 2}), indices({0}, {})}).shape(), (Shape{0, 2}));
}

TEST(Gather, NamesTheIndexAndTheExtent) {
  EXPECT_THAT(error_of([] { run(Gather{0}, {counting({3}), int64s({3})}); }),
              HasSubstr("index 3 is outside a dimension of 3 elements"));
  EXPECT_THAT(error_of([] { run(Gather{0}, {counting({3}), int64s({-4})}); }), HasSubstr("index -4"));
  EXPECT_THAT(error_of([] { run(Gather{0}, {counting({3, 0}), int64s({5})}); }), HasSubstr("index 5"));
  EXPECT_THAT(error_of([] { run(Gather{0}, {counting({3}), counting({1})}); }), HasSubstr("int32 or int64"));
  EXPECT_THAT(error_of([] { run(Gather{0}, {Array::scalar(1.0F), int64s({0})}); }), HasSubstr("axis 0"));
}

TEST(GatherElements, FollowsTheIndicesAlongTheAxis) {
  EXPECT_EQ(run_one(GatherElements{1}, {floats({2, 2}, {1, 2, 3, 4}), indices({2, 2}, {0, 0, 1, 0})}),
            floats({2, 2}, {1, 1, 4, 3}));
  EXPECT_EQ(run_one(GatherElements{0}, {counting({3, 3}), indices({2, 3}, {1, 2, 0, -1, 0, 0})}),
            floats({2, 3}, {3, 7, 2, 6, 1, 2}));
  EXPECT_THAT(error_of([] { run(GatherElements{0}, {counting({2, 2}), indices({1, 1}, {2})}); }), HasSubstr("index 2"));
  EXPECT_THAT(error_of([] { run(GatherElements{0}, {counting({2, 2}), indices({1, 3}, {0, 0, 0})}); }),
              HasSubstr("more than the input"));
}

TEST(GatherND, TakesSlicesAndElements) {
  EXPECT_EQ(run_one(GatherND{}, {counting({2, 2}), indices({2, 2}, {0, 0, 1, -1})}), floats({2}, {0, 3}));
  EXPECT_EQ(run_one(GatherND{}, {counting({2, 2}), indices({2, 1}, {1, 0})}), floats({2, 2}, {2, 3, 0, 1}));
  EXPECT_EQ(run_one(GatherND{1}, {counting({2, 2, 2}), indices({2, 1}, {1, 0})}), floats({2, 2}, {2, 3, 4, 5}));
  EXPECT_EQ(run_one(GatherND{1}, {counting({2, 3}), indices({2, 2, 1}, {0, 1, 2, 0})}), floats({2, 2}, {0, 1, 5, 3}));
}

TEST(GatherND, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { run(GatherND{}, {counting({2}), indices({1, 2}, {0, 0})}); }),
              HasSubstr("an index of 2 numbers"));
  EXPECT_THAT(error_of([] { run(GatherND{1}, {counting({2, 2}), indices({3, 1}, {0, 0, 0})}); }),
              HasSubstr("must agree"));
  EXPECT_THAT(error_of([] { run(GatherND{-1}, {counting({2}), indices({1, 1}, {0})}); }),
              HasSubstr("-1 batch dimensions"));
  EXPECT_THAT(error_of([] { run(GatherND{}, {counting({2}), indices({1, 1}, {2})}); }), HasSubstr("index 2"));
}

}  // namespace
}  // namespace tessera
