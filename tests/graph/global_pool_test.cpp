#include "tessera/graph/ops/global_pool.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tessera {
namespace {

using Kind = GlobalPool::Kind;

TEST(GlobalPool, ReducesEachChannelToOneValue) {
  const Array x = floats({1, 2, 2, 2}, {3, -4, 0, 0, 1, 2, 3, 6});
  EXPECT_EQ(run(GlobalPool{Kind::max, 2}, {x})[0], floats({1, 2, 1, 1}, {3, 6}));
  EXPECT_EQ(run(GlobalPool{Kind::average, 2}, {x})[0], floats({1, 2, 1, 1}, {-0.25f, 3}));
  EXPECT_EQ(run(GlobalPool{Kind::lp, 1}, {x})[0], floats({1, 2, 1, 1}, {7, 12}));
}

TEST(GlobalPool, TakesAnyRank) {
  EXPECT_EQ(run(GlobalPool{}, {floats({1, 1, 2}, {1, 3})})[0], floats({1, 1, 1}, {2}));
  EXPECT_EQ(run(GlobalPool{}, {floats({1, 2}, {1, 3})})[0], floats({1, 2}, {1, 3}));
  EXPECT_EQ(run(GlobalPool{}, {floats({1, 1, 1, 2, 1}, {1, 3})})[0], floats({1, 1, 1, 1, 1}, {2}));
}

TEST(GlobalPool, NanAndEmptiness) {
  EXPECT_TRUE(std::isnan(run(GlobalPool{Kind::max, 2}, {floats({1, 1, 3}, {1, NAN, 2})})[0].as<float>()[0]));
  EXPECT_TRUE(std::isnan(run(GlobalPool{}, {floats({1, 1, 0}, {})})[0].as<float>()[0]));
  EXPECT_EQ(run(GlobalPool{Kind::max, 2}, {floats({1, 1, 0}, {})})[0].as<float>()[0], -INFINITY);
}

TEST(GlobalPool, TellsAndRefuses) {
  EXPECT_EQ(inferred(GlobalPool{}, {type_of({kAny, 3, kAny, kAny})}), "float32[?, 3, 1, 1]");
  EXPECT_EQ(inferred(GlobalPool{}, {any_rank()}), "float32[...]");
  EXPECT_THAT(refusal(GlobalPool{}, {type_of({3})}), testing::HasSubstr("rank"));
  EXPECT_THAT(refusal(GlobalPool{Kind::lp, 0}, {type_of({1, 3, 4})}), testing::HasSubstr("p is 0"));
}

}  // namespace
}  // namespace tessera
