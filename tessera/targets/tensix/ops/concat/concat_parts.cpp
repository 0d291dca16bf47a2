#include "tessera/targets/tensix/ops/concat/concat_parts.h"

#include "tessera/targets/tensix/card/tile_side.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

bool is_tiled(const TensorSpec& x) { return x.layout() == Layout::tile; }

// All in height shards of the same rows on the same cores of L1.
bool side_by_side(std::span<const TensorSpec> parts) {
  const auto& first = parts.front().memory_config().shard_spec();
  return std::ranges::all_of(parts, [&](const TensorSpec& x) {
    const MemoryConfig& memory = x.memory_config();
    const auto& own = memory.shard_spec();
    return memory.is_l1() && memory.layout() == TensorMemoryLayout::height_sharded && own && own->grid == first->grid &&
           own->orientation == first->orientation && own->shape.height == first->shape.height;
  });
}

bool same_kind(std::span<const TensorSpec> parts) {
  return std::ranges::all_of(parts, [&](const TensorSpec& x) {
    return x.dtype() == parts.front().dtype() && x.layout() == parts.front().layout();
  });
}

// A shard has no columns but those of the image: what is joined has no gaps.
bool is_full(const TensorSpec& x) { return x.memory_config().shard_spec()->shape.width == x.logical_shape()[3]; }

// The same once it is rows: untilizing leaves the padding of tiles behind, unless cores have nothing of it.
bool is_full_as_rows(const TensorSpec& x) {
  const ShardSpec& shards = *x.memory_config().shard_spec();
  return is_tiled(x) ? round_up(ceil_div(x.logical_shape()[2], shards.num_cores()), kTile) == shards.shape.height
                     : is_full(x);
}

}  // namespace

std::optional<JoinedParts> join_in_shards(std::span<const TensorSpec> parts, const ConcatLayer& layer,
                                          const LayerConfig& config) {
  if (!layer.joins_in_place() || parts.empty() || !side_by_side(parts)) return std::nullopt;
  const bool alike = same_kind(parts), asked = config.gives("output_layout");
  if (!alike && !asked) return std::nullopt;
  // Groups are interleaved by a program that takes two tensors.
  if (layer.groups > 1 && parts.size() != 2) return std::nullopt;
  JoinedParts out;
  out.layout = asked ? config.conv.output_layout : parts.front().layout();
  const bool tiles = out.layout == Layout::tile, converts = !alike || out.layout != parts.front().layout();
  const bool exact = tiles || converts || layer.groups > 1;
  if (exact && !std::ranges::all_of(parts, tiles ? is_full : is_full_as_rows)) return std::nullopt;
  ShardSpec shards = *parts.front().memory_config().shard_spec();
  if (tiles && shards.shape.height % kTile != 0) return std::nullopt;
  shards.shape.width = 0;
  for (const TensorSpec& x : parts) {
    if (tiles && x.logical_shape()[3] % kTile != 0) return std::nullopt;
    if (!tiles && is_tiled(x) && x.dtype() != DType::bfloat8_b && x.dtype() != DType::bfloat16) return std::nullopt;
    if (!tiles && !is_tiled(x) && converts && x.dtype() != DType::bfloat16) return std::nullopt;
    shards.shape.width += exact ? x.logical_shape()[3] : x.memory_config().shard_spec()->shape.width;
  }
  out.dtype = !converts ? parts.front().dtype() : tiles ? config.dtype.value_or(DType::bfloat16) : DType::bfloat16;
  out.memory = MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1, shards);
  return out;
}

}  // namespace tessera::tensix
