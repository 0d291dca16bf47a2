#include "tessera/targets/tensix/card/page_map.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

int bank_of(const CoreCoord& core, const BankGrid& banks, BufferType type) {
  if (!banks.contains(core))
    fail(Code::invalid_argument,
         Hint{"take the grid from the device (compute_with_storage_grid_size() for L1, dram_grid_size() for DRAM); "
              "a harvested card has fewer cores than a whole one"},
         "the shard grid names core ({}, {}), which has no {} bank on this device of {} banks", core.x, core.y,
         name(type), banks.count());
  return banks.index(core);
}

}  // namespace

PageMap::PageMap(const TensorSpec& spec, const BankGrid& banks)
    : bank_count_(banks.count()),
      num_pages_(spec.num_pages()),
      page_dims_(spec.page_dims()),
      shard_dims_(spec.shard_page_dims()) {
  const MemoryConfig& config = spec.memory_config();
  sharded_ = config.is_sharded();
  if (!sharded_) {
    interleave_ = banks_used_ = banks.count();
    slots_per_bank_ = interleave_ == 0 ? 0 : ceil_div(num_pages_, interleave_);
    return;
  }
  const NdShardSpec& shard = *config.nd_shard_spec();
  distribution_ = shard.distribution;
  shard_counts_ = spec.shard_counts();
  pages_per_shard_ = spec.pages_per_shard();
  const std::int64_t shards = spec.num_shards();
  const bool row_major = shard.orientation == ShardOrientation::row_major;

  if (distribution_ == ShardDistribution::grid_2d) {
    // Only the corner of the grid that receives shards has to exist. Shard (i, j) sits at row i, column j, or
    // transposed.
    const CoreCoord origin = shard.grid.ranges().front().start;
    for (std::int64_t i = 0; i < shard_counts_[0]; ++i)
      for (std::int64_t j = 0; j < shard_counts_[1]; ++j) {
        const int down = static_cast<int>(row_major ? i : j), right = static_cast<int>(row_major ? j : i);
        deal_.push_back(bank_of({origin.x + right, origin.y + down}, banks, config.buffer_type()));
      }
    banks_used_ = static_cast<int>(shards);
    slots_per_bank_ = shards == 0 ? 0 : pages_per_shard_;
    return;
  }
  for (const CoreCoord& core : shard.grid.cores(row_major)) deal_.push_back(bank_of(core, banks, config.buffer_type()));
  const std::int64_t places = static_cast<std::int64_t>(deal_.size());
  shards_per_run_ = ceil_div(shards, places);
  banks_used_ = static_cast<int>(distribution_ == ShardDistribution::contiguous_1d && shards_per_run_ > 0
                                     ? ceil_div(shards, shards_per_run_)
                                     : std::min(shards, places));
  slots_per_bank_ = shards_per_run_ * pages_per_shard_;
}

PagePlace PageMap::place(std::int64_t page) const {
  if (!sharded_) return {static_cast<int>(page % interleave_), page / interleave_};
  std::int64_t shard = 0, inside = 0, shard_stride = 1, inside_stride = 1;
  for (std::size_t i = page_dims_.size(); i-- > 0;) {
    const std::int64_t at = page % page_dims_[i];
    page /= page_dims_[i];
    shard += at / shard_dims_[i] * shard_stride;
    inside += at % shard_dims_[i] * inside_stride;
    shard_stride *= shard_counts_[i];
    inside_stride *= shard_dims_[i];
  }
  switch (distribution_) {
    case ShardDistribution::grid_2d: return {deal_[static_cast<std::size_t>(shard)], inside};
    case ShardDistribution::contiguous_1d:
      return {deal_[static_cast<std::size_t>(shard / shards_per_run_)],
              shard % shards_per_run_ * pages_per_shard_ + inside};
    case ShardDistribution::round_robin_1d: break;
  }
  const std::int64_t places = static_cast<std::int64_t>(deal_.size());
  return {deal_[static_cast<std::size_t>(shard % places)], shard / places * pages_per_shard_ + inside};
}

// Shard by shard: all pages of one lie where its first one does. Those at the far edges of the tensor hold what is
// left.
std::vector<std::int64_t> PageMap::pages_by_bank() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bank_count_));
  if (num_pages_ == 0) return counts;
  if (!sharded_) {
    for (std::int64_t bank = 0; bank < interleave_; ++bank)
      counts[static_cast<std::size_t>(bank)] = num_pages_ / interleave_ + (bank < num_pages_ % interleave_ ? 1 : 0);
    return counts;
  }
  std::int64_t shards = 1;
  for (const std::int64_t count : shard_counts_) shards *= count;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    std::int64_t rest = shard, first = 0, pages = 1, stride = 1;
    for (std::size_t i = page_dims_.size(); i-- > 0;) {
      const std::int64_t begin = rest % shard_counts_[i] * shard_dims_[i];
      rest /= shard_counts_[i];
      first += begin * stride;
      pages *= std::min(page_dims_[i] - begin, shard_dims_[i]);
      stride *= page_dims_[i];
    }
    counts[static_cast<std::size_t>(place(first).bank)] += pages;
  }
  return counts;
}

}  // namespace tessera::tensix
