#include "tessera/graph/ops/split.h"

#include "op_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Split, TakesSizesFromAttributeOrInput) {
  const std::vector<Array> parts = run(Split{.axis = 1, .sizes = {1, 2}, .outputs = 2}, {counting({2, 3})});
  EXPECT_EQ(parts[0], floats({2, 1}, {0, 3}));
  EXPECT_EQ(parts[1], floats({2, 2}, {1, 2, 4, 5}));
  EXPECT_EQ(run(Split{.axis = -1, .sizes = {}, .outputs = 2}, {counting({2, 3}), int64s({1, 2})}), parts);
}

TEST(Split, MakesTheLastPartSmallerWhenUneven) {
  const std::vector<Array> parts = run(Split{.axis = 0, .sizes = {}, .outputs = 4}, {counting({7})});
  EXPECT_EQ(parts[2], floats({2}, {4, 5}));
  EXPECT_EQ(parts[3], floats({1}, {6}));
  // Two parts of 2 and one of 1 leave nothing for the fourth.
  EXPECT_EQ(run(Split{.axis = 0, .sizes = {}, .outputs = 4}, {counting({5})})[3].count(), 0);
  EXPECT_EQ(run(Split{.axis = 0, .sizes = {0, 0}, .outputs = 2}, {counting({0})}).size(), 2U);
}

TEST(Split, RefusesSizesThatDoNotAddUp) {
  EXPECT_THAT(error_of([] { run(Split{0, {1, 1}, 2}, {counting({3})}); }),
              HasSubstr("2 elements together, the axis has 3"));
  EXPECT_THAT(error_of([] { run(Split{0, {4, -1}, 2}, {counting({3})}); }), HasSubstr("-1 elements"));
  EXPECT_THAT(error_of([] { run(Split{0, {3}, 2}, {counting({3})}); }), HasSubstr("1 sizes are given for 2 outputs"));
  EXPECT_THAT(error_of([] { run(Split{0, {}, 0}, {counting({3})}); }), HasSubstr("0 outputs"));
  EXPECT_THAT(error_of([] { run(Split{0, {}, 2147483647}, {counting({3})}); }), HasSubstr("2147483647 outputs"));
}

}  // namespace
}  // namespace tessera
