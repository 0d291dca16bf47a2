#pragma once

// Which memory a tensor lives in and how it is spread over the banks of that memory.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/targets/tensix/card/core_grid.h"

#include <optional>
#include <string>
#include <string_view>

namespace tessera::tensix {

enum class BufferType : std::uint8_t { dram, l1, l1_small, trace };

enum class TensorMemoryLayout : std::uint8_t {
  interleaved,     // page i in bank i mod banks
  height_sharded,  // consecutive rows per core
  width_sharded,   // consecutive columns per core
  block_sharded,   // a rectangle per core of a rectangular grid
  nd_sharded,      // shards of any rank, dealt round the cores; several may land on one
};

enum class ShardOrientation : std::uint8_t { row_major, col_major };  // how shards walk over the cores
// How the shards of an nd_sharded tensor are dealt: in turn, in runs, or as a 2-D grid of shards on a grid of cores.
enum class ShardDistribution : std::uint8_t { round_robin_1d, contiguous_1d, grid_2d };
enum class ShardStrategy : std::uint8_t { height, width, block };

TSR_API std::string_view name(BufferType type);                 // "DRAM"
TSR_API std::string_view name(TensorMemoryLayout layout);       // "HEIGHT_SHARDED"
TSR_API std::string_view name(ShardOrientation orientation);    // "ROW_MAJOR"
TSR_API std::string_view name(ShardDistribution distribution);  // "ROUND_ROBIN_1D"
TSR_API std::string_view name(ShardStrategy strategy);          // "HEIGHT"

struct TSR_API ShardSpec {
  CoreRangeSet grid;
  Extent2d shape;  // in elements, of the tensor seen as a matrix
  ShardOrientation orientation = ShardOrientation::row_major;

  std::int64_t num_cores() const { return grid.num_cores(); }
  bool operator==(const ShardSpec&) const = default;
  std::string to_string() const;
};

struct TSR_API NdShardSpec {
  Shape shard_shape;
  CoreRangeSet grid;
  ShardOrientation orientation = ShardOrientation::row_major;
  ShardDistribution distribution = ShardDistribution::round_robin_1d;

  std::int64_t num_cores() const { return grid.num_cores(); }
  bool operator==(const NdShardSpec&) const = default;
  std::string to_string() const;
};

// A sharded config may leave its shard spec open, as a wish that an operation fills in; a tensor's own config never
// does.
class TSR_API MemoryConfig {
 public:
  MemoryConfig() = default;  // interleaved in DRAM
  explicit MemoryConfig(TensorMemoryLayout layout, BufferType type = BufferType::dram,
                        std::optional<ShardSpec> shard_spec = std::nullopt);
  // The layout follows from the tensor it is used for; until then it is nd_sharded.
  MemoryConfig(BufferType type, NdShardSpec shard_spec);

  TensorMemoryLayout layout() const { return layout_; }
  BufferType buffer_type() const { return buffer_type_; }
  const std::optional<ShardSpec>& shard_spec() const { return shard_spec_; }
  const std::optional<NdShardSpec>& nd_shard_spec() const { return nd_shard_spec_; }
  bool created_with_nd_shard_spec() const { return created_with_nd_shard_spec_; }
  bool is_sharded() const { return layout_ != TensorMemoryLayout::interleaved; }
  bool is_dram() const { return buffer_type_ == BufferType::dram || buffer_type_ == BufferType::trace; }
  bool is_l1() const { return buffer_type_ == BufferType::l1 || buffer_type_ == BufferType::l1_small; }

  // Both descriptions of one sharding, as TensorSpec works them out.
  MemoryConfig with_shard_specs(TensorMemoryLayout layout, std::optional<ShardSpec> shard_spec,
                                std::optional<NdShardSpec> nd_shard_spec) const;

  bool operator==(const MemoryConfig& other) const;
  std::string to_string() const;

 private:
  TensorMemoryLayout layout_ = TensorMemoryLayout::interleaved;
  BufferType buffer_type_ = BufferType::dram;
  std::optional<ShardSpec> shard_spec_;
  std::optional<NdShardSpec> nd_shard_spec_;
  bool created_with_nd_shard_spec_ = false;
};

TSR_API extern const MemoryConfig kDramMemoryConfig;
TSR_API extern const MemoryConfig kL1MemoryConfig;

}  // namespace tessera::tensix
