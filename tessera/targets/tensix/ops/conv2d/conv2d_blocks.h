#pragma once

// Blocks: what a core works on at a time. Sizes in tiles unless said otherwise.

#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <cstdint>

namespace tessera::tensix {

// The first of a fixed order of preference that divides the block and fits Dst: 8 tiles, or 4 of float32.
Extent2d choose_subblock(std::int64_t block_h, std::int64_t block_w, bool fp32_dest_acc);

// Fills in the blocks of a plan whose cores, shards and channels are known.
void choose_blocks(Conv2dPlan& plan, const TensixSpec& card);

// The weights as a matrix: the reduction padded as the blocks need it, output channels padded to their cores.
Extent2d weight_matrix_of(const Conv2dPlan& plan);

// A depthwise convolution along one axis that reads all taps of a window in one transfer.
bool reads_taps_together(const Conv2dPlan& plan, const TensixSpec& card);

// What the operator refuses before it asks for memory, with what would be legal.
void check_blocks(const Conv2dPlan& plan, const TensixSpec& card);

}  // namespace tessera::tensix
