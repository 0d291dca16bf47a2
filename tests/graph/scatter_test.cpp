#include "tessera/graph/ops/scatter.h"

#include "op_testing.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using testing::HasSubstr;
using Reduction = ScatterND::Reduction;

Array indices(Shape shape, std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>(std::move(shape), values);
}

TEST(ScatterND, WritesElementsAndSlices) {
  EXPECT_EQ(run_one(ScatterND{}, {counting({4}), indices({2, 1}, {3, -4}), floats({2}, {9, 8})}),
            floats({4}, {8, 1, 2, 9}));
  EXPECT_EQ(run_one(ScatterND{}, {counting({2, 2}), indices({1, 1}, {1}), floats({1, 2}, {7, 8})}),
            floats({2, 2}, {0, 1, 7, 8}));
  EXPECT_EQ(run_one(ScatterND{}, {counting({2}), indices({0, 1}, {}), floats({0}, {})}), counting({2}));
}

TEST(ScatterND, LetsTheLaterUpdateCountOrCombinesThem) {
  const Array x = floats({2}, {2, 5}), at = indices({2, 1}, {0, 0}), updates = floats({2}, {3, 4});
  EXPECT_EQ(run_one(ScatterND{}, {x, at, updates}), floats({2}, {4, 5}));
  EXPECT_EQ(run_one(ScatterND{Reduction::add}, {x, at, updates}), floats({2}, {9, 5}));
  EXPECT_EQ(run_one(ScatterND{Reduction::mul}, {x, at, updates}), floats({2}, {24, 5}));
  EXPECT_EQ(run_one(ScatterND{Reduction::max}, {x, at, updates}), floats({2}, {4, 5}));
  EXPECT_EQ(run_one(ScatterND{Reduction::min}, {x, at, updates}), floats({2}, {2, 5}));
}

TEST(ScatterND, PropagatesNanAndWrapsWholeNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(
      run_one(ScatterND{Reduction::max}, {floats({1}, {2}), indices({1, 1}, {0}), floats({1}, {nan})}).as<float>()[0]));
  EXPECT_TRUE(std::isnan(
      run_one(ScatterND{Reduction::min}, {floats({1}, {nan}), indices({1, 1}, {0}), floats({1}, {1})}).as<float>()[0]));
  EXPECT_EQ(run_one(ScatterND{Reduction::add},
                    {array_of<std::int8_t>({1}, {127}), indices({1, 1}, {0}), array_of<std::int8_t>({1}, {1})}),
            array_of<std::int8_t>({1}, {-128}));
  EXPECT_EQ(run_one(ScatterND{Reduction::mul}, {array_of<std::uint16_t>({1}, {65535}), indices({1, 1}, {0}),
                                                array_of<std::uint16_t>({1}, {65535})}),
            array_of<std::uint16_t>({1}, {1}));
}

TEST(ScatterND, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { run(ScatterND{}, {counting({2}), indices({1, 1}, {2}), floats({1}, {1})}); }),
              HasSubstr("index 2"));
  EXPECT_THAT(error_of([] { run(ScatterND{}, {counting({2}), indices({1, 1}, {0}), floats({2}, {1, 1})}); }),
              HasSubstr("must agree"));
  EXPECT_THAT(error_of([] { run(ScatterND{}, {counting({2}), indices({1, 2}, {0, 0}), floats({1}, {1})}); }),
              HasSubstr("2 numbers"));
}

TEST(ScatterElements, WritesAlongTheAxis) {
  EXPECT_EQ(run_one(ScatterElements{.axis = 1},
                    {floats({1, 5}, {1, 2, 3, 4, 5}), indices({1, 2}, {1, -2}), floats({1, 2}, {8, 9})}),
            floats({1, 5}, {1, 8, 3, 9, 5}));
  EXPECT_EQ(run_one(ScatterElements{0, Reduction::add},
                    {counting({2, 2}), indices({2, 1}, {1, 1}), floats({2, 1}, {10, 20})}),
            floats({2, 2}, {0, 1, 32, 3}));
  EXPECT_EQ(run_one(ScatterElements{0, Reduction::add},
                    {array_of<bool>({2}, {false, true}), indices({1}, {0}), array_of<bool>({1}, {true})}),
            array_of<bool>({2}, {true, true}));
}

TEST(ScatterElements, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { run(ScatterElements{}, {counting({2}), indices({1}, {5}), floats({1}, {1})}); }),
              HasSubstr("index 5"));
  EXPECT_THAT(error_of([] { run(ScatterElements{}, {counting({2}), indices({1}, {0}), floats({2}, {1, 1})}); }),
              HasSubstr("must agree"));
  EXPECT_THAT(error_of([] { run(ScatterElements{2}, {counting({2}), indices({1}, {0}), floats({1}, {1})}); }),
              HasSubstr("axis 2"));
}

}  // namespace
}  // namespace tessera
