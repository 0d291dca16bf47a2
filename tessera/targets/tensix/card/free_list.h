#pragma once

// The allocator of one bank: a list of neighbouring blocks, free ones also filed by size class.
//
// It follows the policy of TTNN's device allocator, because addresses and out-of-memory answers depend on it: first fit
// by address. Growing up it takes the lowest free block that is large enough and cuts from its lower end, growing down
// the highest and from its upper end. Freed blocks join their free neighbours at once. Block ids are kept in the same
// way too, since memory reports show them.

#include "tessera/core/export.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tessera::tensix {

class TSR_API FreeList {
 public:
  static constexpr std::int64_t kSmallestClassBytes = 1024;
  static constexpr int kNoBlock = -1;

  struct Block {
    std::int64_t address = 0;
    std::int64_t size_bytes = 0;
    int previous = kNoBlock;
    int next = kNoBlock;
    bool allocated = false;
    bool in_use = true;  // false: the slot of this id is waiting to be used again
  };

  FreeList() = default;
  // Manages addresses [0, size_bytes); every allocation is rounded up to alignment_bytes.
  FreeList(std::int64_t size_bytes, std::int64_t alignment_bytes);

  // The address, or nothing when no free block is large enough. Sizes below one alignment unit take one unit.
  std::optional<std::int64_t> allocate(std::int64_t size_bytes, bool bottom_up);
  // Precondition: address came from allocate() and was not freed since.
  void deallocate(std::int64_t address);
  // Frees everything; block ids start anew.
  void clear();

  std::int64_t size_bytes() const { return size_bytes_; }
  std::int64_t allocated_bytes() const { return allocated_bytes_; }
  std::int64_t free_bytes() const { return size_bytes_ - allocated_bytes_; }
  std::int64_t largest_free_block_bytes() const;
  // Lowest address in use, if any: what circular buffers growing from below must not reach.
  std::optional<std::int64_t> lowest_allocated_address() const;

  // For reports.
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<int>& unused_block_ids() const { return unused_ids_; }
  const std::vector<std::vector<int>>& free_blocks_by_class() const { return classes_; }

 private:
  int size_class(std::int64_t size_bytes) const;
  int new_block(const Block& block);
  void file_free_block(int id);
  void unfile_free_block(int id);
  void retire_block(int id);

  std::int64_t size_bytes_ = 0;
  std::int64_t alignment_bytes_ = 1;
  std::int64_t allocated_bytes_ = 0;
  std::vector<Block> blocks_;
  std::vector<int> unused_ids_;            // a stack: the id freed last is used first
  std::vector<std::vector<int>> classes_;  // ids of free blocks by size class, ordered by address
  std::map<std::int64_t, int> allocated_;  // address -> block id
};

}  // namespace tessera::tensix
