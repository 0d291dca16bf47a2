#pragma once

// How a convolution is asked to run on a tile machine. It only describes: nothing here knows a shape or a device.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <optional>
#include <string>

namespace tessera::tensix {

enum class PaddingMode : std::uint8_t { zeros, replicate };

struct TSR_API Conv2dConfig {
  std::optional<DType> weights_dtype;     // none: as they come
  std::optional<std::string> activation;  // applied to the output on its way out
  bool deallocate_activation = false;     // free the input as early as possible
  bool reallocate_halo_output = true;
  bool config_tensors_in_dram = false;
  int act_block_h_override = 0;  // rows that a core works on at a time; 0: all of its rows
  int act_block_w_div = 1;       // width sharding only
  bool reshard_if_not_optimal = false;
  bool override_sharding_config = false;
  std::optional<TensorMemoryLayout> shard_layout;  // none: chosen by memory use
  std::optional<CoreRangeSet> core_grid;
  bool transpose_shards = false;
  Layout output_layout = Layout::tile;
  bool enable_act_double_buffer = false;
  bool enable_weights_double_buffer = false;
  bool full_inner_dim = false;                       // block sharding only
  std::optional<bool> enable_kernel_stride_folding;  // none: chosen
  bool enable_activation_reuse = false;              // height sharding only
  std::optional<bool> force_split_reader;            // none: chosen
  bool override_output_sharding_config = false;      // block sharding only
  PaddingMode padding_mode = PaddingMode::zeros;

  bool operator==(const Conv2dConfig&) const = default;
};

// Refuses what no convolution can be run with.
TSR_API void check_conv2d_config(const Conv2dConfig& config);

}  // namespace tessera::tensix
