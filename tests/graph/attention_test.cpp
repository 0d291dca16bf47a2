#include "tessera/graph/ops/attention.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Attention, IsAnAverageOfValuesByTheLikenessOfKeys) {
  // One query sees two keys with scores ln 3 and 0: three quarters of the first value, one of the second.
  const float third = std::log(3.0f);
  const Array y = run(Attention{.heads = 1, .scale = 2},
                      {floats({1, 1, 1}, {0.5f}), floats({1, 2, 1}, {third, 0}), floats({1, 2, 2}, {4, 8, 0, 16})})[0];
  ASSERT_EQ(y.shape(), (Shape{1, 1, 2}));
  EXPECT_NEAR(y.as<float>()[0], 3, 1e-6);
  EXPECT_NEAR(y.as<float>()[1], 10, 1e-6);
}

TEST(Attention, HeadsLieSideBySideAndPackedOperandsToo) {
  // Scores are all alike, so that every head gives the mean of its values.
  const Array packed = floats({1, 2, 6}, {0, 0, 1, 1, 10, 20, 0, 0, 1, 1, 30, 60});
  const Array y = run(Attention{.heads = 2, .scale = 1}, {packed})[0];
  EXPECT_EQ(y, floats({1, 2, 2}, {20, 40, 20, 40}));
}

TEST(Attention, TakesABiasOfEveryHeadThatRepeatsAlongTheBatch) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const Array x = floats({2, 2, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4});
  const Array bias = floats({1, 1, 1, 2}, {0, kNever});
  const Array y = run(Attention{}, {x, absent, absent, bias})[0];
  EXPECT_EQ(y, floats({2, 2, 1}, {1, 1, 3, 3}));
}

TEST(Attention, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal(Attention{.heads = 2}, {type_of({1, 4, 9})}), HasSubstr("9 channels"));
  EXPECT_THAT(refusal(Attention{}, {type_of({1, 4, 8}), type_of({1, 4, 8})}), HasSubstr("together"));
  EXPECT_THAT(refusal(Attention{}, {type_of({1, 4, 8}), type_of({1, 5, 8}), type_of({1, 6, 8})}),
              HasSubstr("do not fit"));
}

}  // namespace
}  // namespace tessera
