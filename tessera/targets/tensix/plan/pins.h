#pragma once

// Fields that the user has set for some layers.

#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/ops/layer_config.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <string>
#include <vector>

namespace tessera::tensix {

// What is pinned of each node; `gives` says which fields of the convolution. A pattern that fits no node, or a field or
// value that does not exist, is an Error.
std::vector<tensix::LayerConfig> pinned(const std::vector<Pin>& pins, const tensix::LoweredGraph& network);

// Sets what is pinned.
void apply_pins(const tensix::LayerConfig& pins, tensix::LayerConfig& config);

// "shard_layout, act_block_h_override"; empty: nothing.
std::string pinned_fields(const tensix::LayerConfig& pins);

}  // namespace tessera::tensix
