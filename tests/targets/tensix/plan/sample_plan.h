#pragma once

// Plans made by hand, for the tests of what reads them.

#include "tessera/targets/tensix/plan/card_plan.h"

#include <string>
#include <vector>

namespace tessera::tensix {

inline MemoryConfig sharded(TensorMemoryLayout layout, std::int64_t rows, std::int64_t columns, int x, int y) {
  return MemoryConfig(layout, BufferType::l1,
                      ShardSpec{CoreRangeSet(CoreRange({0, 0}, {x - 1, y - 1})), {rows, columns}});
}

// A plan in which no field is what it is by itself.
inline CardPlan plan_with_every_field() {
  CardPlan plan;
  plan.model = "some \"model\".onnx";
  plan.model_inputs = {"x float32[2, 3, 32, 32]", "größe int64[1]"};
  plan.network_digest = "0123456789abcdef";
  plan.machine = "wormhole_n150";
  plan.machine_digest = "fedcba9876543210";
  plan.request = {.objective = Objective::end_to_end,
                  .min_pcc = 0.987,
                  .max_reshards = 7,
                  .pins = {{"layer3.*", "shard", "BLOCK"}, {"a:b", "act_block_h_override", "64"}},
                  .l1_small_bytes = 24576,
                  .metal_trace = false,
                  .command_queues = 1,
                  .mesh = 2,
                  .budget_s = 1.5,
                  .partial = true};
  plan.batch = 5;
  plan.pass_images = 2;
  plan.folded_inputs = {"conv"};
  plan.grouped_images = 2;
  plan.placed_inputs = {{"x", MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::dram,
                                           ShardSpec{CoreRange({0, 0}, {11, 0}), {22, 16}})}};
  plan.command_queues = 1;
  plan.separate_transfers = true;
  plan.kernels_ns = 12345.678;
  plan.device_ns = 0.001;
  plan.end_to_end_ns = 3e15;
  plan.latency_ns = 2.5e6;
  plan.programs = 7;
  plan.l1_peak_bytes = 1'234'560;
  plan.l1_limit_bytes = 1'395'424;
  plan.pcc = 0.9991234;

  PlannedStep step;
  step.node = "conv";
  step.op = "conv2d";
  step.role = CallRole::convolution;
  Conv2dConfig& conv = step.config.conv;
  conv.activation = "relu";
  conv.deallocate_activation = true;
  conv.reallocate_halo_output = false;
  conv.config_tensors_in_dram = true;
  conv.act_block_h_override = 96;
  conv.act_block_w_div = 2;
  conv.reshard_if_not_optimal = true;
  conv.override_sharding_config = true;
  conv.shard_layout = TensorMemoryLayout::block_sharded;
  conv.core_grid = CoreRangeSet({CoreRange({0, 0}, {7, 6}), CoreRange({0, 7}, {3, 7})});
  conv.transpose_shards = true;
  conv.output_layout = Layout::row_major;
  conv.enable_act_double_buffer = true;
  conv.enable_weights_double_buffer = true;
  conv.full_inner_dim = true;
  conv.enable_kernel_stride_folding = false;
  conv.enable_activation_reuse = true;
  conv.force_split_reader = true;
  conv.override_output_sharding_config = true;
  conv.padding_mode = PaddingMode::replicate;
  // In the order in which a file is read.
  step.config.conv_fields = {"act_block_h_override",
                             "act_block_w_div",
                             "activation",
                             "config_tensors_in_dram",
                             "core_grid",
                             "deallocate_activation",
                             "enable_act_double_buffer",
                             "enable_activation_reuse",
                             "enable_kernel_stride_folding",
                             "enable_weights_double_buffer",
                             "force_split_reader",
                             "full_inner_dim",
                             "output_layout",
                             "override_output_sharding_config",
                             "override_sharding_config",
                             "padding_mode",
                             "reallocate_halo_output",
                             "reshard_if_not_optimal",
                             "shard_layout",
                             "transpose_shards"};
  step.config.dtype = DType::bfloat8_b;
  step.config.weights_dtype = DType::bfloat4_b;
  step.config.fidelity = MathFidelity::hifi2;
  step.config.fp32_dest_acc_en = true;
  step.config.packer_l1_acc = false;
  step.config.memory = BufferType::l1;
  step.config.height_slices = true;
  step.config.slices = 4;
  step.moves = {{PlannedMove::Kind::spill, "skip", kDramMemoryConfig, 1000.25, "room for 'conv'"},
                {PlannedMove::Kind::restore, "x", kL1MemoryConfig, 10, "it is read"},
                {PlannedMove::Kind::reshard, "x", sharded(TensorMemoryLayout::height_sharded, 64, 32, 8, 4), 20, ""}};
  step.moves[2].to =
      MemoryConfig(TensorMemoryLayout::width_sharded, BufferType::l1_small,
                   ShardSpec{CoreRangeSet(CoreRange({1, 2}, {3, 4})), {32, 96}, ShardOrientation::col_major});
  step.reads = {"x", "skip"};
  step.makes = "y";
  step.frees = {"x"};
  step.result = {
      Shape({1, 1, 2048, 64}), DType::bfloat8_b, Layout::row_major,
      MemoryConfig(BufferType::l1, NdShardSpec{Shape({1, 1, 64, 32}), CoreRangeSet(CoreRange({0, 0}, {7, 3})),
                                               ShardOrientation::col_major, ShardDistribution::grid_2d})};
  step.predicted = {.node = "conv",
                    .op = "conv2d",
                    .config = "BLOCK_SHARDED 64x32",
                    .result = "[1, 1, 2048, 64] bfloat8_b",
                    .cores = 60,
                    .circular_buffer_bytes = 100'000,
                    .halo_bytes = 20'000,
                    .output_bytes = 4'352,
                    .l1_peak_bytes = 150'000,
                    .l1_small_bytes = 640,
                    .act_block_h = 32,
                    .reshards_input = true,
                    .time = {.reader_ns = 1,
                             .weights_ns = 2,
                             .multicast_ns = 3,
                             .dram_ns = 4,
                             .tilize_ns = 5,
                             .math_ns = 60.5,
                             .pack_ns = 7,
                             .writer_ns = 8,
                             .fixed_ns = 9,
                             .ns = 88.125,
                             .bound_by = TimePart::math,
                             .roof_ns = 33.3,
                             .basis = tensix::TimeBasis::scaled},
                    .programs = 3,
                    .note = "smaller blocks"};
  step.pcc = -0.5;
  step.why = "least time";
  step.alternatives = {{"HEIGHT_SHARDED 64x64", "needs 1,600,000 of 1,395,424 B", 0, 1'600'000},
                       {"WIDTH_SHARDED 2048x32", "", 5000.5, 700'000, true}};
  plan.steps.push_back(step);
  // And one that is nothing but what has to be.
  PlannedStep plain;
  plain.node = "relu";
  plain.op = "relu";
  plain.makes = "z";
  plain.result.shape = Shape({1, 1, 32, 32});
  plain.predicted.node = "relu#1";  // another than the step's
  plain.predicted.op = "unary";
  plan.steps.push_back(plain);
  return plan;
}

// A convolution of 4096 pixels to 32 channels on 64 cores, as the guides would have it.
inline PlannedStep good_conv(const std::string& node, const std::string& reads, const std::string& makes) {
  PlannedStep step;
  step.node = node;
  step.op = "conv2d";
  step.role = CallRole::convolution;
  step.config.conv.shard_layout = TensorMemoryLayout::height_sharded;
  step.config.conv.enable_act_double_buffer = true;
  step.config.conv.enable_weights_double_buffer = true;
  step.config.conv_fields = {"enable_act_double_buffer", "enable_weights_double_buffer", "shard_layout"};
  step.config.dtype = DType::bfloat8_b;
  step.config.weights_dtype = DType::bfloat8_b;
  step.config.fidelity = MathFidelity::lofi;
  step.reads = {reads};
  step.makes = makes;
  step.result = {Shape({1, 1, 4096, 32}), DType::bfloat16, Layout::tile,
                 sharded(TensorMemoryLayout::height_sharded, 64, 32, 8, 8)};
  step.predicted = {
      .node = node,
      .op = "conv2d",
      .config = "HEIGHT_SHARDED 64x32, act_block_h 64",
      .result = "[1, 1, 4096, 32] bfloat16 TILE",
      .cores = 64,
      .circular_buffer_bytes = 100'000,
      .halo_bytes = 8'192,
      .output_bytes = 4'096,
      .l1_peak_bytes = 120'480,
      .act_block_h = 64,
      .time = {.reader_ns = 4'000, .math_ns = 9'000, .ns = 10'000, .bound_by = TimePart::math, .roof_ns = 5'000},
      .programs = 2,
      .note = {}};
  step.why = "least time";
  step.alternatives = {{"BLOCK_SHARDED 512x32", "", 14'000, 150'000},
                       {"WIDTH_SHARDED 4096x32", "needs 1,500,000 of 1,395,424 B", 0, 1'500'000}};
  return step;
}

// Eight steps; what the first makes is read again by the last.
inline CardPlan good_plan() {
  CardPlan plan;
  plan.model = "residual";
  plan.model_inputs = {"x float32[1, 3, 64, 64]"};
  plan.network_digest = "00000000000000aa";
  plan.machine = "wormhole_n150";
  plan.machine_digest = "00000000000000bb";
  std::string last = "x";
  for (const char* node : {"stem", "conv1", "conv2", "conv3", "conv4", "conv5", "conv6"}) {
    const std::string makes = std::string(node) + ".out";
    plan.steps.push_back(good_conv(node, last, makes));
    if (plan.steps.size() > 2) plan.steps.back().frees = {last};
    last = makes;
  }
  PlannedStep add = good_conv("add", last, "y");
  add.op = add.predicted.op = "add";
  add.role = CallRole::computes;
  add.config = {};
  add.reads = {last, "stem.out"};
  add.frees = {last, "stem.out"};
  add.predicted.time = {.math_ns = 1'000, .ns = 2'000, .bound_by = TimePart::math, .roof_ns = 500};
  add.alternatives.clear();
  plan.steps.push_back(add);
  plan.kernels_ns = 72'000;
  plan.device_ns = 80'000;
  plan.end_to_end_ns = 100'000;
  plan.programs = 16;
  plan.l1_peak_bytes = 124'576;
  plan.l1_limit_bytes = 1'395'424;
  plan.pcc = 0.9995;
  return plan;
}

}  // namespace tessera::tensix
