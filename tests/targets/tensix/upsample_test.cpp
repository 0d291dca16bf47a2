#include "tessera/targets/tensix/ops/upsample/upsample.h"
#include "tessera/targets/tensix/card/placement.h"

#include "card.h"
#include "program_events.h"

namespace tessera::tensix {
namespace {

using golden::Json;

TensorSpec input_of(const Json& c, const Device& device) {
  const Shape shape{c["n"], c["h"], c["w"], c["c"]};
  MemoryConfig place = c["place"] == "L1" ? kL1MemoryConfig : kDramMemoryConfig;
  if (c["place"].is_number()) {
    const std::int64_t pixels = shape[0] * shape[1] * shape[2], cores = c["place"], share = ceil_div(pixels, cores);
    place = MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1,
                         ShardSpec{first_cores(c["spare"].get<bool>() ? cores : ceil_div(pixels, share), device.grid()),
                                   {share, shape[3]}});
  }
  return TensorSpec(shape, DType::bfloat16, Layout::row_major, place);
}

class BilinearOf : public testing::TestWithParam<const char*> {};

TEST_P(BilinearOf, TakesTheL1OfTheRealOne) {
  const Json answers = golden::load(std::string("bilinear_buffers_") + GetParam());
  const Machine machine = golden::board(GetParam());
  int compared = 0, refused = 0;
  for (const Json& record : answers["records"]) {
    const Json& c = record["case"];
    const auto device = Device::open(machine, DeviceOptions{.l1_small_bytes = 16384, .values = false});
    const DeviceTensor x = DeviceTensor::allocate(device, input_of(c, *device));
    UpsampleOptions options{.scale = {c["scale"][0], c["scale"][1]}, .mode = UpsampleMode::bilinear};
    if (!c["f32"].is_null()) options.compute = ComputeConfig{.fp32_dest_acc_en = c["f32"].get<bool>()};
    const CardState before(*device);
    const std::int64_t alignment = device->allocator().allocation_alignment_bytes();
    std::optional<DeviceTensor> y;
    if (!record["ok"]) {
      EXPECT_THROW(upsample(x, options), Error) << c;
      EXPECT_EQ(CardState(*device), before) << c;
      ++refused;
      continue;
    }
    std::int64_t largest = 0;  // asked without dispatch, the real one does not say what does not fit
    for (const Json& event : record["events"])
      if (event[0] == "+") largest = std::max(largest, event[1].get<std::int64_t>());
    if (largest > device->card().l1_bytes) continue;
    const ProgramEvents ours = events_of(*device, [&] { y = upsample(x, options); });
    EXPECT_EQ(ours.memory, events_of(record["events"], alignment)) << record;
    const Json& out = record["out"];
    EXPECT_EQ(y->spec().logical_shape(), Shape(out[0].get<std::vector<std::int64_t>>())) << c;
    const ShardSpec shards{golden::grid(out[3]), {out[2][0], out[2][1]}};
    EXPECT_EQ(y->spec().memory_config(), MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1, shards))
        << record << "\n"
        << y->spec().memory_config().to_string();
    ++compared;
  }
  EXPECT_GT(compared, 160);
  EXPECT_EQ(refused, 1);
}

INSTANTIATE_TEST_SUITE_P(Boards, BilinearOf, testing::Values("n150", "p150"));

TEST(Bilinear, RefusesAnImageWhoseBuffersDoNotFit) {
  const auto device = open_card();
  const std::int64_t channels = 40960;  // 9 sticks gathered, 4 made, and 16 B for each channel
  const DeviceTensor x = DeviceTensor::allocate(
      device, TensorSpec({1, 2, 2, channels}, DType::bfloat16, Layout::row_major, height_shards(4, 1, channels)));
  const CardState before(*device);
  try {
    upsample(x, {.scale = {2, 2}, .mode = UpsampleMode::bilinear});
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory) << error.message();
  }
  EXPECT_EQ(CardState(*device), before);
}

}  // namespace
}  // namespace tessera::tensix
