// Every number here was drawn by NumPy 2.4.6.

#include "tessera/core/error.h"
#include "tessera/ncp/random_generator.h"
#include "tessera/ncp/random_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tessera::ncp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RandomState, DrawsWhatNumPyDraws) {
  RandomState words(22222);
  EXPECT_EQ(words.next_u32(), 294195201u);
  EXPECT_EQ(words.next_u32(), 1847582594u);
  EXPECT_EQ(words.next_u32(), 1342442730u);

  RandomState random(7);
  EXPECT_EQ(random.choice(5), 4);
  EXPECT_EQ(random.choice(1), 0);
  EXPECT_EQ(random.choice(2), 1);
  EXPECT_EQ(random.choice(100), 67);
  EXPECT_THAT(random.choose(9, 4), ElementsAre(8, 6, 2, 5));
  EXPECT_THAT(random.choose(3, 3), ElementsAre(1, 0, 2));
  EXPECT_EQ(random.choice(1000), 167);
}

TEST(RandomState, StaysRightAfterManyRefills) {
  // The 10000th word of the published generator with its default seed.
  RandomState random(5489);
  for (int i = 1; i < 10000; ++i) random.next_u32();
  EXPECT_EQ(random.next_u32(), 4123659995u);
}

TEST(RandomGenerator, DrawsWhatNumPyDraws) {
  RandomGenerator words(1111);
  EXPECT_EQ(words.next_u64(), 15852105362585597067u);
  EXPECT_EQ(words.next_u64(), 12115427431398542507u);

  RandomGenerator random(5);
  for (const int expected : {2, 2, 0, 2, 1, 1, 1, 0}) EXPECT_EQ(random.choice(3), expected);
  EXPECT_EQ(random.choice(1), 0);
  EXPECT_EQ(random.choice(1000003), 979526);
  EXPECT_THAT(random.choose(20, 5), ElementsAre(4, 6, 10, 8, 0));
  EXPECT_THAT(random.choose(20, 20), ElementsAre(15, 11, 18, 6, 17, 7, 9, 5, 14, 0, 2, 10, 4, 3, 19, 8, 16, 1, 12, 13));
  EXPECT_EQ(random.choice(7), 6);
}

TEST(RandomGenerator, TakesSeedsOfZeroAndOfMoreThan32Bits) {
  RandomGenerator zero(0);
  for (const int expected : {2, 1, 1, 0, 0, 0, 0, 0}) EXPECT_EQ(zero.choice(3), expected);
  RandomGenerator large((std::uint64_t{1} << 40) + 3);
  for (const int expected : {2, 2, 1, 2, 1, 1, 1, 0}) EXPECT_EQ(large.choice(3), expected);
  EXPECT_EQ(large.choice(1000003), 786267);
}

TEST(RandomGenerator, ShufflesTheTailOfLargePopulations) {
  const auto sum = [](const std::vector<std::int64_t>& items) {
    return std::accumulate(items.begin(), items.end(), std::int64_t{0});
  };
  RandomGenerator tail(3);
  std::vector<std::int64_t> items = tail.choose(20000, 401);
  EXPECT_EQ(sum(items), 3995198);
  EXPECT_EQ(tail.choice(1000), 785);
  items.resize(6);
  EXPECT_THAT(items, ElementsAre(6866, 12054, 3815, 13122, 10013, 6350));
  RandomGenerator floyd(3);
  items = floyd.choose(20000, 400);
  EXPECT_EQ(sum(items), 4027637);
  EXPECT_EQ(floyd.choice(1000), 294);
}

TEST(RandomGenerator, RefusesMoreThanThereIs) {
  try {
    RandomGenerator(1).choose(3, 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot choose 4 different items of 3"));
  }
  EXPECT_THROW(RandomState(1).choose(3, 4), Error);
  EXPECT_THROW(RandomState(1).choice(0), Error);
}

}  // namespace
}  // namespace tessera::ncp
