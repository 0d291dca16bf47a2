#pragma once

// Convolutions that the real ttnn was asked about (tests/data/ttnn/conv2d_plan.jsonl): the problem of a record.

#include "golden.h"

#include <algorithm>

namespace tessera::tensix::card_golden {

inline CoreRangeSet core_ranges(const Json& ranges) {
  std::vector<CoreRange> out;
  for (const Json& r : ranges) out.emplace_back(CoreCoord{r[0], r[1]}, CoreCoord{r[2], r[3]});
  return CoreRangeSet(out);
}

inline Conv2dProblem conv2d_problem(const Json& r) {
  Conv2dProblem p;
  p.batch = r["shape"][0], p.height = r["shape"][1], p.width = r["shape"][2];
  p.in_channels = r["shape"][3], p.out_channels = r["shape"][4], p.groups = r["groups"];
  p.window = {r["kernel"][0],   r["kernel"][1], r["stride"][0], r["stride"][1], r["dilation"][0],
              r["dilation"][1], r["pads"][0],   r["pads"][1],   r["pads"][2],   r["pads"][3]};
  p.has_bias = r.value("bias", true);
  p.input_dtype = dtype(r.value("in_dtype", "bfloat16"));
  p.weights_dtype = dtype(r.value("w_dtype", "bfloat8_b"));
  p.output_dtype = dtype(r.value("out_dtype", "bfloat16"));
  const std::string layout = r.value("in_layout", p.input_dtype == DType::bfloat16 ? "ROW_MAJOR" : "TILE");
  p.input_layout = layout == "TILE" ? Layout::tile : Layout::row_major;
  if (r.contains("in_shard")) {
    const Json& s = r["in_shard"];
    p.input_memory = MemoryConfig(memory_layout(s["layout"]), BufferType::l1,
                                  ShardSpec{core_ranges(s["grid"]), {s["shape"][0], s["shape"][1]}});
  } else if (r.value("in_place", "DRAM") == "L1") {
    p.input_memory = kL1MemoryConfig;
  }
  Conv2dConfig& c = p.config;
  c.weights_dtype = p.weights_dtype;
  if (r.contains("shard_layout")) c.shard_layout = memory_layout(r["shard_layout"]);
  c.act_block_h_override = r.value("abh", 0);
  c.act_block_w_div = r.value("abw_div", 1);
  c.enable_act_double_buffer = r.value("act_db", false);
  c.enable_weights_double_buffer = r.value("w_db", false);
  c.output_layout = r.value("out_layout", "TILE") == "TILE" ? Layout::tile : Layout::row_major;
  c.deallocate_activation = r.value("dealloc", false);
  c.reallocate_halo_output = r.value("realloc", true);
  c.enable_activation_reuse = r.value("reuse", false);
  c.full_inner_dim = r.value("full_inner", false);
  c.reshard_if_not_optimal = r.value("reshard", false);
  c.override_sharding_config = r.value("override", false);
  c.override_output_sharding_config = r.value("override_out", false);
  c.transpose_shards = r.value("transpose", false);
  c.config_tensors_in_dram = r.value("cfg_dram", false);
  if (r.contains("fold")) c.enable_kernel_stride_folding = r["fold"].get<bool>();
  if (r.contains("split_reader")) c.force_split_reader = r["split_reader"].get<bool>();
  if (r.contains("core_grid")) c.core_grid = core_ranges(r["core_grid"]);
  p.compute.fp32_dest_acc_en = p.input_dtype == DType::float32 && p.weights_dtype == DType::float32;
  if (r.contains("fidelity")) {
    p.compute.fp32_dest_acc_en = r.value("fp32acc", false);
    p.compute.packer_l1_acc = r.value("l1acc", false);
  }
  return p;
}

}  // namespace tessera::tensix::card_golden
