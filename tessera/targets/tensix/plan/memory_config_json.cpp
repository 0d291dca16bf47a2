#include "tessera/targets/tensix/plan/card_plan_json.h"

#include <array>

namespace tessera::tensix {
namespace {

using MemoryJson = nlohmann::ordered_json;

constexpr int kMostCores = 1024;  // along one side of a grid
constexpr std::size_t kMostRanges = 1024;
constexpr std::array kBufferTypes{BufferType::dram, BufferType::l1, BufferType::l1_small, BufferType::trace};
constexpr std::array kMemoryLayouts{TensorMemoryLayout::interleaved, TensorMemoryLayout::height_sharded,
                                    TensorMemoryLayout::width_sharded, TensorMemoryLayout::block_sharded,
                                    TensorMemoryLayout::nd_sharded};
constexpr std::array kOrientations{ShardOrientation::row_major, ShardOrientation::col_major};
constexpr std::array kDistributions{ShardDistribution::round_robin_1d, ShardDistribution::contiguous_1d,
                                    ShardDistribution::grid_2d};

MemoryJson grid_json(const CoreRangeSet& grid) {
  MemoryJson ranges = MemoryJson::array();
  for (const CoreRange& r : grid.ranges())
    ranges.push_back(MemoryJson::array({r.start.x, r.start.y, r.end.x, r.end.y}));
  return ranges;
}

CoreRangeSet read_grid(const io::JsonCursor& json) {
  std::vector<CoreRange> ranges;
  const std::vector<io::JsonCursor> items = json.items();
  check(items.size() <= kMostRanges, Code::parse, "{} has {} ranges, more than {}", json.path(), items.size(),
        kMostRanges);
  for (const io::JsonCursor& range : items) {
    const std::vector<io::JsonCursor> corners = range.items();
    check(corners.size() == 4, Code::parse, "{} is {}, which is not [x, y, x, y] of its first and last core",
          range.path(), range.found());
    const auto at = [&](std::size_t i) { return static_cast<int>(corners[i].whole(0, kMostCores)); };
    with_context("at " + range.path(), [&] { ranges.emplace_back(CoreCoord{at(0), at(1)}, CoreCoord{at(2), at(3)}); });
  }
  return with_context("at " + json.path(), [&] { return CoreRangeSet(ranges); });
}

ShardSpec read_shard_spec(const io::JsonCursor& json) {
  json.only(std::array<std::string_view, 3>{"shape", "grid", "orientation"});
  const std::vector<io::JsonCursor> extents = json.at("shape").items();
  check(extents.size() == 2, Code::parse, "{}.shape is {}, which is not [rows, columns]", json.path(),
        json.at("shape").found());
  return {read_grid(json.at("grid")),
          {extents[0].whole(), extents[1].whole()},
          json.at("orientation").word(std::span<const ShardOrientation>(kOrientations))};
}

}  // namespace

MemoryJson memory_config_json(const MemoryConfig& memory) {
  MemoryJson json;
  json["buffer_type"] = name(memory.buffer_type());
  json["memory_layout"] = name(memory.layout());
  if (const auto& spec = memory.shard_spec())
    json["shard_spec"] = {{"shape", MemoryJson::array({spec->shape.height, spec->shape.width})},
                          {"grid", grid_json(spec->grid)},
                          {"orientation", name(spec->orientation)}};
  // Where both are there, and it was not made by the second, that one follows from the first.
  const bool follows = memory.shard_spec() && !memory.created_with_nd_shard_spec();
  if (const auto& spec = memory.nd_shard_spec(); spec && !follows)
    json["nd_shard_spec"] = {{"shape", spec->shard_shape.dims()},
                             {"grid", grid_json(spec->grid)},
                             {"orientation", name(spec->orientation)},
                             {"distribution", name(spec->distribution)}};
  if (memory.created_with_nd_shard_spec()) json["created_with_nd_shard_spec"] = true;
  return json;
}

MemoryConfig read_memory_config(const io::JsonCursor& json) {
  json.only(std::array<std::string_view, 5>{"buffer_type", "memory_layout", "shard_spec", "nd_shard_spec",
                                            "created_with_nd_shard_spec"});
  const BufferType type = json.at("buffer_type").word(std::span<const BufferType>(kBufferTypes));
  const TensorMemoryLayout layout = json.at("memory_layout").word(std::span<const TensorMemoryLayout>(kMemoryLayouts));
  std::optional<ShardSpec> shard;
  std::optional<NdShardSpec> nd;
  if (const auto spec = json.find("shard_spec")) shard = read_shard_spec(*spec);
  if (const auto spec = json.find("nd_shard_spec")) {
    spec->only(std::array<std::string_view, 4>{"shape", "grid", "orientation", "distribution"});
    nd = NdShardSpec{read_shape(spec->at("shape")), read_grid(spec->at("grid")),
                     spec->at("orientation").word(std::span<const ShardOrientation>(kOrientations)),
                     spec->at("distribution").word(std::span<const ShardDistribution>(kDistributions))};
  }
  const auto flag = json.find("created_with_nd_shard_spec");
  if (!flag || !flag->flag()) return MemoryConfig(layout, type).with_shard_specs(layout, shard, nd);
  check(nd.has_value(), Code::parse, "{} was made with an nd_shard_spec, but has none", json.path());
  return MemoryConfig(type, *nd).with_shard_specs(layout, shard, nd);
}

Shape read_shape(const io::JsonCursor& json) {
  std::vector<std::int64_t> extents;
  for (const io::JsonCursor& extent : json.items()) extents.push_back(extent.whole());
  return with_context("at " + json.path(), [&] { return Shape(extents); });
}

}  // namespace tessera::tensix
