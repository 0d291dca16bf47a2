#pragma once

// What one program does on its busiest core, as counts that a time model prices. Counts are for the whole program and
// say nothing of any clock.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::tensix {

// What a card is asked for: a transfer from or to the host, or a program of one of its operators.
enum class ProgramKind : std::uint8_t {
  to_device,
  from_device,
  copy_host_to_device,
#define CARD_OP(op) op,
#include "tessera/targets/tensix/card/card_ops.def"
#undef CARD_OP
};
TSR_API std::string_view name(ProgramKind kind);  // as its line of card_ops.def has it: "conv2d", "halo"
TSR_API std::optional<ProgramKind> program_kind(std::string_view name);

enum class OperandPlace : std::uint8_t { dram, l1, height_sharded, width_sharded, block_sharded };

// A tensor as a program meets it. Rows and columns are those that lie in memory, padding included.
struct OperandFacts {
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::bfloat16;
  Layout layout = Layout::tile;
  OperandPlace place = OperandPlace::dram;
  bool dram_shards = false;
  std::int64_t cores = 0;  // that hold shards
  Extent2d shard = {};     // elements; of sharded tensors

  bool sharded() const { return place != OperandPlace::dram && place != OperandPlace::l1; }
  bool in_dram() const { return place == OperandPlace::dram || dram_shards; }
  bool operator==(const OperandFacts&) const = default;
};

struct ProgramWork {
  ProgramKind kind = ProgramKind::unary;  // which group of programs its price was fitted with
  std::int64_t cores = 0;  // that compute or move; 0: nothing is counted yet, all follows from `operands`
  double blocks = 1;       // rounds that reader, compute and writer go through together

  // Compute. A matmul tile is a product of two 32x32 tiles.
  double matmul_tiles = 0;
  int phases = 1;                // passes of the multiplier: 1 to 4 for LoFi to HiFi4
  double unpacked_bytes = 0;     // into the matrix engine, for all matmul tiles
  double partial_tiles = 0;      // results of a block that are taken up again by the next one
  double accumulated_tiles = 0;  // the same, where the packer adds them up
  double tilized_tiles = 0;
  DType tilized_from = DType::bfloat16, tilized_to = DType::bfloat16;
  bool wide_dest = false;  // float32 in the destination register
  double untilized_tiles = 0;
  double untilized_rows = 0;                         // rows of tiles: each is a turn of the packer
  bool wide_rows = false;                            // longer than the packer untilizes at once
  double vector_tiles = 0;                           // through the vector unit: functions of one operand, conversions
  double added_tiles = 0;                            // element-wise arithmetic of two operands
  double reduced_tiles = 0;                          // windows of a pool, times tiles of channels
  double permuted_tiles = 0, permuted_rows = 0;      // element by element
  double normalized_tiles = 0, normalized_rows = 0;  // several passes with sums over all cores between them
  double packed_tiles = 0;                           // results

  // Reading and writing by the core itself.
  double window_reads = 0, window_bytes = 0;   // out of its own L1, one after the other without waiting
  double waited_reads = 0, waited_writes = 0;  // pieces of rows, each waits until it has arrived
  double waited_bytes = 0;
  double page_reads = 0, page_writes = 0;       // tiles to and from interleaved memory, one in flight at a time
  double large_window_reads = 0;                // sticks of windows that are read one by one
  double sliced_rows = 0;                       // rows whose place in a larger tensor has to be found
  double fetched_pages = 0, fetched_bytes = 0;  // from interleaved memory, many in flight
  double fetched_blocks = 0;                    // rounds that end when all of them have arrived
  double sent_pieces = 0, sent_bytes = 0;       // to other cores or to interleaved memory without waiting
  double copied_bytes = 0;                      // from one place of its L1 to another

  // What one core fetches for others.
  double weight_tiles = 0, weight_bytes = 0;   // read from DRAM, then sent to all that want them
  double weight_blocks = 0;                    // rounds of that: read, arrived, sent
  std::int64_t weight_receivers = 0;           // 0: every core reads its own
  double multicasts = 0, multicast_bytes = 0;  // blocks of activations
  std::int64_t receivers = 0;                  // of each of those

  double dram_read_bytes = 0, dram_written_bytes = 0;  // of the whole card
  std::int64_t contenders = 1;                         // cores that send over the same links at the same time
  double lists = 0;                                    // of addresses, fetched from DRAM before work begins

  // What it works on, the result last, where counts are left to who prices it.
  std::vector<OperandFacts> operands = {};

  bool activations_double_buffered = false, weights_double_buffered = false;

  bool counted() const { return cores > 0; }
  bool operator==(const ProgramWork&) const = default;
};

}  // namespace tessera::tensix
