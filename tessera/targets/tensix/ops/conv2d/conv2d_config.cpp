#include "tessera/targets/tensix/ops/conv2d/conv2d_config.h"

#include "tessera/core/error.h"

namespace tessera::tensix {
namespace {

constexpr int kTileHeight = 32;

}  // namespace

void check_conv2d_config(const Conv2dConfig& config) {
  check(config.act_block_h_override >= 0 && config.act_block_h_override % kTileHeight == 0, Code::invalid_argument,
        Hint{"0 means all rows of a core"}, "act_block_h_override is {}, but it must be a multiple of 32",
        config.act_block_h_override);
  check(config.act_block_w_div >= 1, Code::invalid_argument,
        "act_block_w_div is {}, but it divides a width: it must be at least 1", config.act_block_w_div);
  check(!(config.override_sharding_config && config.reshard_if_not_optimal), Code::invalid_argument,
        Hint{"override_sharding_config fixes the grid, reshard_if_not_optimal lets it be chosen: keep one of them"},
        "override_sharding_config and reshard_if_not_optimal exclude each other");
  if (config.shard_layout) {
    const TensorMemoryLayout layout = *config.shard_layout;
    check(layout == TensorMemoryLayout::height_sharded || layout == TensorMemoryLayout::width_sharded ||
              layout == TensorMemoryLayout::block_sharded,
          Code::invalid_argument,
          "shard_layout is {}, but a convolution runs HEIGHT_SHARDED, WIDTH_SHARDED or BLOCK_SHARDED", name(layout));
  }
}

}  // namespace tessera::tensix
