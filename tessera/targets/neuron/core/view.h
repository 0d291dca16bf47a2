#pragma once

// Tiles in the memories of a NeuronCore, and how instructions reach into them.
//
// A tile in SBUF or PSUM has a partition dimension first (at most 128) and free dimensions behind it; a tensor in HBM
// has any. A view is an access pattern over a tile: an offset and a size and stride for each dimension. A tile lives as
// long as a view of it; its memory is then free for others, which wait for the instructions that still use it.

#include "tessera/core/element_type.h"
#include "tessera/core/export.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

enum class Memory : std::uint8_t { hbm, sbuf, psum };
TSR_API std::string_view name(Memory memory);

struct Extent {
  std::int64_t size = 1;
  std::int64_t stride = 1;  // elements
  bool operator==(const Extent&) const = default;
};

struct Tile;  // tile.h

class TSR_API View {
 public:
  static constexpr int kMaxRank = 10;

  View() = default;
  explicit View(std::shared_ptr<Tile> tile);  // all of it

  bool empty() const { return tile_ == nullptr; }
  const Tile& tile() const { return *tile_; }
  Tile& tile() { return *tile_; }
  Memory memory() const;
  ElementType type() const;
  const std::string& tile_name() const;

  int rank() const { return rank_; }
  std::int64_t size(int dim) const { return dims_[static_cast<std::size_t>(dim)].size; }
  std::int64_t stride(int dim) const { return dims_[static_cast<std::size_t>(dim)].stride; }
  std::span<const Extent> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  std::int64_t offset() const { return offset_; }
  std::int64_t count() const;
  std::int64_t free_count() const;  // elements of one partition
  std::int64_t partitions() const { return rank_ == 0 ? 1 : size(0); }
  std::int64_t bytes() const;
  std::vector<std::int64_t> shape() const;
  std::string text() const;  // "x_tile[128, 2, 222]"

  // Elements begin, begin + step, ... of a dimension; `count` of them.
  View slice(int dim, std::int64_t begin, std::int64_t count, std::int64_t step = 1) const;
  View at(int dim, std::int64_t index) const;     // without that dimension
  View split(int dim, std::int64_t inner) const;  // [.., n, ..] as [.., n / inner, inner, ..]
  View merged(int dim) const;                     // this dimension and the next as one
  View permuted(std::initializer_list<int> order) const;
  View permuted(std::span<const int> order) const;
  View with_axis(int dim) const;                     // a dimension of size 1
  View broadcast(int dim, std::int64_t size) const;  // a dimension of size 1, read over and over
  // Any pattern over the tile of this view, from its first element on: sizes and strides (elements), checked to lie in
  // it.
  View pattern(std::int64_t offset, std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) const;
  View reshaped(std::span<const std::int64_t> shape) const;  // of a view without gaps

 private:
  std::shared_ptr<Tile> tile_;
  std::int64_t offset_ = 0;
  std::array<Extent, kMaxRank> dims_{};
  int rank_ = 0;
};

// Views with the same sizes, dimension by dimension.
TSR_API bool same_shape(const View& a, const View& b);

// Elements in a row that neighbour each other in memory, reckoned from the last dimension; 1 if the last is strided.
TSR_API std::int64_t contiguous_run(const View& view);

}  // namespace tessera::neuron
