#include "tessera/targets/tensix/ops/conv2d/conv2d_config.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

std::string refusal(const Conv2dConfig& config) {
  try {
    check_conv2d_config(config);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Conv2dConfig, DefaultsAreValid) { EXPECT_EQ(refusal({}), ""); }

TEST(Conv2dConfig, BlocksAreWholeTilesHigh) {
  Conv2dConfig config;
  config.act_block_h_override = 15 * 32;
  EXPECT_EQ(refusal(config), "");
  for (int rows : {1, 33, -32}) {
    config.act_block_h_override = rows;
    EXPECT_THAT(refusal(config), testing::HasSubstr("must be a multiple of 32")) << rows;
  }
}

TEST(Conv2dConfig, AWidthIsDividedByOneAtLeast) {
  Conv2dConfig config;
  config.act_block_w_div = 0;
  EXPECT_THAT(refusal(config), testing::HasSubstr("act_block_w_div is 0"));
}

TEST(Conv2dConfig, AFixedGridCannotBeChosenToo) {
  Conv2dConfig config;
  config.override_sharding_config = config.reshard_if_not_optimal = true;
  EXPECT_THAT(refusal(config), testing::HasSubstr("exclude each other"));
}

TEST(Conv2dConfig, RunsOnShardsOnly) {
  Conv2dConfig config;
  config.shard_layout = TensorMemoryLayout::block_sharded;
  EXPECT_EQ(refusal(config), "");
  config.shard_layout = TensorMemoryLayout::interleaved;
  EXPECT_THAT(refusal(config), testing::HasSubstr("INTERLEAVED"));
}

}  // namespace
}  // namespace tessera::tensix
