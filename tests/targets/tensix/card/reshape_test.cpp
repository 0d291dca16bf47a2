#include "tessera/targets/tensix/ops/reshape/reshape.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/move/move.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tessera::tensix {
namespace {

class Reshape : public testing::Test {
 protected:
  DeviceTensor counting(const Shape& shape, Layout layout) {
    std::vector<float> values(static_cast<std::size_t>(shape.volume()));
    std::iota(values.begin(), values.end(), 0.0F);
    return to_device(Tensor::from_float32(values, shape, DType::float32, layout), device_, kL1MemoryConfig);
  }

  std::shared_ptr<Device> device_ = Device::open(load_machine_file(TESSERA_MACHINES_DIR "/wormhole_n150.toml"));
};

TEST_F(Reshape, SharesTheMemoryWherePagesStay) {
  const DeviceTensor x = counting({1, 2, 64, 64}, Layout::tile);
  EXPECT_EQ(reshape(x, {128, 64}).address(), x.address());
  EXPECT_EQ(reshape(x, {2, 1, 64, 64}).address(), x.address());
  const DeviceTensor rows = counting({2, 50, 70}, Layout::row_major);
  EXPECT_EQ(reshape(rows, {100, 70}).address(), rows.address());
}

TEST_F(Reshape, CopiesWhereTilesChange) {
  const DeviceTensor x = counting({2, 50, 70}, Layout::tile);
  const DeviceTensor y = reshape(x, {70, 100});
  EXPECT_NE(y.address(), x.address());
  EXPECT_EQ(from_device(y).to_float32(), from_device(x).to_float32());
  EXPECT_NE(reshape(x, {100, 70}).address(), x.address());  // 50 rows are no whole tiles
}

TEST_F(Reshape, RefusesAnotherNumberOfElements) {
  const DeviceTensor x = counting({4, 8}, Layout::row_major);
  EXPECT_THROW(reshape(x, {4, 9}), Error);
}

TEST_F(Reshape, FillsInOneExtent) {
  const std::vector<std::int64_t> one{2, -1, 4}, two{-1, -1}, uneven{5, -1}, negative{-2, 4}, none{0, -1};
  EXPECT_EQ(resolve_shape(one, 24), (Shape{2, 3, 4}));
  EXPECT_THROW(resolve_shape(two, 24), Error);
  EXPECT_THROW(resolve_shape(uneven, 24), Error);
  EXPECT_THROW(resolve_shape(negative, 24), Error);
  EXPECT_THROW(resolve_shape(none, 0), Error);
}

TEST_F(Reshape, AViewKeepsItsTensorWhereItIs) {
  DeviceTensor x = counting({64, 64}, Layout::tile);
  EXPECT_TRUE(x.is_sole_owner());
  const DeviceTensor view = reshape(x, {1, 64, 64});
  EXPECT_FALSE(x.is_sole_owner());
  EXPECT_EQ(move(x).address(), view.address());
  EXPECT_TRUE(x.is_allocated());
}

}  // namespace
}  // namespace tessera::tensix
