// Random walks of allocation and deallocation, with the addresses, block tables and reports of the real ttnn.

#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/memory_report.h"

#include <gtest/gtest.h>

#include <map>

namespace tessera::tensix {
namespace {

using golden::Json;

DeviceTensor make(const std::shared_ptr<Device>& device, const Json& what) {
  const std::string kind = what[0];
  const std::int64_t a = what[1], b = what[2];
  const auto rows = [&](BufferType type, int cores, Extent2d shard) {
    return MemoryConfig(TensorMemoryLayout::height_sharded, type, ShardSpec{CoreRange({0, 0}, {cores - 1, 0}), shard});
  };
  if (kind == "L1h")
    return DeviceTensor::allocate(device, {Shape{32 * a * b, 32}, DType::bfloat16, Layout::tile,
                                           rows(BufferType::l1, static_cast<int>(a), {32 * b, 32})});
  if (kind == "L1r" || kind == "SMALL")
    return DeviceTensor::allocate(device, {Shape{4 * a, b}, DType::uint8, Layout::row_major,
                                           rows(kind == "SMALL" ? BufferType::l1_small : BufferType::l1, 4, {a, b})});
  return DeviceTensor::allocate(
      device, {Shape{a, b}, DType::bfloat16, Layout::tile, kind == "DRAM" ? kDramMemoryConfig : kL1MemoryConfig});
}

Json table(const Device& device, BufferType type) {
  Json rows = Json::array();
  const auto& blocks = device.allocator().free_list(type).blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].in_use)
      rows.push_back({i, blocks[i].address, blocks[i].size_bytes, blocks[i].previous, blocks[i].next,
                      blocks[i].allocated ? "yes" : "no"});
  return rows;
}

class AllocatorGolden : public testing::TestWithParam<std::string> {};

TEST_P(AllocatorGolden, WalksGiveTheAddressesOfTtnn) {
  const Json data = golden::load("alloc_walks_" + GetParam());
  int steps = 0, refusals = 0, tables = 0, reports = 0;
  for (const Json& walk : data["records"]) {
    DeviceOptions options;
    options.l1_small_bytes = walk["l1_small_size"];
    const auto device = Device::open(golden::board(GetParam()), options);
    std::map<std::int64_t, DeviceTensor> live;
    for (const Json& step : walk["steps"]) {
      ++steps;
      const std::string verb = step[0];
      Json after;
      if (verb == "alloc") {
        DeviceTensor t = make(device, step[2]);
        ASSERT_EQ(t.address(), step[3]) << step;
        live.emplace(step[1].get<std::int64_t>(), std::move(t));
        if (step.size() > 4) after = step[4];
      } else if (verb == "fail") {
        ++refusals;
        try {
          make(device, step[1]);
          FAIL() << "accepted, but ttnn refuses: " << step;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::out_of_memory);
          EXPECT_NE(std::string(error.what()).find("Out of Memory"), std::string::npos);
          EXPECT_EQ(golden::missing_numbers(step[2], error.what()), "") << error.what() << "\n" << step;
        }
        if (step.size() > 3) after = step[3];
      } else if (verb == "free") {
        live.erase(step[1].get<std::int64_t>());
        if (step.size() > 2) after = step[2];
      }
      if (after.is_object()) {
        ++tables;
        for (const auto& [memory, rows] : after.items())
          ASSERT_EQ(table(*device, golden::buffer_type(memory)), rows) << memory << " after " << step;
      }
    }
    if (walk.contains("reports")) {
      ++reports;
      const MemoryReport ours = memory_report(*device);
      EXPECT_EQ(ours.l1_usage_summary, walk["reports"]["l1_usage_summary.csv"].get<std::string>());
      EXPECT_EQ(ours.memory_usage_summary, walk["reports"]["memory_usage_summary.csv"].get<std::string>());
      EXPECT_EQ(ours.detailed_memory_usage, walk["reports"]["detailed_memory_usage.csv"].get<std::string>());
    }
  }
  EXPECT_GT(steps, 300);
  EXPECT_GT(refusals, 0);
  EXPECT_GT(tables, 10);
  EXPECT_GT(reports, 0);
}

INSTANTIATE_TEST_SUITE_P(Boards, AllocatorGolden, testing::Values("n150", "p150"),
                         [](const auto& board) { return board.param; });

}  // namespace
}  // namespace tessera::tensix
