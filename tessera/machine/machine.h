#pragma once

// What a machine is: numbers, each with a unit, a kind and a source. A machine comes from a file in machines/
// (machine_file.h); every field below is one key of that file, under the same name. A field that is optional here may
// be left out of the file: then nobody has published or measured it.

#include "tessera/core/export.h"
#include "tessera/core/isa.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera {

enum class FigureKind : std::uint8_t {
  measured,   // by us or by someone who says how, on the real thing
  published,  // stated by the vendor's documentation or software
  derived,    // arithmetic over other figures
  assumed,    // a guess, so that a model can run at all
};

TSR_API std::string_view name(FigureKind kind);
TSR_API std::optional<FigureKind> parse_figure_kind(std::string_view text);
TSR_API std::span<const FigureKind> all_figure_kinds();

// One line of `tessera machines show`.
struct Figure {
  using Value = std::variant<std::int64_t, double, bool, std::string>;  // lists are shown as text

  std::string group;
  std::string key;
  Value value;
  std::string unit;  // "" for counts and names
  FigureKind kind = FigureKind::assumed;
  std::string source;
  std::string note;
};

// A point of a measured curve: the rate that transfers of this size reach.
struct RatePoint {
  double bytes = 0;
  double rate = 0;
  bool operator==(const RatePoint&) const = default;
};

// Rate of a path that rises linearly from `floor` (16-byte transfers) to `peak` (transfers of `knee_bytes` and more).
struct SizedRate {
  double floor_bytes_per_s = 0;
  double peak_bytes_per_s = 0;
  double knee_bytes = 0;
};

// Cycles to tilize one 32x32 tile, by the width of the destination register.
struct TilizeCost {
  double dest16_cycles = 0;
  double dest32_cycles = 0;
};

// Tenstorrent. Grids, memories and rates are those of one chip; `chips` says how many a board has.
struct TensixSpec {
  // [chip]
  std::string arch;  // as TTNN prints it: "WORMHOLE_B0", "BLACKHOLE"
  int chips = 0;
  int grid_x = 0;  // compute cores that programs may use
  int grid_y = 0;
  double clock_hz = 0;

  // [l1] A core's memory: firmware below the base, circular buffers from there upwards, buffers from the top downwards.
  std::int64_t l1_bytes = 0;
  std::int64_t l1_unreserved_base_bytes = 0;
  std::int64_t l1_alignment_bytes = 0;
  std::int64_t l1_max_worker_bytes = 0;  // largest worker_l1_size that a device can be opened with

  // [dram]
  int dram_banks = 0;
  std::int64_t dram_bank_bytes = 0;       // what the allocator may give out of one bank
  std::int64_t dram_bank_base_bytes = 0;  // reserved below it
  std::int64_t dram_alignment_bytes = 0;
  std::int64_t trace_alignment_bytes = 0;  // the trace region of a bank is a multiple of this
  double dram_bytes_per_s = 0;             // the data sheet's
  double dram_model_bytes_per_s = 0;       // what the vendor's own performance model uses
  std::optional<double> dram_achieved_bytes_per_s;
  int dram_controllers = 0;
  double dram_controller_bytes_per_cycle = 0;

  // [math] of one core
  std::array<double, 4> tile_matmul_cycles{};  // 32x32x32 at LoFi, HiFi2, HiFi3, HiFi4
  double matmul_flop_per_cycle = 0;            // the rates are for one phase; divide by 1..4 for LoFi..HiFi4,
  double row_broadcast_matmul_flop_per_cycle = 0;
  double average_pool_flop_per_cycle = 0;
  double multiply_flop_per_cycle = 0;
  double add_flop_per_cycle = 0;            // except here: add, subtract and max take one phase at any fidelity
  double add_overwrite_flop_per_cycle = 0;  // the same where Dst is overwritten
  double vector_flop_per_cycle = 0;
  // Phases (1..4 for LoFi..HiFi4) of a product whose operands are float32, unless the caller says otherwise.
  std::optional<int> float32_phases;
  int dest_tiles_16bit = 0;
  int dest_tiles_32bit = 0;

  // [tilize]
  TilizeCost tilize_bf16_to_bf16;
  TilizeCost tilize_bf16_to_bfp8;
  TilizeCost tilize_bf16_to_fp32;
  TilizeCost tilize_fp32_to_bf16;
  TilizeCost tilize_fp32_to_bfp8;
  TilizeCost tilize_fp32_to_fp32;

  // [noc]
  int nocs = 0;
  double noc_link_bytes_per_cycle = 0;           // wires
  double noc_link_achieved_bytes_per_cycle = 0;  // best that a transfer gets out of them
  std::int64_t noc_max_burst_bytes = 0;
  std::vector<RatePoint> noc_bytes_per_cycle;       // by transfer size
  std::array<double, 4> noc_read_latency_cycles{};  // own core, same column, same row, neither
  double noc_write_latency_cycles = 0;
  double noc_write_latency_cycles_per_hop = 0;
  double noc_multicast_bytes_per_cycle = 0;
  double noc_linked_multicast_bytes_per_cycle = 0;
  double noc_dram_latency_cycles = 0;  // a page of DRAM, from the request of a core that is alone to its arrival
  // Until a multicast has reached all of its receivers.
  double noc_multicast_latency_cycles = 0;
  double noc_multicast_receiver_cycles = 0;
  SizedRate l1_read;  // one core's reads over the NoC, as the vendor's reader heuristic prices them
  SizedRate dram_read;
  SizedRate multicast;

  // [dispatch]
  int command_queues = 0;
  double op_gap_ns = 0;  // between two operations in a replayed trace
  double pack_to_unpack_ns = 0;
  double traced_program_ns = 0;
  double untraced_program_ns = 0;
  std::optional<double> grouped_program_ns;  // traced, with 8 kinds of cores that run different kernels

  // [host]
  std::optional<double> host_write_bytes_per_s;
  std::optional<double> host_read_bytes_per_s;
  std::optional<double> host_write_remote_bytes_per_s;  // to a chip that is reached through another one
  std::optional<double> host_read_remote_bytes_per_s;
  std::optional<double> host_tensor_bytes_per_s;  // what the input of a network reaches on its way to the card
  std::optional<double> host_call_ns;             // an operator called from Python, besides its programs
  std::optional<double> host_program_ns;          // a program or a transfer put into a queue
  std::optional<double> host_trace_ns;            // a replay put into a queue
  std::optional<std::int64_t> pcie_alignment_bytes;

  // [ethernet]
  int ethernet_cores = 0;
  int chip_links = 0;                          // between the chips of one board
  std::optional<double> ethernet_bytes_per_s;  // one link, one direction
  std::optional<double> fabric_bytes_per_s;    // what 4 KiB packets reach on it

  // [cost] Beside the prices (tensix_costs.h): kinds of programs whose prices come from measured times of this
  // generation, and kinds whose prices were carried over from another one. Prices of other kinds are assumed.
  std::vector<std::string> fitted_programs;
  std::vector<std::string> scaled_programs;

  int cores() const { return grid_x * grid_y; }
  // One L1 bank as the allocator sees it when no L1_SMALL region is asked for.
  std::int64_t l1_bank_bytes() const { return l1_bytes - l1_unreserved_base_bytes; }
  double matmul_flop_per_s() const { return matmul_flop_per_cycle * clock_hz * cores(); }  // LoFi, one chip
};

// AWS Trainium. Memories and engines are those of one NeuronCore.
struct NeuronSpec {
  // [chip]
  std::string arch;  // "NeuronCore-v2"
  int cores = 0;
  std::int64_t hbm_bytes = 0;
  double hbm_bytes_per_s = 0;
  std::optional<double> core_hbm_bytes_per_s;
  double chip_fp16_flop_per_s = 0;
  double chip_fp32_flop_per_s = 0;
  double chip_fp8_flop_per_s = 0;

  // [memory]
  int partitions = 0;
  std::int64_t sbuf_partition_bytes = 0;
  std::int64_t psum_partition_bytes = 0;
  int psum_banks = 0;
  int sbuf_max_free_elements = 0;
  int psum_max_free_elements = 0;
  double sbuf_access_cycles = 0;
  double wide_stride_factor = 0;              // slower by this where neighbours are more than 16 bytes apart
  bool vector_and_scalar_share_psum = false;  // false: they take turns
  bool vector_and_gpsimd_share_sbuf = false;

  // [tensor_engine]
  int pe_rows = 0;
  int pe_columns = 0;
  double pe_clock_hz = 0;
  double fp16_flop_per_s = 0;
  double fp32_flop_per_s = 0;
  double fp8_flop_per_s = 0;
  double fp32_cycle_factor = 0;
  double fp32_transpose_cycle_factor = 0;
  double weight_load_speedup = 0;  // loading a stationary operand against multiplying one as wide
  int stationary_max_columns = 0;
  int moving_max_columns = 0;
  int matmul_min_columns = 0;  // a narrower moving operand costs as much as this one

  // [engines]
  int vector_lanes = 0;
  double vector_clock_hz = 0;
  double vector_startup_cycles = 0;
  double vector_two_input_factor = 0;  // cycles per element with two operands
  double vector_16bit_speedup = 0;     // copies and scalar operations, 16 bits, contiguous, both sides in SBUF
  double vector_16bit_strided_speedup = 0;
  double vector_16bit_two_input_speedup = 0;
  double scalar_startup_cycles = 0;
  double scalar_clock_hz = 0;
  double gpsimd_clock_hz = 0;

  // [dma]
  int dma_engines = 0;
  int dma_partitions_per_engine = 0;
  double dma_engine_bytes_per_s = 0;
  double dma_engine_peak_bytes_per_s = 0;
  double dma_issue_ns = 0;
  double dma_latency_ns = 0;
  double dma_segment_ns = 0;
  double dma_element_ns = 0;             // an element of its own: neighbours that are apart in either memory
  std::int64_t dma_efficient_bytes = 0;  // per partition; smaller payloads lose rate

  // [dispatch]
  double kernel_overhead_ns = 0;

  std::int64_t sbuf_bytes() const { return partitions * sbuf_partition_bytes; }
  std::int64_t psum_bytes() const { return partitions * psum_partition_bytes; }
  std::int64_t psum_bank_bytes() const { return psum_partition_bytes / psum_banks; }
};

// Apple silicon: one memory for every processor.
struct UnifiedSpec {
  // [chip]
  int neural_engine_cores = 0;
  double neural_engine_op_per_s = 0;
  double gpu_flop_per_s = 0;
  double launch_ns = 0;

  // [memory]
  std::int64_t memory_bytes = 0;
  std::int64_t memory_min_bytes = 0;  // the smallest configuration sold
  double memory_bytes_per_s = 0;
  std::int64_t memory_budget_bytes = 0;

  // [profile] What the optimisation guide recommends and asks of a liquid network on this device.
  int batch_min = 0;
  int batch_max = 0;
  int hidden_min = 0;
  int hidden_max = 0;
  std::vector<double> backbone_units;
  double target_flop_per_s = 0;
  double target_bytes_per_s = 0;
};

// First and last of a range.
struct IntRange {
  int first = 0;
  int last = 0;
  bool operator==(const IntRange&) const = default;
};

// Which hosts a machine file describes; what is left out holds for any. A file does not inherit it.
struct HostMatch {
  // [match]
  int priority = 0;                   // of the files that match a host, the one with the most describes it
  std::optional<std::string> vendor;  // as cpuid says it: "GenuineIntel", "AuthenticAMD"
  std::optional<int> family;          // base and extended family of cpuid added up
  std::vector<IntRange> models;       // of that family
  std::optional<Isa> isa;             // that kernels are chosen for, at least
};

// A processor that Tessera itself runs on. Rates are of one core unless they say otherwise.
struct CpuSpec {
  // [chip]
  std::string isa;  // "avx2", "avx512", "amx"
  int cores = 0;
  int vector_bits = 0;

  // [memory]
  std::int64_t l1d_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::optional<std::int64_t> l3_bytes;
  double l1_read_bytes_per_s = 0;
  double l2_read_bytes_per_s = 0;
  double l3_read_bytes_per_s = 0;
  double dram_read_bytes_per_s = 0;
  double dram_read_all_bytes_per_s = 0;  // all cores together

  // [math]
  double f32_flop_per_s = 0;
  double f32_all_flop_per_s = 0;
  std::optional<double> bf16_flop_per_s;  // the fastest way there is
  std::optional<double> bf16_all_flop_per_s;
  std::optional<double> bf16_pairs_flop_per_s;  // in vectors, products summed two by two (AVX512_BF16)
  std::optional<double> bf16_pairs_all_flop_per_s;
  std::optional<double> bf16_from_l2_flop_per_s;  // tiles loaded from L2, as a convolution does
  std::optional<double> bf16_from_l2_all_flop_per_s;
  std::optional<double> int8_op_per_s;
  std::optional<double> int8_all_op_per_s;

  std::optional<HostMatch> match;  // none: the file describes no host by itself
};

struct GpuSpec {
  // [chip]
  std::string arch;  // "sm_90a"
  int multiprocessors = 0;
  double clock_hz = 0;
  double power_w = 0;

  // [memory]
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::optional<double> memory_achieved_bytes_per_s;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes = 0;  // of one multiprocessor, all that one block may take
  std::int64_t register_file_bytes = 0;

  // [math] dense, the whole device
  double fp32_flop_per_s = 0;
  double tf32_flop_per_s = 0;
  double bf16_flop_per_s = 0;
  double fp8_flop_per_s = 0;
  double int8_op_per_s = 0;

  // [host]
  double host_link_bytes_per_s = 0;  // one direction
  std::optional<double> host_achieved_bytes_per_s;
  double peer_link_bytes_per_s = 0;
};

struct Machine {
  std::string name;    // the stem of its file
  std::string title;   // "Tenstorrent Wormhole n150"
  std::string family;  // tensix | neuron | unified | cpu | gpu; the spec of that name is the one that is set
  std::string path;    // where it was read from

  std::optional<TensixSpec> tensix;
  std::optional<NeuronSpec> neuron;
  std::optional<UnifiedSpec> unified;
  std::optional<CpuSpec> cpu;
  std::optional<GpuSpec> gpu;

  std::vector<Figure> figures;  // every number of the file, in the order of the fields above
};

// The few facts that make machines of different families comparable. Whole board: all chips of it.
struct MachineSummary {
  int cores = 0;
  std::string core_kind;                      // "Tensix", "NeuronCore", ...
  std::optional<std::int64_t> on_chip_bytes;  // memory that software places data in, or caches on a CPU
  std::optional<std::int64_t> dram_bytes;
  double peak_flop_per_s = 0;
  std::string peak_of;  // "LoFi", "bf16", "f32"
};

TSR_API MachineSummary summarize(const Machine& machine);

// The spec of one family, or an Error that says what the machine is instead.
TSR_API const TensixSpec& tensix_of(const Machine& machine);
TSR_API const NeuronSpec& neuron_of(const Machine& machine);

}  // namespace tessera
