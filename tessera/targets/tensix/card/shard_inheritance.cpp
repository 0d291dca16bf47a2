#include "tessera/targets/tensix/card/shard_inheritance.h"

#include "tessera/core/error.h"

namespace tessera::tensix {

MemoryConfig inherited_placement(const TensorSpec& from, const Shape& shape) {
  const MemoryConfig& config = from.memory_config();
  if (!config.is_sharded()) return config;
  check(config.shard_spec().has_value(), Code::unsupported, Hint{"pass a memory_config"},
        "an operation on an ND_SHARDED tensor cannot derive where its result of shape {} lies", shape.to_string());
  const TensorSpec whole(shape, from.dtype(), from.layout(),
                         MemoryConfig(TensorMemoryLayout::interleaved, config.buffer_type()), from.tile());
  const Extent2d e = whole.physical();
  const bool tiled = from.layout() == Layout::tile;
  const std::int64_t row_unit = tiled ? from.tile().height : 1, column_unit = tiled ? from.tile().width : 1;
  ShardSpec shard = *config.shard_spec();
  const std::int64_t cores = shard.num_cores();
  switch (config.layout()) {
    case TensorMemoryLayout::height_sharded:
      shard.shape = {round_up(ceil_div(e.height, cores), row_unit), e.width};
      break;
    case TensorMemoryLayout::width_sharded:
      shard.shape = {e.height, round_up(ceil_div(e.width, cores), column_unit)};
      break;
    default: {
      const CoreRange& grid = shard.grid.ranges().front();
      const bool row_major = shard.orientation == ShardOrientation::row_major;
      shard.shape = {round_up(ceil_div(e.height, row_major ? grid.rows() : grid.columns()), row_unit),
                     round_up(ceil_div(e.width, row_major ? grid.columns() : grid.rows()), column_unit)};
    }
  }
  return MemoryConfig(config.layout(), config.buffer_type(), shard);
}

}  // namespace tessera::tensix
