#include "tessera/targets/tensix/card/shard_rules.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

#include <functional>
#include <numeric>

namespace tessera::tensix {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t product(Dims::const_iterator begin, Dims::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

// Rows of one shard follow each other in the flattened tensor: outer shard extents are 1, one dimension is split
// (evenly, if there is anything outside it), and the dimensions inside it are whole.
bool rows_are_contiguous(const Dims& dims, const Dims& shard) {
  std::size_t split = 0;
  while (split + 2 < dims.size() && shard[split] == 1) ++split;
  for (std::size_t i = split + 1; i + 1 < dims.size(); ++i)
    if (shard[i] != dims[i]) return false;
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(split);
  return product(dims.begin(), at) == 1 || (dims.size() > 1 && *at % shard[split] == 0);
}

void check_height(std::int64_t shards, std::int64_t cores) {
  check(shards <= cores, Code::invalid_argument,
        "height sharding: {} shards along the height are more than the {} cores of the grid", shards, cores);
}

}  // namespace

Dims folded_dims(const Shape& padded, int rank) {
  const Dims& dims = padded.dims();
  const std::size_t fold = dims.size() - static_cast<std::size_t>(rank) + 1;  // leading dims that become one
  Dims out{product(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(fold))};
  out.insert(out.end(), dims.begin() + static_cast<std::ptrdiff_t>(fold), dims.end());
  return out;
}

void check_shard_is_tiles(const ShardSpec& shard, const Tile& tile) {
  check(shard.shape.height % tile.height == 0 && shard.shape.width % tile.width == 0, Code::invalid_argument,
        Hint{"round the shard up to whole tiles, or use ROW_MAJOR layout"},
        "the shard ({}, {}) is not made of whole tiles of {}", shard.shape.height, shard.shape.width, tile.to_string());
}

void check_shard_is_tiles(const NdShardSpec& shard, const Tile& tile) {
  const Shape& s = shard.shard_shape;
  check(s.rank() >= 2 && s[-1] % tile.width == 0 && s[-2] % tile.height == 0, Code::invalid_argument,
        Hint{"round the last two extents of the shard up to whole tiles"},
        "the shard {} is not made of whole tiles of {}", s.to_string(), tile.to_string());
}

void check_shard_fits(TensorMemoryLayout layout, const ShardSpec& shard, const Extent2d& physical) {
  const auto check_positive = [&] {
    check(shard.shape.height > 0 && shard.shape.width > 0, Code::invalid_argument,
          "a shard of [{}, {}] holds nothing: both extents must be greater than 0", shard.shape.height,
          shard.shape.width);
  };
  const std::int64_t cores = shard.num_cores();
  const auto along_height = [&] { return ceil_div(physical.height, shard.shape.height); };
  const auto along_width = [&] { return ceil_div(physical.width, shard.shape.width); };

  if (layout == TensorMemoryLayout::height_sharded) {
    if (shard.shape.height == 0 && shard.shape.width == 0) check_positive();
    check(shard.shape.width == physical.width, Code::invalid_argument,
          Hint{"a height shard holds whole rows: make it as wide as the padded tensor"},
          "height sharding: the shard is {} wide, the padded tensor {}", shard.shape.width, physical.width);
    if (physical.width > 0) check_positive();
    check_height(along_height(), cores);
  } else if (layout == TensorMemoryLayout::width_sharded) {
    if (shard.shape.height == 0 && shard.shape.width == 0) check_positive();
    check(shard.shape.height == physical.height, Code::invalid_argument,
          Hint{"a width shard holds whole columns: make it as high as the padded tensor"},
          "width sharding: the shard is {} high, the padded tensor {}", shard.shape.height, physical.height);
    if (physical.height > 0) check_positive();
    check(along_width() <= cores, Code::invalid_argument,
          "width sharding: {} shards along the width are more than the {} cores of the grid", along_width(), cores);
  } else {
    check(shard.grid.ranges().size() == 1, Code::invalid_argument, Hint{"give one CoreRange"},
          "block sharding: the grid must be one rectangle of cores, not {}", shard.grid.to_string());
    check_positive();
    const CoreRange& grid = shard.grid.ranges().front();
    const bool row_major = shard.orientation == ShardOrientation::row_major;
    const int height_cores = row_major ? grid.rows() : grid.columns();
    const int width_cores = row_major ? grid.columns() : grid.rows();
    const std::string_view order = row_major ? "row" : "column";
    check(along_height() <= height_cores, Code::invalid_argument,
          "block sharding, {} major: {} shards along the height are more than the {} {} of the grid", order,
          along_height(), height_cores, row_major ? "rows" : "columns");
    check(along_width() <= width_cores, Code::invalid_argument,
          "block sharding, {} major: {} shards along the width are more than the {} {} of the grid", order,
          along_width(), width_cores, row_major ? "columns" : "rows");
  }
}

void check_shard_fits(const NdShardSpec& shard, const Shape& padded) {
  const Shape& s = shard.shard_shape;
  check(s.rank() >= 1, Code::invalid_argument, "a shard needs at least one dimension");
  for (std::int64_t d : s)
    check(d > 0, Code::invalid_argument, "a shard of {} holds nothing: every extent must be greater than 0",
          s.to_string());
  check(s.rank() <= padded.rank(), Code::invalid_argument, Hint{"leave out leading extents of the shard"},
        "a tensor of rank {} cannot have shards of rank {}", padded.rank(), s.rank());
  check(!shard.grid.empty(), Code::invalid_argument, "a sharded tensor needs at least one core, its grid is empty");
  if (shard.distribution != ShardDistribution::grid_2d) return;
  check(s.rank() == 2, Code::invalid_argument, "GRID_2D distribution deals shards of rank 2, not {}", s.to_string());
  check(shard.grid.ranges().size() == 1, Code::invalid_argument,
        "GRID_2D distribution needs one rectangle of cores, not {}", shard.grid.to_string());
  const Dims dims = folded_dims(padded, 2);
  const CoreRange& grid = shard.grid.ranges().front();
  const bool row_major = shard.orientation == ShardOrientation::row_major;
  const int height_cores = row_major ? grid.rows() : grid.columns();
  const int width_cores = row_major ? grid.columns() : grid.rows();
  check(ceil_div(dims[0], s[0]) <= height_cores, Code::invalid_argument,
        "GRID_2D distribution: {} shards along the height are more than the {} cores there", ceil_div(dims[0], s[0]),
        height_cores);
  check(ceil_div(dims[1], s[1]) <= width_cores, Code::invalid_argument,
        "GRID_2D distribution: {} shards along the width are more than the {} cores there", ceil_div(dims[1], s[1]),
        width_cores);
}

std::optional<Sharding2d> as_2d_sharding(const NdShardSpec& nd, const Shape& padded) {
  if (nd.distribution == ShardDistribution::contiguous_1d || nd.shard_shape.rank() > padded.rank()) return std::nullopt;
  const Dims dims = folded_dims(padded, nd.shard_shape.rank());
  const Dims& shard = nd.shard_shape.dims();
  Dims counts(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) counts[i] = ceil_div(dims[i], shard[i]);
  const std::int64_t along_height = product(counts.begin(), counts.end() - 1);
  const std::int64_t along_width = counts.back();
  if (along_height * along_width > nd.num_cores()) return std::nullopt;

  const ShardSpec spec{nd.grid, {product(shard.begin(), shard.end() - 1), shard.back()}, nd.orientation};
  if (nd.distribution == ShardDistribution::grid_2d) return Sharding2d{TensorMemoryLayout::block_sharded, spec};
  if (along_height == 1) return Sharding2d{TensorMemoryLayout::width_sharded, spec};
  if (!rows_are_contiguous(dims, shard)) return std::nullopt;
  if (along_width == 1 && shard.back() == dims.back()) return Sharding2d{TensorMemoryLayout::height_sharded, spec};
  if (nd.grid.ranges().size() != 1) return std::nullopt;
  const CoreRange& grid = nd.grid.ranges().front();
  const bool walks_like_a_block = nd.orientation == ShardOrientation::row_major
                                      ? along_width == grid.columns() && along_height <= grid.rows()
                                      : along_height == grid.columns() && along_width <= grid.rows();
  if (walks_like_a_block) return Sharding2d{TensorMemoryLayout::block_sharded, spec};
  return std::nullopt;
}

NdShardSpec as_nd_sharding(TensorMemoryLayout layout, const ShardSpec& shard) {
  return {Shape{shard.shape.height, shard.shape.width}, shard.grid, shard.orientation,
          layout == TensorMemoryLayout::block_sharded ? ShardDistribution::grid_2d : ShardDistribution::round_robin_1d};
}

}  // namespace tessera::tensix
