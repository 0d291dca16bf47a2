#include "tessera/graph/ops/space_depth.h"

#include "op_testing.h"
#include "partly_known.h"

#include <gmock/gmock.h>

#include <limits>
#include <numeric>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(DepthToSpace, TakesTheDepthApartInEitherOrder) {
  const Array x = floats({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(run(DepthToSpace{.block = 2}, {x})[0], floats({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(run(DepthToSpace{.block = 2, .column_row_depth = true}, {x})[0],
            floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SpaceToDepth, IsUndoneByDepthToSpace) {
  Array x(ElementType::int64, {2, 3, 4, 6});
  std::iota(x.as<std::int64_t>().begin(), x.as<std::int64_t>().end(), 0);
  const Array deep = run(SpaceToDepth{.block = 2}, {x})[0];
  EXPECT_EQ(deep.shape(), (Shape{2, 12, 2, 3}));
  EXPECT_EQ(deep.as<std::int64_t>()[3 * 6], 1);  // the second pixel of the first row, first channel
  EXPECT_EQ(run(DepthToSpace{.block = 2}, {deep})[0], x);
}

TEST(SpaceToDepth, AnEmptyBatchStaysEmpty) {
  EXPECT_EQ(run(SpaceToDepth{.block = 2}, {Array(ElementType::float32, {0, 1, 2, 2})})[0].shape(), (Shape{0, 4, 1, 1}));
}

TEST(SpaceToDepth, TellsAndRefuses) {
  EXPECT_EQ(inferred(SpaceToDepth{.block = 2}, {type_of({1, 3, kAny, 4})}), "float32[1, 12, ?, 2]");
  EXPECT_EQ(inferred(DepthToSpace{.block = 2}, {any_rank()}), "float32[?, ?, ?, ?]");
  EXPECT_THAT(refusal(SpaceToDepth{.block = 2}, {type_of({1, 3, 3, 4})}), HasSubstr("a height of 3"));
  EXPECT_THAT(refusal(DepthToSpace{.block = 2}, {type_of({1, 6, 3, 4})}), HasSubstr("a depth of 6"));
  EXPECT_THAT(refusal(DepthToSpace{.block = 0}, {type_of({1, 6, 3, 4})}), HasSubstr("block of 0"));
  EXPECT_THAT(refusal(DepthToSpace{.block = std::numeric_limits<std::int64_t>::max()}, {type_of({1, 6, 3, 4})}),
              HasSubstr("block"));
  EXPECT_THAT(refusal(DepthToSpace{.block = 1}, {type_of({1, 6, 3})}), HasSubstr("rank"));
}

}  // namespace
}  // namespace tessera
