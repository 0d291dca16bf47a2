#include "tessera/targets/tensix/card/movement_buffers.h"

#include "tessera/core/dtype.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include "golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tessera::tensix {
namespace {

using golden::Json;

TensorSpec spec_of(const Json& tensor) {
  const Json& place = tensor[3];
  MemoryConfig memory = place == "DRAM" ? kDramMemoryConfig : kL1MemoryConfig;
  if (place.is_array())
    memory = MemoryConfig(golden::memory_layout(place[0]), golden::buffer_type(place[1]),
                          ShardSpec{golden::grid(place[3]), {place[2][0], place[2][1]}});
  return TensorSpec(Shape(tensor[0].get<std::vector<std::int64_t>>()), *parse_dtype(tensor[1].get<std::string>()),
                    golden::layout(tensor[2]), memory);
}

std::vector<CircularBuffer> planned(const Json& record, const TensixSpec& card) {
  std::vector<TensorSpec> inputs;
  for (const Json& each : record["inputs"]) inputs.push_back(spec_of(each));
  const TensorSpec &x = inputs[0], y = spec_of(record["output"]);
  const std::string op = record["op"];
  if (op == "to_layout") return y.layout() == Layout::tile ? tilize_buffers(x, y, card) : untilize_buffers(x, y, card);
  if (op == "to_memory_config") return move_buffers(x, y, card);
  if (op == "concat") return concat_buffers(inputs, y, card);
  if (op == "slice") return slice_buffers(x, y, record["begin"], card);
  if (op == "typecast") return typecast_buffers(x, y, card);
  return repeat_buffers(x, card);
}

bool transposes(const Json& record) {
  return std::ranges::any_of(record["programs"], [](const Json& program) { return program[0] == "Transpose"; });
}

class MovementBuffersOf : public testing::TestWithParam<const char*> {};

TEST_P(MovementBuffersOf, AreThoseOfTheRealPrograms) {
  const Machine machine = golden::board(GetParam());
  const TensixSpec& card = tensix_of(machine);
  std::map<std::string, int> compared;
  const Json answers = golden::load(std::string("movement_buffers_") + GetParam());
  for (const Json& record : answers["records"]) {
    // What joins rows may transpose them before and after.
    const bool joins = record["op"] == "concat" && (record["inputs"][0][2] == "ROW_MAJOR" || transposes(record));
    if ((record["programs"].size() != 1 && !joins) || record.value("mode", "") == "bilinear") continue;
    // Tiles of bfloat16 that are not full have a program of their own; here they are joined as rows.
    if (record["op"] == "concat" && !joins && record["inputs"][0][0][3].get<std::int64_t>() % 32 != 0) continue;
    std::int64_t bytes = 0;
    for (const CircularBuffer& buffer : planned(record, card)) bytes += buffer.bytes;
    std::int64_t real = 0;
    for (const Json& program : record["programs"]) real = std::max(real, program[1].get<std::int64_t>());
    // Of rows cut where DRAM is not aligned no more is known than that these suffice.
    if (record["op"] == "slice" && record["begin"].get<std::int64_t>() * 2 % card.dram_alignment_bytes != 0)
      EXPECT_GE(bytes, real) << record.dump();
    else
      EXPECT_EQ(bytes, real) << record.dump();
    ++compared[record["op"]];
  }
  for (const char* op : {"to_layout", "to_memory_config", "concat", "slice", "typecast", "upsample"})
    EXPECT_GE(compared[op], 10) << op;
}

TEST_P(MovementBuffersOf, GoWithTheShardsOfTheRealRows) {
  int compared = 0;
  const Json answers = golden::load(std::string("movement_buffers_") + GetParam());
  for (const Json& record : answers["records"]) {
    const TensorSpec x = spec_of(record["inputs"][0]), y = spec_of(record["output"]);
    if (record["op"] != "to_layout" || y.layout() == Layout::tile || !x.memory_config().is_sharded()) continue;
    EXPECT_EQ(untilized_place(x), y.memory_config()) << record.dump();
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(MovementBuffersOf, FillRowsUpAsTheRealOneDoes) {
  int compared = 0;
  const Json answers = golden::load(std::string("movement_buffers_") + GetParam());
  for (const Json& record : answers["records"]) {
    if (record["op"] != "to_layout" || record["programs"].empty() || record["programs"][0][0] != "Pad") continue;
    const auto device = Device::open(golden::board(GetParam()));
    const DeviceTensor x = DeviceTensor::allocate(device, spec_of(record["inputs"][0]));
    const TensorSpec want = spec_of(record["output"]);
    std::vector<std::int64_t> buffers, copies;
    device->watch([&](const MemoryEvent& event) {
      if (event.kind == MemoryEvent::Kind::circular_buffers) buffers.push_back(event.circular_buffer_bytes);
      if (event.kind == MemoryEvent::Kind::allocated) copies.push_back(event.buffer->bytes_per_bank());
    });
    const DeviceTensor y = to_layout(x, Layout::tile, want.dtype());
    device->watch({});
    EXPECT_EQ(y.spec(), want) << record.dump();
    EXPECT_EQ(buffers, std::vector{record["programs"][0][1].get<std::int64_t>()}) << record.dump();
    ASSERT_EQ(copies.size(), 2U) << record.dump();
    EXPECT_EQ(copies[0], x.spec().memory_config().shard_spec()->shape.area() * element_bytes(x.spec().dtype()));
    ++compared;
  }
  EXPECT_GE(compared, 10);
}

INSTANTIATE_TEST_SUITE_P(Boards, MovementBuffersOf, testing::Values("n150", "p150"));

TEST(MovementBuffers, RefuseAReshardWhoseScratchDoesNotFit) {
  const auto device = Device::open(load_machine("blackhole_p150"));
  const MemoryConfig banks(TensorMemoryLayout::height_sharded, BufferType::dram,
                           ShardSpec{CoreRange({0, 0}, {7, 0}), {21120, 16}});
  const MemoryConfig cores(TensorMemoryLayout::height_sharded, BufferType::l1,
                           ShardSpec{CoreRange({0, 0}, {12, 9}), {1300, 16}});
  const DeviceTensor x =
      DeviceTensor::allocate(device, TensorSpec(Shape{1, 1, 168960, 12}, DType::bfloat16, Layout::row_major, banks));
  try {
    to_memory_config(x, cores);
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_NE(error.message().find("grow to 2815104 B which is beyond max L1 size of 1572864 B"), std::string::npos)
        << error.message();  // as the real one says
  }
  EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, 0);
}

}  // namespace
}  // namespace tessera::tensix
