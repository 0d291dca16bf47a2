// Hundreds of random placements, answered by the real ttnn on a mocked card.

#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

using golden::Json;

class ShardGolden : public testing::TestWithParam<std::string> {};

// Everything that the real one says about an accepted placement.
Json answer(const std::shared_ptr<Device>& device, const TensorSpec& spec, BufferType type) {
  const DeviceTensor t = DeviceTensor::allocate(device, spec);
  std::vector<std::int64_t> pages(static_cast<std::size_t>(device->banks(type).count()));
  for (std::int64_t i = 0; i < t.num_pages(); ++i) ++pages[static_cast<std::size_t>(t.pages().place(i).bank)];
  EXPECT_EQ(t.pages().pages_by_bank(), pages) << "counted page by page";
  return {{"padded", t.spec().padded_shape().dims()},
          {"page", t.page_bytes()},
          {"apage", t.aligned_page_bytes()},
          {"pages", t.num_pages()},
          {"addr", t.address()},
          {"bank", device->memory_view(type).allocated_bytes_per_bank}};
}

void compare(const Json& record, const std::shared_ptr<Device>& device, const std::function<TensorSpec()>& make) {
  const BufferType type = golden::buffer_type(record["buffer"]);
  try {
    const Json ours = answer(device, make(), type);
    ASSERT_TRUE(record["ok"].get<bool>()) << "accepted, but ttnn refuses: " << record;
    for (const auto& [key, value] : ours.items()) EXPECT_EQ(value, record[key]) << key << " of " << record;
  } catch (const Error& error) {
    ASSERT_FALSE(record["ok"].get<bool>()) << "refused: " << error.what() << "\nbut ttnn accepts: " << record;
    EXPECT_EQ(golden::missing_numbers(record["error"]["text"], error.what()), "") << error.what() << "\n" << record;
  }
  EXPECT_EQ(device->memory_view(type).allocated_bytes_per_bank, 0) << "leaked by " << record;
}

TEST_P(ShardGolden, TwoDimensionalShardsMatchTtnn) {
  const auto device = Device::open(golden::board(GetParam()));
  const Json data = golden::load("shard_random_" + GetParam());
  ASSERT_GT(data["records"].size(), 400u);
  for (const Json& r : data["records"])
    compare(r, device, [&] {
      const ShardSpec shard{golden::grid(r["grid"]), {r["shard"][0], r["shard"][1]}, golden::orientation(r["orient"])};
      return TensorSpec(Shape(r["shape"].get<std::vector<std::int64_t>>()), *parse_dtype(r["dtype"].get<std::string>()),
                        golden::layout(r["layout"]),
                        MemoryConfig(golden::memory_layout(r["kind"]), golden::buffer_type(r["buffer"]), shard));
    });
}

TEST_P(ShardGolden, NDimensionalShardsMatchTtnn) {
  const auto device = Device::open(golden::board(GetParam()));
  const Json data = golden::load("shard_nd_" + GetParam());
  int compared = 0;
  for (const Json& r : data["records"]) {
    // Shards of rank 1 follow rules in ttnn that its answers do not explain; ours treats them as one row.
    if (r["shard"].size() == 1) continue;
    ++compared;
    compare(r, device, [&] {
      const std::string strategy = r["strategy"], how = r["how"];
      const NdShardSpec shard{Shape(r["shard"].get<std::vector<std::int64_t>>()), golden::grid(r["grid"]),
                              golden::orientation(r["orient"]),
                              strategy == "GRID"   ? ShardDistribution::grid_2d
                              : strategy == "CONT" ? ShardDistribution::contiguous_1d
                                                   : ShardDistribution::round_robin_1d};
      const Shape shape(r["shape"].get<std::vector<std::int64_t>>());
      const DType dtype = *parse_dtype(r["dtype"].get<std::string>());
      const Layout layout = golden::layout(r["layout"]);
      const BufferType type = golden::buffer_type(r["buffer"]);
      const auto align = [&](ShardAlignment alignment) {
        return TensorSpec(shape, dtype, layout, MemoryConfig(TensorMemoryLayout::interleaved, type))
            .sharded(shard, alignment);
      };
      TensorSpec spec = how == "NONE"          ? align(ShardAlignment::none)
                        : how == "REQUIRED"    ? align(ShardAlignment::required)
                        : how == "RECOMMENDED" ? align(ShardAlignment::recommended)
                                               : TensorSpec(shape, dtype, layout, MemoryConfig(type, shard));
      if (r["ok"].get<bool>()) {
        const Json& mem = r["mem"];
        EXPECT_EQ(std::string(name(spec.memory_config().layout())), mem["layout"].get<std::string>()) << r;
        EXPECT_EQ(spec.memory_config().shard_spec().has_value(), mem.contains("shard") && !mem["shard"].is_null()) << r;
        if (spec.memory_config().shard_spec() && mem.contains("shard")) {
          EXPECT_EQ(spec.memory_config().shard_spec()->shape.height, mem["shard"][0]) << r;
          EXPECT_EQ(spec.memory_config().shard_spec()->shape.width, mem["shard"][1]) << r;
        }
      }
      return spec;
    });
  }
  EXPECT_GT(compared, 150);
}

INSTANTIATE_TEST_SUITE_P(Boards, ShardGolden, testing::Values("n150", "p150"),
                         [](const auto& board) { return board.param; });

}  // namespace
}  // namespace tessera::tensix
