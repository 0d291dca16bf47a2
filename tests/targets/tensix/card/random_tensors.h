#pragma once

// Random tensors and random legal places for them.

#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <cstring>
#include <random>

namespace tessera::tensix::testing_random {

using Rng = std::mt19937_64;

inline std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(rng);
}

template <class T>
const T& pick(Rng& rng, const std::vector<T>& from) {
  return from[static_cast<std::size_t>(between(rng, 0, static_cast<std::int64_t>(from.size()) - 1))];
}

inline Shape shape(Rng& rng, std::int64_t largest = 130) {
  const int rank = static_cast<int>(between(rng, 1, 4));
  std::vector<std::int64_t> dims;
  for (int i = 0; i < rank; ++i) dims.push_back(between(rng, 1, i + 2 < rank ? 3 : largest));
  return Shape(std::move(dims));
}

// Bits of any kind, NaN and infinities included: moves must not look at them.
inline std::vector<std::byte> bits(Rng& rng, std::int64_t size_bytes) {
  std::vector<std::byte> out(static_cast<std::size_t>(size_bytes));
  for (std::byte& b : out) b = static_cast<std::byte>(rng());
  return out;
}

// A tensor of random bits (block floats: of random values, which then are what they are).
inline Tensor tensor(Rng& rng, const Shape& shape, DType dtype, Layout layout) {
  if (!is_block_float(dtype))
    return Tensor::from_elements(bits(rng, shape.volume() * element_bytes(dtype)), dtype, shape, dtype, layout);
  std::vector<float> values(static_cast<std::size_t>(shape.volume()));
  std::normal_distribution<float> normal(0, 3);
  for (float& v : values) v = normal(rng);
  return Tensor::from_float32(values, shape, dtype, layout);
}

// A memory config that is legal for the tensor on a card of grid_x x grid_y cores.
inline MemoryConfig place(Rng& rng, const Shape& shape, DType dtype, Layout layout, int grid_x, int grid_y,
                          int dram_banks) {
  const BufferType type = between(rng, 0, 3) == 0 ? BufferType::dram : BufferType::l1;
  const TensorSpec plain(shape, dtype, layout, MemoryConfig(TensorMemoryLayout::interleaved, type));
  const int columns = type == BufferType::dram ? dram_banks : grid_x, rows = type == BufferType::dram ? 1 : grid_y;
  const int w = static_cast<int>(between(rng, 1, columns)), h = static_cast<int>(between(rng, 1, rows));
  const CoreRange rectangle({0, 0}, {w - 1, h - 1});
  const ShardOrientation orientation =
      between(rng, 0, 1) == 0 ? ShardOrientation::row_major : ShardOrientation::col_major;
  if (layout == Layout::row_major && shape.rank() == 1)
    return plain.memory_config();  // 2-D shards need two dimensions there
  switch (between(rng, 0, 4)) {
    case 0: return plain.memory_config();
    case 1: {
      const int extra = static_cast<int>(between(rng, 0, w - 1));
      std::vector<CoreRange> ranges{rectangle};
      if (h < rows) ranges.emplace_back(CoreCoord{0, h}, CoreCoord{extra, h});
      return plain.height_sharded(CoreRangeSet(ranges), orientation).memory_config();
    }
    case 2: return plain.width_sharded(rectangle, orientation).memory_config();
    case 3: return plain.block_sharded(rectangle, orientation).memory_config();
    default: {
      // The explicit 2-D spec, with more cores than shards.
      const TensorSpec derived = plain.height_sharded(rectangle, orientation);
      const Extent2d e = plain.physical();
      const Shape& shard = derived.memory_config().nd_shard_spec()->shard_shape;
      return MemoryConfig(TensorMemoryLayout::height_sharded, type,
                          ShardSpec{rectangle, {shard[0], e.width}, orientation});
    }
  }
}

}  // namespace tessera::tensix::testing_random
