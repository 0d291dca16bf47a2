#pragma once

// What a tensor is and how it is cut into pages and shards: shape, dtype, layout, tile and memory config, checked
// against each other by the rules of TTNN. Nothing here knows a device; page_map.h adds the banks.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::tensix {

// How far TensorSpec::sharded may round a given shard up.
enum class ShardAlignment : std::uint8_t {
  none,         // take it as it is
  required,     // to whole tiles in TILE layout
  recommended,  // and to 64-byte rows in ROW_MAJOR layout, so that every row starts where a transfer may start
};

class TSR_API TensorSpec {
 public:
  // Refuses combinations that do not exist: block floats in ROW_MAJOR, shards that are no whole tiles, more shards than
  // cores, ... A memory config with an n-D shard spec comes back with its 2-D equivalent where one exists.
  TensorSpec(Shape shape, DType dtype, Layout layout, MemoryConfig memory_config = {}, Tile tile = {});

  const Shape& logical_shape() const { return logical_shape_; }
  const Shape& padded_shape() const { return padded_shape_; }
  Extent2d physical() const { return padded_shape_.as_2d(); }  // the padded tensor as a matrix
  DType dtype() const { return dtype_; }
  Layout layout() const { return layout_; }
  const Tile& tile() const { return tile_; }
  const MemoryConfig& memory_config() const { return memory_config_; }

  // A page is what lies in one piece: a tile, or a row (of the shard, if sharded).
  std::int64_t page_bytes() const { return page_bytes_; }
  std::int64_t num_pages() const;
  // Pages along each dimension of the tensor as it is sharded (interleaved: seen as a matrix).
  const std::vector<std::int64_t>& page_dims() const { return page_dims_; }
  // Pages along each dimension of one shard; empty if interleaved.
  const std::vector<std::int64_t>& shard_page_dims() const { return shard_page_dims_; }
  // Shards along each dimension; empty if interleaved.
  std::vector<std::int64_t> shard_counts() const;
  std::int64_t num_shards() const;
  std::int64_t pages_per_shard() const;

  // The same tensor with another placement. The grid must not be empty and the tensor must hold something.
  TensorSpec height_sharded(const CoreRangeSet& grid, ShardOrientation orientation = ShardOrientation::row_major) const;
  TensorSpec width_sharded(const CoreRangeSet& grid, ShardOrientation orientation = ShardOrientation::row_major) const;
  TensorSpec block_sharded(const CoreRangeSet& grid, ShardOrientation orientation = ShardOrientation::row_major) const;
  // One shard per index of the given dimensions (or tile, in the last two): the smallest shards there are.
  TensorSpec sharded_across_dims(std::span<const int> dims, const CoreRangeSet& grid,
                                 ShardOrientation orientation = ShardOrientation::row_major) const;
  TensorSpec sharded_across_dims_except(std::span<const int> dims, const CoreRangeSet& grid,
                                        ShardOrientation orientation = ShardOrientation::row_major) const;
  TensorSpec sharded(const NdShardSpec& shard, ShardAlignment alignment) const;
  TensorSpec with_memory_config(MemoryConfig memory_config) const;

  bool operator==(const TensorSpec&) const = default;
  std::string to_string() const;

 private:
  std::int64_t smallest_shard(int dim) const;  // elements; dim counts from the front of the padded shape
  TensorSpec across(const std::vector<bool>& split, const CoreRangeSet& grid, ShardOrientation orientation) const;
  void cut_into_pages();

  Shape logical_shape_;
  Shape padded_shape_;
  DType dtype_ = DType::bfloat16;
  Layout layout_ = Layout::row_major;
  Tile tile_;
  MemoryConfig memory_config_;
  std::int64_t page_bytes_ = 0;
  std::vector<std::int64_t> page_dims_;
  std::vector<std::int64_t> shard_page_dims_;
};

}  // namespace tessera::tensix
