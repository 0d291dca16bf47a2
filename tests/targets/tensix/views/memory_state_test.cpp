#include "tessera/targets/tensix/views/memory_state.h"

#include "tessera/core/error.h"

#include "memory_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace tessera::tensix {
namespace {

using nlohmann::json;

TEST(MemoryState, JsonAgreesWithTheAllocator) {
  const UsedDevice used("wormhole_n150");
  const json document = json::parse(memory_state_json(memory_state(*used.device, used.circular_buffers)));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["device"]["machine"], "wormhole_n150");
  EXPECT_EQ(document["device"]["kind"], "simulated");
  EXPECT_EQ(document["device"]["grid"]["columns"], 8);
  ASSERT_EQ(document["memories"].size(), 4u);
  const std::map<std::string, BufferType> types = {{"DRAM", BufferType::dram},
                                                   {"L1", BufferType::l1},
                                                   {"L1_SMALL", BufferType::l1_small},
                                                   {"TRACE", BufferType::trace}};
  for (const json& memory : document["memories"]) {
    const MemoryView view = used.device->memory_view(types.at(memory["name"]));
    EXPECT_EQ(memory["banks"], view.num_banks);
    EXPECT_EQ(memory["bytes_per_bank"], view.total_bytes_per_bank);
    EXPECT_EQ(memory["allocated_bytes_per_bank"], view.allocated_bytes_per_bank);
    EXPECT_EQ(memory["free_bytes_per_bank"], view.free_bytes_per_bank);
    std::int64_t allocated = 0, free = 0, largest = 0, next = memory["base_address"];
    for (const json& block : memory["blocks"]) {
      EXPECT_EQ(block["address"], next);
      const std::int64_t size = block["size_bytes"];
      next += size;
      if (block["allocated"])
        allocated += size;
      else
        free += size, largest = std::max(largest, size);
    }
    EXPECT_EQ(allocated, view.allocated_bytes_per_bank);
    EXPECT_EQ(free, view.free_bytes_per_bank);
    EXPECT_EQ(largest, view.largest_free_block_bytes_per_bank);
    EXPECT_DOUBLE_EQ(memory["fragmentation"], 1 - static_cast<double>(largest) / static_cast<double>(free));
  }
  EXPECT_GT(document["memories"][1]["fragmentation"], 0) << "the fixture leaves a hole in L1";
}

TEST(MemoryState, JsonSaysWhatEveryBankHolds) {
  const UsedDevice used("wormhole_n150");
  const json document = json::parse(memory_state_json(memory_state(*used.device)));
  ASSERT_EQ(document["buffers"].size(), 5u);
  const json& sharded = document["buffers"][1];
  EXPECT_EQ(sharded["label"], "[1, 1, 2048, 64] bfloat16 TILE HEIGHT_SHARDED");
  EXPECT_EQ(sharded["address"], used.tensors[1].address());
  EXPECT_EQ(sharded["useful_bytes_by_bank"], json::parse(R"([{"first_bank": 0, "banks": 64, "bytes": 4096}])"));
  const json& small = document["buffers"][3];
  EXPECT_EQ(small["memory"], "L1_SMALL");
  EXPECT_EQ(small["useful_bytes"], 64 * 200);
  EXPECT_EQ(
      small["useful_bytes_by_bank"],
      json::parse(R"([{"first_bank": 0, "banks": 32, "bytes": 400}, {"first_bank": 32, "banks": 32, "bytes": 0}])"));
  const json& unknown = document["buffers"][4];
  EXPECT_TRUE(unknown["useful_bytes"].is_null());
  EXPECT_TRUE(unknown["useful_bytes_by_bank"].is_null());
  EXPECT_EQ(unknown["label"], "</script><b>&\"'\x01\xEF\xBF\xBD");
}

TEST(MemoryState, JsonListsMovesAndCircularBuffers) {
  const UsedDevice used("wormhole_n150");
  const Tensor host(Shape{32, 64}, DType::bfloat16, Layout::tile);
  to_device(host, used.device);
  const json document = json::parse(memory_state_json(memory_state(*used.device, used.circular_buffers)));
  ASSERT_EQ(document["moves"].size(), 1u);
  EXPECT_EQ(document["moves"][0]["op"], "to_device");
  EXPECT_EQ(document["moves"][0]["transfers"][0]["bytes"], 4096);
  ASSERT_EQ(document["circular_buffers"].size(), 2u);
  EXPECT_EQ(document["circular_buffers"][0]["address"], 105824);
}

TEST(MemoryState, FragmentationIsZeroWithOneHoleOrNone) {
  MemoryState::Memory memory;
  memory.view.free_bytes_per_bank = memory.view.largest_free_block_bytes_per_bank = 100;
  EXPECT_EQ(memory.fragmentation(), 0);
  memory.view.largest_free_block_bytes_per_bank = 25;
  EXPECT_EQ(memory.fragmentation(), 0.75);
  memory.view.free_bytes_per_bank = memory.view.largest_free_block_bytes_per_bank = 0;
  EXPECT_EQ(memory.fragmentation(), 0);
}

TEST(MemoryState, CsvHasOneRowForEachBlock) {
  const UsedDevice used("wormhole_n150");
  MemoryState state = memory_state(*used.device);
  state.buffers[0].name = "a \"name\", quoted";
  const std::string csv = memory_state_csv(state);
  EXPECT_TRUE(csv.starts_with("memory,id,address,size_bytes,allocated,name,label,useful_bytes\r\n")) << csv;
  std::size_t blocks = 0;
  for (const MemoryState::Memory& memory : state.memories) blocks += memory.blocks.size();
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), blocks + 1);
  EXPECT_NE(csv.find("DRAM,0,1048640,88064,true,\"a \"\"name\"\", quoted\",\"[1, 1, 2048, 256] bfloat16 TILE "
                     "INTERLEAVED\",1048576\r\n"),
            std::string::npos)
      << csv;
}

TEST(MemoryState, AClosedDeviceIsRefused) {
  const UsedDevice used("wormhole_n150");
  used.device->close();
  EXPECT_THROW(memory_state(*used.device), Error);
}

}  // namespace
}  // namespace tessera::tensix
