#pragma once

// What programs that walk over whole tensors do: moves, conversions of layout and type, element-wise ones. Their counts
// follow from the tensors; each operator's row says how (CardOp::count).

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::tensix {

// The result is the last operand. `cores`: 0 where the tensors say which. An operator without such counts is refused.
TSR_API ProgramWork tensor_work(ProgramKind kind, std::span<const OperandFacts> operands, std::int64_t cores = 0);

bool tiled(const OperandFacts& x);
double tiles_of(const OperandFacts& x);
double row_bytes(const OperandFacts& x);
double bytes_of(const OperandFacts& x);
double page_bytes(const OperandFacts& x);
double dram_bytes_of(const OperandFacts& x);  // 0 in L1

// What the busiest of some cores has of a tensor: a shard, or its share of tiles or rows.
struct TensorShare {
  double tiles = 0, tile_rows = 0, rows = 0, bytes = 0;
};

// The counts of one program while they are made.
struct TensorWork {
  std::span<const OperandFacts> operands;  // the result last
  std::int64_t cores = 1;
  ProgramWork work = {};

  const OperandFacts& in(std::size_t i = 0) const;
  const OperandFacts& out() const { return operands.back(); }
  std::size_t inputs() const;  // at least one: a program without operands writes over its result
  TensorShare share_of(const OperandFacts& x) const;

  // Tiles one by one, each waited for while the one before it is computed.
  void page_by_page(std::size_t inputs);
  void all_dram();
  // Every tile once through the vector unit, or through arithmetic of two operands.
  void element_wise(std::size_t inputs, bool two_operands);
};

// Shared by several operators.
void count_copied_pages(TensorWork& w);     // the same pages elsewhere
void count_streamed_rows(TensorWork& w);    // every row of the result is written once, rows of the input read once
void count_rearranged(TensorWork& w);       // element by element
void count_normalized_rows(TensorWork& w);  // several passes, with sums over all cores between them

}  // namespace tessera::tensix
