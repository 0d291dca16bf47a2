#pragma once

// What kernels that only move elements share: copies whose loops are worked out once.

#include "tessera/kernel_plan/kernel_info.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::cpu {

// One loop of a copy; strides in elements.
struct CopyDim {
  std::int64_t extent = 1;
  std::int64_t from = 0;  // 0 repeats, negative goes backwards
  std::int64_t to = 0;    // positive
};

// to[sum of i * dim.to] = from[sum of i * dim.from] over all loops. Loops that can be one are made one, what lies
// together is copied together, and what is a transpose of matrices is done as one. Elements have 1, 2, 4 or 8 bytes.
class StridedCopy {
 public:
  StridedCopy(std::vector<CopyDim> dims, std::int64_t from_offset, std::int64_t to_offset, std::int64_t element_bytes);

  // Both sides are apart, or element for element the same: then there is nothing to do.
  void run(const std::byte* from, std::byte* to) const;

  // All of it is one piece.
  bool is_one_block() const { return dims_.empty() && !transposes_ && !empty_; }
  std::int64_t block_bytes() const { return block_bytes_; }

 private:
  void run_blocks(const std::byte* from, std::byte* to) const;
  void run_transposes(const std::byte* from, std::byte* to) const;

  bool empty_ = false, same_strides_ = true;
  std::vector<CopyDim> dims_;  // outermost first; strides in bytes
  std::int64_t block_bytes_ = 0;
  std::int64_t from_offset_ = 0, to_offset_ = 0;  // bytes
  // The loop that is contiguous in `from`, when the innermost one is contiguous in `to` alone: kept out of dims_, as is
  // the innermost one.
  bool transposes_ = false;
  CopyDim rows_, columns_;  // strides in elements
};

// to[i][j]...[block] = from[tables[0][i] + tables[1][j] + ...][block]: offsets in elements, the result contiguous; or,
// if `pixel` is not 0, with as many elements from one run of the last table to the next, which must be one piece of
// `from`.
class IndexedCopy {
 public:
  IndexedCopy(std::vector<std::vector<std::int64_t>> tables, std::int64_t element_bytes, std::int64_t pixel = 0);

  void run(const std::byte* from, std::byte* to) const;

 private:
  std::vector<std::vector<std::int64_t>> tables_;  // offsets in bytes
  std::int64_t blocks_ = 1, block_bytes_ = 0, to_step_ = 0;
};

// Elements between neighbours along each axis of the graph's shape when it lies in this order. Channels last, `pixel`
// of them from one pixel to the next, if it is not 0.
std::vector<std::int64_t> strides_of(const Shape& shape, Order order, std::int64_t pixel = 0);

// An offer that costs reading and writing once; inputs in row_major but for the first `moved`, which are in `in`.
Offer moving_offer(const Problem& problem, Order in, Order out, std::size_t moved = 1);

}  // namespace tessera::cpu
