#include "tessera/targets/tensix/card/tensor_spec.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/shard_rules.h"

#include <functional>
#include <numeric>

namespace tessera::tensix {
namespace {

// Rows that start on this boundary can be moved by any engine of the card.
constexpr std::int64_t kRowAlignmentBytes = 64;
// The page of a ROW_MAJOR tensor that holds nothing.
constexpr std::int64_t kEmptyPageBytes = 4;

std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// Width of a shard in elements; nothing for interleaved tensors.
std::optional<std::int64_t> shard_width(const MemoryConfig& config) {
  if (!config.is_sharded()) return std::nullopt;
  if (config.created_with_nd_shard_spec()) return config.nd_shard_spec()->shard_shape[-1];
  return config.shard_spec()->shape.width;
}

Shape pad_to_tiles(const Shape& shape, const Tile& tile) {
  std::vector<std::int64_t> dims = shape.dims();
  while (dims.size() < 2) dims.insert(dims.begin(), 1);
  dims[dims.size() - 2] = round_up(dims[dims.size() - 2], tile.height);
  dims[dims.size() - 1] = round_up(dims[dims.size() - 1], tile.width);
  return Shape(std::move(dims));
}

// Rows are as long as a whole number of shards.
Shape pad_rows(const Shape& shape, const MemoryConfig& config) {
  std::vector<std::int64_t> dims = shape.dims();
  if (dims.empty()) dims.push_back(1);
  const std::optional<std::int64_t> width = shard_width(config);
  if (width && *width == 0) {
    check(config.layout() == TensorMemoryLayout::height_sharded, Code::invalid_argument,
          "a ROW_MAJOR tensor is padded to whole shards, so the shard width must be greater than 0");
  } else if (width) {
    dims.back() = round_up(dims.back(), *width);
  }
  return Shape(std::move(dims));
}

void check_has_shard_spec(const MemoryConfig& config) {
  const bool has =
      config.created_with_nd_shard_spec() ? config.nd_shard_spec().has_value() : config.shard_spec().has_value();
  check(has || !config.is_sharded(), Code::invalid_argument,
        Hint{"pass a ShardSpec, or derive one with TensorSpec.height_sharded, width_sharded or block_sharded"},
        "a {} tensor needs a shard spec, and the memory config has none", name(config.layout()));
}

}  // namespace

TensorSpec::TensorSpec(Shape shape, DType dtype, Layout layout, MemoryConfig memory_config, Tile tile)
    : logical_shape_(std::move(shape)),
      dtype_(dtype),
      layout_(layout),
      tile_(tile),
      memory_config_(std::move(memory_config)) {
  check_tile(tile_);
  check(layout_ == Layout::tile || tile_ == Tile{}, Code::invalid_argument,
        Hint{"use TILE layout, or leave the tile out"}, "a ROW_MAJOR tensor has no tiles, but a tile of {} was given",
        tile_.to_string());
  check_has_shard_spec(memory_config_);
  const bool nd = memory_config_.created_with_nd_shard_spec();
  if (memory_config_.is_sharded() && layout_ == Layout::tile) {
    if (nd)
      check_shard_is_tiles(*memory_config_.nd_shard_spec(), tile_);
    else
      check_shard_is_tiles(*memory_config_.shard_spec(), tile_);
  }
  padded_shape_ =
      layout_ == Layout::tile ? pad_to_tiles(logical_shape_, tile_) : pad_rows(logical_shape_, memory_config_);
  if (memory_config_.is_sharded() && !nd)
    check_shard_fits(memory_config_.layout(), *memory_config_.shard_spec(), physical());
  check(layout_ == Layout::tile || !is_block_float(dtype_), Code::invalid_argument,
        Hint{"use TILE layout: 16 values of a face row share one exponent"}, "{} exists only in TILE layout",
        name(dtype_));
  if (memory_config_.is_sharded()) {
    if (nd) {
      const NdShardSpec& shard = *memory_config_.nd_shard_spec();
      check_shard_fits(shard, padded_shape_);
      const std::optional<Sharding2d> as_2d = as_2d_sharding(shard, padded_shape_);
      memory_config_ = as_2d ? memory_config_.with_shard_specs(as_2d->layout, as_2d->spec, shard)
                             : memory_config_.with_shard_specs(TensorMemoryLayout::nd_sharded, std::nullopt, shard);
    } else {
      const ShardSpec& shard = *memory_config_.shard_spec();
      check(padded_shape_.rank() > 1 || shard.shape.height == 1, Code::invalid_argument,
            "the shard ({}, {}) has {} rows, but the tensor {} has one dimension and so one row", shard.shape.height,
            shard.shape.width, shard.shape.height, logical_shape_.to_string());
      memory_config_ = memory_config_.with_shard_specs(memory_config_.layout(), shard,
                                                       as_nd_sharding(memory_config_.layout(), shard));
    }
  }
  cut_into_pages();
}

void TensorSpec::cut_into_pages() {
  const bool tiled = layout_ == Layout::tile;
  const std::int64_t row = shard_width(memory_config_).value_or(padded_shape_[-1]);
  const std::int64_t page_height = tiled ? tile_.height : 1;
  const std::int64_t page_width = tiled ? tile_.width : std::max<std::int64_t>(row, 1);
  if (tiled)
    page_bytes_ = tile_bytes(tile_, dtype_);
  else
    page_bytes_ = padded_shape_.volume() == 0 ? kEmptyPageBytes : row * element_bytes(dtype_);

  const auto in_pages = [&](std::vector<std::int64_t> dims) {
    dims[dims.size() - 1] /= page_width;
    dims[dims.size() - 2] /= page_height;
    return dims;
  };
  if (!memory_config_.is_sharded()) {
    const Extent2d matrix = physical();
    page_dims_ = in_pages({matrix.height, matrix.width});
    if (padded_shape_.volume() == 0) page_dims_ = {0, 0};
    shard_page_dims_.clear();
    return;
  }
  // A shard of rank 1 is a row of a matrix like any other.
  std::vector<std::int64_t> shard = memory_config_.nd_shard_spec()->shard_shape.dims();
  if (shard.size() == 1) shard.insert(shard.begin(), 1);
  const Extent2d matrix = physical();
  std::vector<std::int64_t> dims = padded_shape_.rank() < 2
                                       ? std::vector{matrix.height, matrix.width}
                                       : folded_dims(padded_shape_, static_cast<int>(shard.size()));
  page_dims_ = in_pages(std::move(dims));
  shard_page_dims_ = in_pages(std::move(shard));
}

std::int64_t TensorSpec::num_pages() const { return product(page_dims_); }

std::vector<std::int64_t> TensorSpec::shard_counts() const {
  std::vector<std::int64_t> counts(shard_page_dims_.size());
  for (std::size_t i = 0; i < counts.size(); ++i)  // shards of an empty tensor may be empty too
    counts[i] = shard_page_dims_[i] == 0 ? 0 : ceil_div(page_dims_[i], shard_page_dims_[i]);
  return counts;
}

std::int64_t TensorSpec::num_shards() const { return memory_config_.is_sharded() ? product(shard_counts()) : 0; }

std::int64_t TensorSpec::pages_per_shard() const { return memory_config_.is_sharded() ? product(shard_page_dims_) : 0; }

TensorSpec TensorSpec::with_memory_config(MemoryConfig memory_config) const {
  return {logical_shape_, dtype_, layout_, std::move(memory_config), tile_};
}

namespace {

void check_can_derive_shards(const TensorSpec& spec, const CoreRangeSet& grid) {
  check(!grid.empty(), Code::invalid_argument, "a tensor cannot be sharded over an empty grid of cores");
  check(spec.padded_shape().volume() > 0, Code::invalid_argument,
        "a tensor of shape {} holds nothing that could be sharded", spec.logical_shape().to_string());
}

}  // namespace

TensorSpec TensorSpec::height_sharded(const CoreRangeSet& grid, ShardOrientation orientation) const {
  check_can_derive_shards(*this, grid);
  const TensorSpec whole =
      with_memory_config(MemoryConfig(TensorMemoryLayout::interleaved, memory_config_.buffer_type()));
  const Extent2d e = whole.physical();
  const std::int64_t rows = round_up(ceil_div(e.height, grid.num_cores()), layout_ == Layout::tile ? tile_.height : 1);
  return with_memory_config({memory_config_.buffer_type(), NdShardSpec{Shape{rows, e.width}, grid, orientation}});
}

TensorSpec TensorSpec::width_sharded(const CoreRangeSet& grid, ShardOrientation orientation) const {
  check_can_derive_shards(*this, grid);
  const TensorSpec whole =
      with_memory_config(MemoryConfig(TensorMemoryLayout::interleaved, memory_config_.buffer_type()));
  const Extent2d e = whole.physical();
  const std::int64_t columns = round_up(ceil_div(e.width, grid.num_cores()), layout_ == Layout::tile ? tile_.width : 1);
  return with_memory_config({memory_config_.buffer_type(), NdShardSpec{Shape{e.height, columns}, grid, orientation}});
}

TensorSpec TensorSpec::block_sharded(const CoreRangeSet& grid, ShardOrientation orientation) const {
  check_can_derive_shards(*this, grid);
  check(grid.ranges().size() == 1, Code::invalid_argument, "block sharding: give one rectangle of cores, not {}",
        grid.to_string());
  const TensorSpec whole =
      with_memory_config(MemoryConfig(TensorMemoryLayout::interleaved, memory_config_.buffer_type()));
  const Extent2d e = whole.physical();
  const CoreRange& range = grid.ranges().front();
  const bool row_major = orientation == ShardOrientation::row_major;
  const bool tiled = layout_ == Layout::tile;
  const std::int64_t rows = ceil_div(e.height, row_major ? range.rows() : range.columns());
  const std::int64_t columns = ceil_div(e.width, row_major ? range.columns() : range.rows());
  const std::int64_t width_unit = tiled ? tile_.width : kRowAlignmentBytes / element_bytes(dtype_);
  const Shape shard{round_up(rows, tiled ? tile_.height : 1), round_up(columns, width_unit)};
  return with_memory_config(
      {memory_config_.buffer_type(), NdShardSpec{shard, grid, orientation, ShardDistribution::grid_2d}});
}

std::int64_t TensorSpec::smallest_shard(int dim) const {
  const int from_end = padded_shape_.rank() - 1 - dim;
  if (layout_ == Layout::tile) return from_end == 0 ? tile_.width : from_end == 1 ? tile_.height : 1;
  return from_end == 0 ? kRowAlignmentBytes / element_bytes(dtype_) : 1;
}

TensorSpec TensorSpec::across(const std::vector<bool>& split, const CoreRangeSet& grid,
                              ShardOrientation orientation) const {
  check_can_derive_shards(*this, grid);
  std::vector<std::int64_t> shard;
  for (int i = 0; i < padded_shape_.rank(); ++i)
    shard.push_back(split[static_cast<std::size_t>(i)] ? smallest_shard(i)
                                                       : round_up(padded_shape_[i], smallest_shard(i)));
  return with_memory_config({memory_config_.buffer_type(), NdShardSpec{Shape(std::move(shard)), grid, orientation}});
}

namespace {

std::vector<bool> marked(std::span<const int> dims, int rank) {
  std::vector<bool> marks(static_cast<std::size_t>(rank));
  for (int d : dims) {
    check(d >= -rank && d < rank, Code::invalid_argument, "dimension {} is not in [{}, {}) of a tensor of rank {}", d,
          -rank, rank, rank);
    marks[static_cast<std::size_t>(d < 0 ? d + rank : d)] = true;
  }
  return marks;
}

}  // namespace

TensorSpec TensorSpec::sharded_across_dims(std::span<const int> dims, const CoreRangeSet& grid,
                                           ShardOrientation orientation) const {
  const TensorSpec whole =
      with_memory_config(MemoryConfig(TensorMemoryLayout::interleaved, memory_config_.buffer_type()));
  return whole.across(marked(dims, whole.padded_shape().rank()), grid, orientation);
}

TensorSpec TensorSpec::sharded_across_dims_except(std::span<const int> dims, const CoreRangeSet& grid,
                                                  ShardOrientation orientation) const {
  const TensorSpec whole =
      with_memory_config(MemoryConfig(TensorMemoryLayout::interleaved, memory_config_.buffer_type()));
  std::vector<bool> split = marked(dims, whole.padded_shape().rank());
  split.flip();
  return whole.across(split, grid, orientation);
}

TensorSpec TensorSpec::sharded(const NdShardSpec& shard, ShardAlignment alignment) const {
  std::vector<std::int64_t> dims = shard.shard_shape.dims();
  if (layout_ == Layout::tile && alignment != ShardAlignment::none) {
    while (dims.size() < 2) dims.insert(dims.begin(), 1);
    dims[dims.size() - 2] = round_up(dims[dims.size() - 2], tile_.height);
    dims[dims.size() - 1] = round_up(dims[dims.size() - 1], tile_.width);
  } else if (layout_ == Layout::row_major && alignment == ShardAlignment::recommended && !dims.empty() &&
             !is_block_float(dtype_)) {
    dims.back() = round_up(dims.back(), kRowAlignmentBytes / element_bytes(dtype_));
  }
  NdShardSpec aligned = shard;
  aligned.shard_shape = Shape(std::move(dims));
  return with_memory_config({memory_config_.buffer_type(), std::move(aligned)});
}

std::string TensorSpec::to_string() const {
  return fmt::format("TensorSpec(shape={}, dtype={}, layout={}, tile={}, memory_config={})", logical_shape_.to_string(),
                     name(dtype_), name(layout_), tile_.to_string(), memory_config_.to_string());
}

}  // namespace tessera::tensix
