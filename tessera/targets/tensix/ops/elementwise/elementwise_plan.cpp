#include "tessera/targets/tensix/ops/elementwise/elementwise_plan.h"

#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/placement.h"

namespace tessera::tensix {
namespace {

bool in_shards(const TensorSpec& x) { return x.memory_config().is_l1() && x.memory_config().shard_spec().has_value(); }

bool same_shards(const TensorSpec& a, const TensorSpec& b) {
  return in_shards(a) && in_shards(b) && a.memory_config().layout() == b.memory_config().layout() &&
         a.memory_config().shard_spec() == b.memory_config().shard_spec();
}

std::int64_t extent(const TensorSpec& x, int from_last) {
  const Shape& shape = x.logical_shape();
  return shape.rank() < from_last ? 1 : shape[shape.rank() - from_last];
}

}  // namespace

std::vector<CircularBuffer> plan_unary(const TensorSpec& x, const TensorSpec& y, const CoreRangeSet& cores) {
  if (same_shards(x, y)) return {};
  return {{"in", cores, 2 * tile_bytes(x.dtype())}, {"out", cores, 2 * tile_bytes(y.dtype())}};
}

std::vector<CircularBuffer> plan_binary(const BinaryProgram& p, const CoreRangeSet& cores) {
  const TensorSpec& y = *p.y;
  const TensorSpec& any = p.a != nullptr ? *p.a : *p.b;
  const bool rows_repeat = p.a != nullptr && p.b != nullptr && extent(*p.a, 2) != extent(*p.b, 2);
  const bool columns_repeat = p.a != nullptr && p.b != nullptr && extent(*p.a, 1) != extent(*p.b, 1);
  // Shards stay where they are if all tensors are cut alike, or if b is one number or column for each row of a.
  const bool lone = p.a == nullptr || p.b == nullptr || (columns_repeat && extent(*p.b, 1) == 1);
  const bool in_place = same_shards(any, y) && (lone ? p.a != nullptr : same_shards(*p.b, y));
  std::vector<CircularBuffer> out;
  const auto add = [&](const char* name, std::int64_t bytes) { out.push_back({name, cores, bytes}); };
  const auto shard_bytes = [](const TensorSpec& x) {
    const Extent2d& shard = x.memory_config().shard_spec()->shape;
    return shard.height / kTile * (shard.width / kTile) * tile_bytes(DType::bfloat16);
  };
  const auto operand = [&](const char* name, const TensorSpec* x, bool before) {
    if (x == nullptr) {
      add(name, tile_bytes(any.dtype() == DType::float32 ? DType::float32 : DType::bfloat16));
      return;
    }
    const bool stays = in_place && same_shards(*x, y);
    if (!stays) add(name, 2 * tile_bytes(x->dtype()));
    if (before) add("activated", stays ? 2 * shard_bytes(*x) : tile_bytes(DType::bfloat16));
  };
  operand("a", p.a, p.a_activations);
  operand("b", p.b, p.b_activations);
  if (rows_repeat || columns_repeat) add("repeated", 2 * tile_bytes(any.dtype()));
  if (!in_place) add("out", 2 * tile_bytes(y.dtype()));
  return out;
}

}  // namespace tessera::tensix
