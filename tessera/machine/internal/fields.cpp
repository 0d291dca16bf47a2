#include "tessera/machine/internal/fields.h"

#include "tessera/machine/internal/fleet_fields.h"
#include "tessera/machine/tensix_costs.h"
#include "tessera/machine/unified_guide.h"

#include <fmt/format.h>

#include <utility>

namespace tessera::internal {

using enum Rule;

void read_fields(FieldReader& in, TensixSpec& s) {
  in.group("chip");
  in.value("arch", s.arch);
  in.value("chips", s.chips, "", positive);
  in.value("grid_x", s.grid_x, "cores", positive);
  in.value("grid_y", s.grid_y, "cores", positive);
  in.value("clock_hz", s.clock_hz, "Hz", positive);

  in.group("l1");
  in.value("l1_bytes", s.l1_bytes, "B", positive);
  in.value("l1_unreserved_base_bytes", s.l1_unreserved_base_bytes, "B", not_negative);
  in.value("l1_alignment_bytes", s.l1_alignment_bytes, "B", power_of_two);
  in.value("l1_max_worker_bytes", s.l1_max_worker_bytes, "B", positive);
  in.require(
      s.l1_unreserved_base_bytes < s.l1_bytes, {"l1_unreserved_base_bytes", "l1_bytes"},
      fmt::format("'l1_unreserved_base_bytes' is {}, but L1 ends at {}", s.l1_unreserved_base_bytes, s.l1_bytes));
  in.require(s.l1_max_worker_bytes <= s.l1_bytes, {"l1_max_worker_bytes", "l1_bytes"},
             fmt::format("'l1_max_worker_bytes' is {}, more than the {} of L1", s.l1_max_worker_bytes, s.l1_bytes));

  in.group("dram");
  in.value("dram_banks", s.dram_banks, "", positive);
  in.value("dram_bank_bytes", s.dram_bank_bytes, "B", positive);
  in.value("dram_bank_base_bytes", s.dram_bank_base_bytes, "B", not_negative);
  in.value("dram_alignment_bytes", s.dram_alignment_bytes, "B", power_of_two);
  in.value("trace_alignment_bytes", s.trace_alignment_bytes, "B", power_of_two);
  in.value("dram_bytes_per_s", s.dram_bytes_per_s, "B/s", positive);
  in.value("dram_model_bytes_per_s", s.dram_model_bytes_per_s, "B/s", positive);
  in.value("dram_achieved_bytes_per_s", s.dram_achieved_bytes_per_s, "B/s", positive);
  in.value("dram_controllers", s.dram_controllers, "", positive);
  in.value("dram_controller_bytes_per_cycle", s.dram_controller_bytes_per_cycle, "B/cycle", positive);

  in.group("math");
  in.value("tile_matmul_cycles", s.tile_matmul_cycles, "cycles", positive);
  in.value("matmul_flop_per_cycle", s.matmul_flop_per_cycle, "FLOP/cycle", positive);
  in.value("row_broadcast_matmul_flop_per_cycle", s.row_broadcast_matmul_flop_per_cycle, "FLOP/cycle", positive);
  in.value("average_pool_flop_per_cycle", s.average_pool_flop_per_cycle, "FLOP/cycle", positive);
  in.value("multiply_flop_per_cycle", s.multiply_flop_per_cycle, "FLOP/cycle", positive);
  in.value("add_flop_per_cycle", s.add_flop_per_cycle, "FLOP/cycle", positive);
  in.value("add_overwrite_flop_per_cycle", s.add_overwrite_flop_per_cycle, "FLOP/cycle", positive);
  in.value("vector_flop_per_cycle", s.vector_flop_per_cycle, "FLOP/cycle", positive);
  in.value("float32_phases", s.float32_phases, "phases", positive);
  in.require(s.float32_phases.value_or(1) <= 4, {"float32_phases"},
             fmt::format("'float32_phases' is {}, but HiFi4 has 4", s.float32_phases.value_or(0)));
  in.value("dest_tiles_16bit", s.dest_tiles_16bit, "tiles", positive);
  in.value("dest_tiles_32bit", s.dest_tiles_32bit, "tiles", positive);

  in.group("tilize");
  in.value("tilize_bf16_to_bf16", s.tilize_bf16_to_bf16);
  in.value("tilize_bf16_to_bfp8", s.tilize_bf16_to_bfp8);
  in.value("tilize_bf16_to_fp32", s.tilize_bf16_to_fp32);
  in.value("tilize_fp32_to_bf16", s.tilize_fp32_to_bf16);
  in.value("tilize_fp32_to_bfp8", s.tilize_fp32_to_bfp8);
  in.value("tilize_fp32_to_fp32", s.tilize_fp32_to_fp32);

  in.group("noc");
  in.value("nocs", s.nocs, "", positive);
  in.value("noc_link_bytes_per_cycle", s.noc_link_bytes_per_cycle, "B/cycle", positive);
  in.value("noc_link_achieved_bytes_per_cycle", s.noc_link_achieved_bytes_per_cycle, "B/cycle", positive);
  in.value("noc_max_burst_bytes", s.noc_max_burst_bytes, "B", positive);
  in.value("noc_bytes_per_cycle", s.noc_bytes_per_cycle, "B/cycle");
  in.value("noc_read_latency_cycles", s.noc_read_latency_cycles, "cycles", positive);
  in.value("noc_write_latency_cycles", s.noc_write_latency_cycles, "cycles", positive);
  in.value("noc_write_latency_cycles_per_hop", s.noc_write_latency_cycles_per_hop, "cycles/hop", positive);
  in.value("noc_multicast_bytes_per_cycle", s.noc_multicast_bytes_per_cycle, "B/cycle", positive);
  in.value("noc_linked_multicast_bytes_per_cycle", s.noc_linked_multicast_bytes_per_cycle, "B/cycle", positive);
  in.value("noc_dram_latency_cycles", s.noc_dram_latency_cycles, "cycles", positive);
  in.value("noc_multicast_latency_cycles", s.noc_multicast_latency_cycles, "cycles", positive);
  in.value("noc_multicast_receiver_cycles", s.noc_multicast_receiver_cycles, "cycles", positive);
  in.value("l1_read", s.l1_read);
  in.value("dram_read", s.dram_read);
  in.value("multicast", s.multicast);
  in.require(s.noc_link_achieved_bytes_per_cycle <= s.noc_link_bytes_per_cycle,
             {"noc_link_achieved_bytes_per_cycle", "noc_link_bytes_per_cycle"},
             fmt::format("'noc_link_achieved_bytes_per_cycle' is {}, but the link carries {}",
                         s.noc_link_achieved_bytes_per_cycle, s.noc_link_bytes_per_cycle));

  in.group("dispatch");
  in.value("command_queues", s.command_queues, "", positive);
  in.value("op_gap_ns", s.op_gap_ns, "ns", not_negative);
  in.value("pack_to_unpack_ns", s.pack_to_unpack_ns, "ns", not_negative);
  in.value("traced_program_ns", s.traced_program_ns, "ns", not_negative);
  in.value("untraced_program_ns", s.untraced_program_ns, "ns", not_negative);
  in.value("grouped_program_ns", s.grouped_program_ns, "ns", not_negative);

  in.group("host");
  in.value("host_write_bytes_per_s", s.host_write_bytes_per_s, "B/s", positive);
  in.value("host_read_bytes_per_s", s.host_read_bytes_per_s, "B/s", positive);
  in.value("host_write_remote_bytes_per_s", s.host_write_remote_bytes_per_s, "B/s", positive);
  in.value("host_read_remote_bytes_per_s", s.host_read_remote_bytes_per_s, "B/s", positive);
  in.value("host_tensor_bytes_per_s", s.host_tensor_bytes_per_s, "B/s", positive);
  in.value("host_call_ns", s.host_call_ns, "ns", not_negative);
  in.value("host_program_ns", s.host_program_ns, "ns", not_negative);
  in.value("host_trace_ns", s.host_trace_ns, "ns", not_negative);
  in.value("pcie_alignment_bytes", s.pcie_alignment_bytes, "B", power_of_two);

  in.group("ethernet");
  in.value("ethernet_cores", s.ethernet_cores, "", not_negative);
  in.value("chip_links", s.chip_links, "", not_negative);
  in.value("ethernet_bytes_per_s", s.ethernet_bytes_per_s, "B/s", positive);
  in.value("fabric_bytes_per_s", s.fabric_bytes_per_s, "B/s", positive);
  in.require(s.chip_links <= s.ethernet_cores, {"chip_links", "ethernet_cores"},
             fmt::format("'chip_links' is {}, but there are {} Ethernet cores", s.chip_links, s.ethernet_cores));

  // Whoever prices programs takes these from the figures (tensix_costs.h); a machine without them has no times.
  in.group("cost");
  for (const CostField& field : kCostFields) {
    std::optional<double> value;
    in.value(field.name, value, field.unit, positive);
  }
  in.value("fitted_programs", s.fitted_programs);
  in.value("scaled_programs", s.scaled_programs);
  read_fleet_fields(in, s.chips);
}

void read_fields(FieldReader& in, NeuronSpec& s) {
  in.group("chip");
  in.value("arch", s.arch);
  in.value("cores", s.cores, "", positive);
  in.value("hbm_bytes", s.hbm_bytes, "B", positive);
  in.value("hbm_bytes_per_s", s.hbm_bytes_per_s, "B/s", positive);
  in.value("core_hbm_bytes_per_s", s.core_hbm_bytes_per_s, "B/s", positive);
  in.value("chip_fp16_flop_per_s", s.chip_fp16_flop_per_s, "FLOP/s", positive);
  in.value("chip_fp32_flop_per_s", s.chip_fp32_flop_per_s, "FLOP/s", positive);
  in.value("chip_fp8_flop_per_s", s.chip_fp8_flop_per_s, "FLOP/s", positive);

  in.group("memory");
  in.value("partitions", s.partitions, "", positive);
  in.value("sbuf_partition_bytes", s.sbuf_partition_bytes, "B", positive);
  in.value("psum_partition_bytes", s.psum_partition_bytes, "B", positive);
  in.value("psum_banks", s.psum_banks, "", positive);
  in.value("sbuf_max_free_elements", s.sbuf_max_free_elements, "", positive);
  in.value("psum_max_free_elements", s.psum_max_free_elements, "", positive);
  in.value("sbuf_access_cycles", s.sbuf_access_cycles, "cycles", not_negative);
  in.value("wide_stride_factor", s.wide_stride_factor, "", positive);
  in.value("vector_and_scalar_share_psum", s.vector_and_scalar_share_psum);
  in.value("vector_and_gpsimd_share_sbuf", s.vector_and_gpsimd_share_sbuf);
  in.require(s.psum_banks > 0 && s.psum_partition_bytes % s.psum_banks == 0, {"psum_banks", "psum_partition_bytes"},
             fmt::format("'psum_banks' is {}, which does not divide the {} bytes of a PSUM partition", s.psum_banks,
                         s.psum_partition_bytes));

  in.group("tensor_engine");
  in.value("pe_rows", s.pe_rows, "", positive);
  in.value("pe_columns", s.pe_columns, "", positive);
  in.value("pe_clock_hz", s.pe_clock_hz, "Hz", positive);
  in.value("fp16_flop_per_s", s.fp16_flop_per_s, "FLOP/s", positive);
  in.value("fp32_flop_per_s", s.fp32_flop_per_s, "FLOP/s", positive);
  in.value("fp8_flop_per_s", s.fp8_flop_per_s, "FLOP/s", positive);
  in.value("fp32_cycle_factor", s.fp32_cycle_factor, "", positive);
  in.value("fp32_transpose_cycle_factor", s.fp32_transpose_cycle_factor, "", positive);
  in.value("weight_load_speedup", s.weight_load_speedup, "", positive);
  in.value("stationary_max_columns", s.stationary_max_columns, "", positive);
  in.value("moving_max_columns", s.moving_max_columns, "", positive);
  in.value("matmul_min_columns", s.matmul_min_columns, "", positive);

  in.group("engines");
  in.value("vector_lanes", s.vector_lanes, "", positive);
  in.value("vector_clock_hz", s.vector_clock_hz, "Hz", positive);
  in.value("vector_startup_cycles", s.vector_startup_cycles, "cycles", not_negative);
  in.value("vector_two_input_factor", s.vector_two_input_factor, "", positive);
  in.value("vector_16bit_speedup", s.vector_16bit_speedup, "", positive);
  in.value("vector_16bit_strided_speedup", s.vector_16bit_strided_speedup, "", positive);
  in.value("vector_16bit_two_input_speedup", s.vector_16bit_two_input_speedup, "", positive);
  in.value("scalar_startup_cycles", s.scalar_startup_cycles, "cycles", not_negative);
  in.value("scalar_clock_hz", s.scalar_clock_hz, "Hz", positive);
  in.value("gpsimd_clock_hz", s.gpsimd_clock_hz, "Hz", positive);

  in.group("dma");
  in.value("dma_engines", s.dma_engines, "", positive);
  in.value("dma_partitions_per_engine", s.dma_partitions_per_engine, "", positive);
  in.value("dma_engine_bytes_per_s", s.dma_engine_bytes_per_s, "B/s", positive);
  in.value("dma_engine_peak_bytes_per_s", s.dma_engine_peak_bytes_per_s, "B/s", positive);
  in.value("dma_issue_ns", s.dma_issue_ns, "ns", not_negative);
  in.value("dma_latency_ns", s.dma_latency_ns, "ns", not_negative);
  in.value("dma_segment_ns", s.dma_segment_ns, "ns", not_negative);
  in.value("dma_element_ns", s.dma_element_ns, "ns", not_negative);
  in.value("dma_efficient_bytes", s.dma_efficient_bytes, "B", positive);
  in.require(s.dma_engine_bytes_per_s <= s.dma_engine_peak_bytes_per_s,
             {"dma_engine_bytes_per_s", "dma_engine_peak_bytes_per_s"},
             fmt::format("'dma_engine_bytes_per_s' is {}, above the peak of {}", s.dma_engine_bytes_per_s,
                         s.dma_engine_peak_bytes_per_s));

  in.group("dispatch");
  in.value("kernel_overhead_ns", s.kernel_overhead_ns, "ns", not_negative);
}

void read_fields(FieldReader& in, UnifiedSpec& s) {
  UnifiedGuide guide;  // kept in the figures: unified_guide_of() reads it from there
  std::vector<double> small_backbone_units;
  in.group("chip");
  in.value("neural_engine_cores", s.neural_engine_cores, "", positive);
  in.value("neural_engine_op_per_s", s.neural_engine_op_per_s, "OP/s", positive);
  in.value("gpu_flop_per_s", s.gpu_flop_per_s, "FLOP/s", positive);
  in.value("launch_ns", s.launch_ns, "ns", not_negative);
  in.value("special_flop", guide.special_flop, "FLOP", positive);

  in.group("memory");
  in.value("memory_bytes", s.memory_bytes, "B", positive);
  in.value("memory_min_bytes", s.memory_min_bytes, "B", positive);
  in.value("memory_bytes_per_s", s.memory_bytes_per_s, "B/s", positive);
  in.value("memory_budget_bytes", s.memory_budget_bytes, "B", positive);
  in.value("guide_bytes_per_s", guide.guide_bytes_per_s, "B/s", positive);
  in.require(s.memory_min_bytes <= s.memory_bytes, {"memory_min_bytes", "memory_bytes"},
             fmt::format("'memory_min_bytes' is {}, more than the largest configuration of {}", s.memory_min_bytes,
                         s.memory_bytes));
  in.require(
      s.memory_budget_bytes <= s.memory_bytes, {"memory_budget_bytes", "memory_bytes"},
      fmt::format("'memory_budget_bytes' is {}, more than the {} there are", s.memory_budget_bytes, s.memory_bytes));

  in.group("profile");
  in.value("batch_min", s.batch_min, "", positive);
  in.value("batch_max", s.batch_max, "", positive);
  in.value("hidden_min", s.hidden_min, "units", positive);
  in.value("hidden_max", s.hidden_max, "units", positive);
  in.value("hidden_limit", guide.hidden_limit, "units", positive);
  in.value("backbone_units", s.backbone_units, "units", positive);
  in.value("target_flop_per_s", s.target_flop_per_s, "FLOP/s", positive);
  in.value("target_bytes_per_s", s.target_bytes_per_s, "B/s", positive);
  in.value("target_utilization", guide.target_utilization, "", positive);
  in.value("learning_rate", guide.learning_rate, "", positive);
  in.value("backbone_dropout", guide.backbone_dropout, "", not_negative);
  in.value("advice", guide.advice);
  in.require(s.batch_min <= s.batch_max, {"batch_min", "batch_max"},
             fmt::format("'batch_min' is {}, above 'batch_max' of {}", s.batch_min, s.batch_max));
  in.require(s.hidden_min <= s.hidden_max, {"hidden_min", "hidden_max"},
             fmt::format("'hidden_min' is {}, above 'hidden_max' of {}", s.hidden_min, s.hidden_max));

  in.own_group("tiers");  // of the chips that the guide is about
  in.value("class_target_bytes_per_s", guide.class_target_bytes_per_s, "B/s", positive);
  in.value("high_target_flop_per_s", guide.high_target_flop_per_s, "FLOP/s", positive);
  in.value("high_target_bytes_per_s", guide.high_target_bytes_per_s, "B/s", positive);
  in.value("high_memory_bytes", guide.high_memory_bytes, "B", positive);
  in.value("small_batch", guide.small_batch, "", positive);
  in.value("small_backbone_units", small_backbone_units, "units", positive);
}

void read_fields(FieldReader& in, CpuSpec& s) {
  in.group("chip");
  in.value("isa", s.isa);
  in.value("cores", s.cores, "", positive);
  in.value("vector_bits", s.vector_bits, "bit", power_of_two);

  in.group("memory");
  in.value("l1d_bytes", s.l1d_bytes, "B", positive);
  in.value("l2_bytes", s.l2_bytes, "B", positive);
  in.value("l3_bytes", s.l3_bytes, "B", positive);
  in.value("l1_read_bytes_per_s", s.l1_read_bytes_per_s, "B/s", positive);
  in.value("l2_read_bytes_per_s", s.l2_read_bytes_per_s, "B/s", positive);
  in.value("l3_read_bytes_per_s", s.l3_read_bytes_per_s, "B/s", positive);
  in.value("dram_read_bytes_per_s", s.dram_read_bytes_per_s, "B/s", positive);
  in.value("dram_read_all_bytes_per_s", s.dram_read_all_bytes_per_s, "B/s", positive);

  in.group("math");
  in.value("f32_flop_per_s", s.f32_flop_per_s, "FLOP/s", positive);
  in.value("f32_all_flop_per_s", s.f32_all_flop_per_s, "FLOP/s", positive);
  in.value("bf16_flop_per_s", s.bf16_flop_per_s, "FLOP/s", positive);
  in.value("bf16_all_flop_per_s", s.bf16_all_flop_per_s, "FLOP/s", positive);
  in.value("bf16_pairs_flop_per_s", s.bf16_pairs_flop_per_s, "FLOP/s", positive);
  in.value("bf16_pairs_all_flop_per_s", s.bf16_pairs_all_flop_per_s, "FLOP/s", positive);
  in.value("bf16_from_l2_flop_per_s", s.bf16_from_l2_flop_per_s, "FLOP/s", positive);
  in.value("bf16_from_l2_all_flop_per_s", s.bf16_from_l2_all_flop_per_s, "FLOP/s", positive);
  in.value("int8_op_per_s", s.int8_op_per_s, "OP/s", positive);
  in.value("int8_all_op_per_s", s.int8_all_op_per_s, "OP/s", positive);

  in.own_group("match");
  HostMatch match;
  in.value("priority", match.priority, "", not_negative);
  in.value("vendor", match.vendor);
  in.value("family", match.family, "", not_negative);
  in.value("models", match.models);
  in.value("isa", match.isa);
  in.require(match.models.empty() || match.family, {"models"}, "'models' are those of a 'family', which is missing");
  if (in.has_group()) s.match = std::move(match);
}

void read_fields(FieldReader& in, GpuSpec& s) {
  in.group("chip");
  in.value("arch", s.arch);
  in.value("multiprocessors", s.multiprocessors, "", positive);
  in.value("clock_hz", s.clock_hz, "Hz", positive);
  in.value("power_w", s.power_w, "W", positive);

  in.group("memory");
  in.value("memory_bytes", s.memory_bytes, "B", positive);
  in.value("memory_bytes_per_s", s.memory_bytes_per_s, "B/s", positive);
  in.value("memory_achieved_bytes_per_s", s.memory_achieved_bytes_per_s, "B/s", positive);
  in.value("l2_bytes", s.l2_bytes, "B", positive);
  in.value("shared_bytes", s.shared_bytes, "B", positive);
  in.value("register_file_bytes", s.register_file_bytes, "B", positive);

  in.group("math");
  in.value("fp32_flop_per_s", s.fp32_flop_per_s, "FLOP/s", positive);
  in.value("tf32_flop_per_s", s.tf32_flop_per_s, "FLOP/s", positive);
  in.value("bf16_flop_per_s", s.bf16_flop_per_s, "FLOP/s", positive);
  in.value("fp8_flop_per_s", s.fp8_flop_per_s, "FLOP/s", positive);
  in.value("int8_op_per_s", s.int8_op_per_s, "OP/s", positive);

  in.group("host");
  in.value("host_link_bytes_per_s", s.host_link_bytes_per_s, "B/s", positive);
  in.value("host_achieved_bytes_per_s", s.host_achieved_bytes_per_s, "B/s", positive);
  in.value("peer_link_bytes_per_s", s.peer_link_bytes_per_s, "B/s", positive);
}

}  // namespace tessera::internal
