#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/ops/pool/pool.h"

#include "card.h"
#include "program_events.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

using golden::Json;

PoolOptions options_of(const Json& c) {
  PoolOptions o{.batch = c["n"], .height = c["h"], .width = c["w"], .channels = c["c"]};
  o.window = {.kernel_h = o.height, .kernel_w = o.width};
  if (!c["f32"].is_null()) o.compute = ComputeConfig{.fp32_dest_acc_en = c["f32"].get<bool>()};
  if (c["out"] == "TILE") {
    o.layout = Layout::tile;
    o.dtype = *parse_dtype(c["dtype"].get<std::string>());
  }
  return o;
}

TensorSpec input_of(const Json& c, const Device& device) {
  const std::int64_t rows = c["n"].get<std::int64_t>() * c["h"].get<std::int64_t>() * c["w"].get<std::int64_t>();
  const std::int64_t width = c["c"];
  const Layout layout = golden::layout(c["layout"]);
  const bool tiled = layout == Layout::tile;
  MemoryConfig place = c["place"] == "L1" ? kL1MemoryConfig : kDramMemoryConfig;
  if (c["place"].is_number()) {
    const std::int64_t share = ceil_div(rows, c["place"].get<std::int64_t>()),
                       height = tiled ? round_up(share, 32) : share;
    place = MemoryConfig(
        TensorMemoryLayout::height_sharded, BufferType::l1,
        ShardSpec{first_cores(ceil_div(rows, height), device.grid()), {height, tiled ? round_up(width, 32) : width}});
  }
  return TensorSpec({1, 1, rows, width}, *parse_dtype(c["dtype"].get<std::string>()), layout, place);
}

class GlobalAverageOf : public testing::TestWithParam<const char*> {};

TEST_P(GlobalAverageOf, TakesTheL1OfTheRealOne) {
  const Json answers = golden::load(std::string("global_average_buffers_") + GetParam());
  const Machine machine = golden::board(GetParam());
  int pooled = 0, batched = 0, in_two_steps = 0;
  for (const Json& record : answers["records"]) {
    const Json& c = record["case"];
    const auto device = Device::open(machine, DeviceOptions{.l1_small_bytes = 16384, .values = false});
    DeviceTensor x = DeviceTensor::allocate(device, input_of(c, *device));
    const std::int64_t alignment = device->allocator().allocation_alignment_bytes();
    std::optional<DeviceTensor> y;
    if (record.value("pooled", false)) {
      // Asked without dispatch, the real one does not say what does not fit.
      try {
        const ProgramEvents ours = events_of(*device, [&] { y = pool2d(PoolKind::average, x, options_of(c)); });
        EXPECT_THAT(ours.programs, testing::Contains("halo")) << c;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::out_of_memory) << c << error.message();
      }
      ++pooled;
      continue;
    }
    const ProgramEvents ours = events_of(*device, [&] { y = pool2d(PoolKind::average, x, options_of(c)); });
    EXPECT_THAT(ours.programs, testing::Not(testing::Contains("halo"))) << c;
    EXPECT_EQ(ours.memory, events_of(record["events"], alignment)) << record;
    const TensorSpec& spec = y->spec();
    EXPECT_EQ(spec.logical_shape(), Shape(record["out"][0].get<std::vector<std::int64_t>>())) << c;
    EXPECT_EQ(name(spec.dtype()), record["out"][1].get<std::string>()) << c;
    EXPECT_EQ(spec.layout(), golden::layout(record["out"][2])) << c;
    EXPECT_EQ(name(spec.memory_config().buffer_type()), record["out"][3].get<std::string>()) << c;
    batched += c["n"] != 1;
    in_two_steps += std::ranges::count_if(record["events"], [](const Json& e) { return e[0] == "Reduce"; }) == 2;
  }
  EXPECT_GT(pooled, 20);
  EXPECT_GT(batched, 150);
  EXPECT_GT(in_two_steps, 40);
}

INSTANTIATE_TEST_SUITE_P(Boards, GlobalAverageOf, testing::Values("n150", "p150"));

TEST(GlobalAverage, OfABatchIsThatOfItsImages) {
  std::mt19937 rng(3);
  struct Case {
    std::int64_t n, side, channels;
    DType dtype;
    Layout in, out;
  };
  for (const Case& c : {Case{3, 8, 48, DType::bfloat8_b, Layout::tile, Layout::tile},
                        Case{5, 8, 40, DType::bfloat16, Layout::tile, Layout::tile},
                        Case{5, 8, 40, DType::bfloat16, Layout::tile, Layout::row_major},
                        Case{2, 7, 33, DType::bfloat16, Layout::row_major, Layout::tile},
                        Case{2, 32, 33, DType::bfloat16, Layout::tile, Layout::row_major},
                        Case{33, 4, 16, DType::bfloat16, Layout::row_major, Layout::tile}}) {
    const auto device = open_card();
    const std::int64_t pixels = c.side * c.side;
    const Shape shape{1, 1, c.n * pixels, c.channels};
    const std::vector<float> image = random_values(shape, c.dtype, rng);
    PoolOptions o{.batch = c.n, .height = c.side, .width = c.side, .channels = c.channels};
    o.window = {.kernel_h = c.side, .kernel_w = c.side};
    o.layout = c.out;
    o.dtype = c.dtype;
    DeviceTensor x = on_card(device, image, shape, c.dtype, c.in, kL1MemoryConfig);
    const DeviceTensor y = pool2d(PoolKind::average, x, o);
    EXPECT_EQ(y.spec().logical_shape(), (Shape{1, 1, c.n, c.channels}));
    EXPECT_EQ(y.spec().layout(), c.out);
    const std::vector<float> values = values_of(y);
    for (std::int64_t n = 0; n < c.n; ++n)
      for (std::int64_t k = 0; k < c.channels; ++k) {
        double sum = 0;
        for (std::int64_t p = 0; p < pixels; ++p)
          sum += image[static_cast<std::size_t>((n * pixels + p) * c.channels + k)];
        EXPECT_NEAR(values[static_cast<std::size_t>(n * c.channels + k)], sum / static_cast<double>(pixels), 0.02)
            << c.n << " " << c.side << " " << c.channels << ": " << n << " " << k;
      }
  }
}

}  // namespace
}  // namespace tessera::tensix
