#pragma once

// How single layers of a network shall run on the card, where that differs from what holds for all of them.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_config.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

struct TSR_API LayerConfig {
  Conv2dConfig conv;
  std::vector<std::string> conv_fields;  // those of `conv` that were given
  std::optional<DType> dtype, weights_dtype;
  std::optional<MathFidelity> fidelity;
  std::optional<bool> fp32_dest_acc_en, packer_l1_acc;
  std::optional<BufferType> memory;   // of the result: dram, or l1 as it comes
  std::optional<bool> height_slices;  // slices of a convolution's image in DRAM: along its height, or its width
  std::int64_t slices = 0;            // how many; 0: as many as it takes

  bool gives(std::string_view field) const;
  void apply_to(Conv2dConfig& config) const;
  void apply_to(ComputeConfig& compute) const;
};

using LayerConfigs = std::map<std::string, LayerConfig>;  // by the name of the node

// {"NODE": {"shard_layout": "HEIGHT_SHARDED", "act_block_h_override": 64, "weights_dtype": "bfloat8_b",
//           "math_fidelity": "LoFi", "slice": {"type": "DRAM_HEIGHT", "num_slices": 4}, "memory": "DRAM"}, ...}
// Fields are those of Conv2dConfig and of the compute config, under TTNN's names. "*" stands for all nodes; what a node
// says for itself comes before it.
TSR_API LayerConfigs parse_layer_configs(std::string_view json);

// One node's object of these, in one line: the fields that are given, in a fixed order. Reads back as it was.
TSR_API std::string layer_config_json(const LayerConfig& config);
TSR_API LayerConfig parse_layer_config(std::string_view json);

// The config of a node: its own fields over those of "*".
TSR_API LayerConfig config_of(const LayerConfigs& configs, const std::string& node);

}  // namespace tessera::tensix
