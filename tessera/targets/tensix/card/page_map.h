#pragma once

// Where every page of a tensor lies on a device: in which bank, and in which slot of the tensor's piece of that bank.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

// The banks of a memory as programs name them: L1 banks by core, DRAM banks by (bank, 0).
struct BankGrid {
  int columns = 0;
  int rows = 0;
  int count() const { return columns * rows; }
  bool contains(const CoreCoord& core) const { return core.x >= 0 && core.y >= 0 && core.x < columns && core.y < rows; }
  int index(const CoreCoord& core) const { return core.y * columns + core.x; }
  CoreCoord core(int bank) const { return {bank % columns, bank / columns}; }
};

struct PagePlace {
  int bank = 0;
  std::int64_t slot = 0;
  bool operator==(const PagePlace&) const = default;
};

class TSR_API PageMap {
 public:
  // Refuses a shard grid with a core that the memory has no bank for.
  PageMap(const TensorSpec& spec, const BankGrid& banks);

  std::int64_t num_pages() const { return num_pages_; }
  // Banks that hold pages: all of them for interleaved tensors.
  int banks_used() const { return banks_used_; }
  // Page slots that every bank reserves: whole shards, also where the last one is partly empty.
  std::int64_t slots_per_bank() const { return slots_per_bank_; }

  PagePlace place(std::int64_t page) const;
  // Pages that each bank of the memory holds, by bank.
  std::vector<std::int64_t> pages_by_bank() const;

 private:
  bool sharded_ = false;
  int bank_count_ = 0;
  std::int64_t num_pages_ = 0;
  int banks_used_ = 0;
  std::int64_t slots_per_bank_ = 0;
  // Interleaved: how many banks take turns. Sharded: the bank of each place that shards are dealt to.
  int interleave_ = 0;
  std::vector<int> deal_;
  std::int64_t shards_per_run_ = 1;  // contiguous_1d: how many follow each other on one bank
  ShardDistribution distribution_ = ShardDistribution::round_robin_1d;
  std::vector<std::int64_t> page_dims_, shard_dims_, shard_counts_;
  std::int64_t pages_per_shard_ = 0;
};

}  // namespace tessera::tensix
