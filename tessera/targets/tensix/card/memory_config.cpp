#include "tessera/targets/tensix/card/memory_config.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

// {"start":{"x":0,"y":0},"end":{"x":7,"y":7}}, without the last brace: see below.
std::string json_open(const CoreRange& range) {
  return fmt::format(R"({{"start":{{"x":{},"y":{}}},"end":{{"x":{},"y":{}}})", range.start.x, range.start.y,
                     range.end.x, range.end.y);
}

std::string json(const CoreRangeSet& set, std::string_view close) {
  std::string text = "[";
  for (const CoreRange& range : set.ranges())
    text.append(text.size() > 1 ? ", " : "").append(json_open(range)).append(close);
  return text + "]";
}

}  // namespace

const MemoryConfig kDramMemoryConfig{TensorMemoryLayout::interleaved, BufferType::dram};
const MemoryConfig kL1MemoryConfig{TensorMemoryLayout::interleaved, BufferType::l1};

std::string_view name(BufferType type) {
  switch (type) {
    case BufferType::dram: return "DRAM";
    case BufferType::l1: return "L1";
    case BufferType::l1_small: return "L1_SMALL";
    case BufferType::trace: return "TRACE";
  }
  return "unknown";
}

std::string_view name(TensorMemoryLayout layout) {
  switch (layout) {
    case TensorMemoryLayout::interleaved: return "INTERLEAVED";
    case TensorMemoryLayout::height_sharded: return "HEIGHT_SHARDED";
    case TensorMemoryLayout::width_sharded: return "WIDTH_SHARDED";
    case TensorMemoryLayout::block_sharded: return "BLOCK_SHARDED";
    case TensorMemoryLayout::nd_sharded: return "ND_SHARDED";
  }
  return "unknown";
}

std::string_view name(ShardOrientation orientation) {
  return orientation == ShardOrientation::row_major ? "ROW_MAJOR" : "COL_MAJOR";
}

std::string_view name(ShardDistribution distribution) {
  switch (distribution) {
    case ShardDistribution::round_robin_1d: return "ROUND_ROBIN_1D";
    case ShardDistribution::contiguous_1d: return "CONTIGUOUS_1D";
    case ShardDistribution::grid_2d: return "GRID_2D";
  }
  return "unknown";
}

std::string_view name(ShardStrategy strategy) {
  switch (strategy) {
    case ShardStrategy::height: return "HEIGHT";
    case ShardStrategy::width: return "WIDTH";
    case ShardStrategy::block: return "BLOCK";
  }
  return "unknown";
}

// TTNN prints the ranges of a 2-D spec with a brace missing; texts are compared, so this does too.
std::string ShardSpec::to_string() const {
  return fmt::format("ShardSpec{{grid={}, shape=[{}, {}], orientation=ShardOrientation::{}}}", json(grid, ""),
                     shape.height, shape.width, name(orientation));
}

std::string NdShardSpec::to_string() const {
  return fmt::format(
      R"({{"shard_shape":{},"grid":{},"orientation":"ShardOrientation::{}","shard_distribution_strategy":"ShardDistributionStrategy::{}"}})",
      shard_shape.to_string(), json(grid, "}"), name(orientation), name(distribution));
}

MemoryConfig::MemoryConfig(TensorMemoryLayout layout, BufferType type, std::optional<ShardSpec> shard_spec)
    : layout_(layout), buffer_type_(type), shard_spec_(std::move(shard_spec)) {}

MemoryConfig::MemoryConfig(BufferType type, NdShardSpec shard_spec)
    : layout_(TensorMemoryLayout::nd_sharded),
      buffer_type_(type),
      nd_shard_spec_(std::move(shard_spec)),
      created_with_nd_shard_spec_(true) {}

MemoryConfig MemoryConfig::with_shard_specs(TensorMemoryLayout layout, std::optional<ShardSpec> shard_spec,
                                            std::optional<NdShardSpec> nd_shard_spec) const {
  MemoryConfig out = *this;
  out.layout_ = layout;
  out.shard_spec_ = std::move(shard_spec);
  out.nd_shard_spec_ = std::move(nd_shard_spec);
  return out;
}

bool MemoryConfig::operator==(const MemoryConfig& other) const {
  if (layout_ != other.layout_ || buffer_type_ != other.buffer_type_) return false;
  // The 2-D and the n-D description say the same thing where both exist; compare what both sides have.
  if (shard_spec_ && other.shard_spec_) return *shard_spec_ == *other.shard_spec_;
  if (nd_shard_spec_ && other.nd_shard_spec_) return *nd_shard_spec_ == *other.nd_shard_spec_;
  return shard_spec_.has_value() == other.shard_spec_.has_value() &&
         nd_shard_spec_.has_value() == other.nd_shard_spec_.has_value();
}

std::string MemoryConfig::to_string() const {
  return fmt::format(
      "MemoryConfig(memory_layout=TensorMemoryLayout::{},buffer_type=BufferType::{},shard_spec={},nd_shard_spec={},"
      "created_with_nd_shard_spec={},per_core_allocation=0,range_lockstep_allocation=0)",
      name(layout_), name(buffer_type_), shard_spec_ ? shard_spec_->to_string() : "std::nullopt",
      nd_shard_spec_ ? nd_shard_spec_->to_string() : "std::nullopt", created_with_nd_shard_spec_ ? 1 : 0);
}

}  // namespace tessera::tensix
