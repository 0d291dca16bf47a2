#include "tessera/targets/tensix/ops/pool/pool.h"

#include "card.h"
#include "tests/targets/tensix/card/golden.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>

namespace tessera::tensix {
namespace {

using golden::Json;

DType dtype_of(const Json& c, const char* key) {
  return c.contains(key) ? *parse_dtype(c[key].get<std::string>()) : DType::bfloat16;
}

PoolKind kind_of(const Json& c) { return c["kind"] == "max" ? PoolKind::max : PoolKind::average; }

PoolOptions options_of(const Json& c) {
  PoolOptions o{.batch = c["n"], .height = c["h"], .width = c["w"], .channels = c["c"]};
  o.window = {.kernel_h = c["k"][0], .kernel_w = c["k"][1], .stride_h = c["s"][0], .stride_w = c["s"][1]};
  if (c.contains("dil")) o.window.dilation_h = c["dil"][0], o.window.dilation_w = c["dil"][1];
  const Json& p = c["p"];
  o.window.top = p[0];
  o.window.bottom = p.size() == 4 ? p[1] : p[0];
  o.window.left = p.size() == 4 ? p[2] : p[1];
  o.window.right = p.size() == 4 ? p[3] : p[1];
  o.ceil_mode = c.value("ceil", false);
  o.count_include_pad = c.value("include", true);
  if (c.contains("divisor")) o.divisor_override = c["divisor"].get<std::int64_t>();
  if (c.contains("scheme")) o.scheme = golden::memory_layout(c["scheme"]);
  if (c.contains("place")) o.memory_config = c["place"] == "L1" ? kL1MemoryConfig : kDramMemoryConfig;
  o.deallocate_input = c.value("dealloc", false);
  o.reallocate_halo = c.value("realloc", true);
  if (c.contains("slice"))
    o.slice = Conv2dSliceConfig{c["slice"][0] == "DRAM_WIDTH"    ? Conv2dSliceType::dram_width
                                : c["slice"][0] == "DRAM_HEIGHT" ? Conv2dSliceType::dram_height
                                                                 : Conv2dSliceType::l1_full,
                                c["slice"][1]};
  o.dtype = dtype_of(c, "dtype");
  if (c.contains("out_layout")) o.layout = Layout::tile;
  return o;
}

DeviceTensor input_of(const std::shared_ptr<Device>& device, const Json& c) {
  MemoryConfig place = c.contains("in_place") ? kL1MemoryConfig : kDramMemoryConfig;
  if (c.contains("shard"))
    place = MemoryConfig(golden::memory_layout(c["shard"][0]), BufferType::l1,
                         ShardSpec{golden::grid(Json::array({c["shard"][1]})), {c["shard"][2][0], c["shard"][2][1]}});
  const std::int64_t rows = c["n"].get<std::int64_t>() * c["h"].get<std::int64_t>() * c["w"].get<std::int64_t>();
  return DeviceTensor::allocate(device, TensorSpec({1, 1, rows, c["c"]}, dtype_of(c, "in_dtype"),
                                                   c.contains("in_layout") ? Layout::tile : Layout::row_major, place));
}

// Which kind of shards TTNN picks for itself is known up to a few cases; with a given kind, or given shards, all is
// equal.
TEST(PoolLong, GoesWhereTheRealOneGoes) {
  const Json answers = golden::load("pool_buffers_n150");
  int equal = 0, open = 0, refused = 0;
  std::vector<std::string> wrong;
  for (const Json& record : answers["records"]) {
    const Json& c = record["case"];
    if (c.contains("indices") || c["p"].size() == 3) continue;
    const auto device = open_card();
    DeviceTensor x = input_of(device, c);
    if (!record["ok"]) {
      const CardState before(*device);
      EXPECT_THROW(pool2d(kind_of(c), x, options_of(c)), Error) << c;
      EXPECT_EQ(CardState(*device), before) << c;
      ++refused;
      continue;
    }
    const Json& real = record["out"];
    if (real["shape"][0] != 1 || real["shape"][1] != 1) continue;  // sliced: below
    std::string ours;
    try {
      const DeviceTensor y = pool2d(kind_of(c), x, options_of(c));
      const MemoryConfig& place = y.spec().memory_config();
      EXPECT_EQ(y.spec().logical_shape()[2], real["shape"][2]) << c;
      EXPECT_EQ(y.spec().logical_shape()[3], real["shape"][3]) << c;
      ours = fmt::format("{} {} {}", name(place.layout()), name(place.buffer_type()), y.address());
      if (place.shard_spec())
        ours += fmt::format(" {} on {}", place.shard_spec()->shape.height, place.shard_spec()->grid.to_string());
    } catch (const Error& error) {
      ours = error.what();
    }
    std::string want = fmt::format("{} {} {}", real["mem"]["layout"].get<std::string>(),
                                   real["mem"]["buffer"].get<std::string>(), real["addr"].get<std::int64_t>());
    if (real["mem"].contains("shard"))
      want +=
          fmt::format(" {} on {}", real["mem"]["shard"][0].get<std::int64_t>(), real["mem"]["grid"].get<std::string>());
    if (ours == want)
      ++equal;
    else if (!c.contains("scheme") && !c.contains("shard"))
      ++open;
    else
      wrong.push_back(c.dump() + "\n  real " + want + "\n  ours " + ours);
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 8); ++i) ADD_FAILURE() << wrong[i];
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " differ, " << equal << " equal, " << open << " open, " << refused;
  EXPECT_GT(equal, 230) << open << " open";
  EXPECT_LT(open, 8);
}

TEST(Pool, HasTheHaloAndBuffersOfTheRealOne) {
  const Json answers = golden::load("pool_buffers_n150");
  int equal = 0;
  for (const Json& record : answers["records"]) {
    const Json& c = record["case"];
    if (!record["ok"] || (!c.contains("scheme") && !c.contains("shard")) || record["out"]["shape"][0] != 1 ||
        record["out"]["shape"][1] != 1)
      continue;
    const PoolOptions o = options_of(c);
    const auto device = open_card();
    const DeviceTensor x = input_of(device, c);
    PoolProblem p{.kind = kind_of(c),
                  .batch = o.batch,
                  .height = o.height,
                  .width = o.width,
                  .channels = o.channels,
                  .window = o.window,
                  .ceil_mode = o.ceil_mode,
                  .count_include_pad = o.count_include_pad,
                  .divisor_override = o.divisor_override.has_value(),
                  .input_dtype = x.spec().dtype(),
                  .output_dtype = o.dtype,
                  .input_layout = x.spec().layout(),
                  .output_layout = o.layout,
                  .grid = device->grid()};
    p.layout = c.contains("scheme") ? *o.scheme : x.spec().memory_config().layout();
    if (c.contains("shard")) p.input_shard = x.spec().memory_config().shard_spec();
    const PoolPlan plan = plan_pool(p);
    for (const Json& op : record["ops"]) {
      std::vector<std::int64_t> buffers, lists, tensors;
      for (std::size_t i = 1; i < op.size(); ++i) {
        if (op[i][0] == "cb" && op[i][2] == 0) buffers.push_back(op[i][1]);
        if (op[i][0] == "+") (op[i][1] == 3 ? lists : tensors).push_back(op[i][3]);
      }
      if (op[0] == "HaloDeviceOperation") {
        EXPECT_EQ(tensors.front(), plan.halo.out_bytes_per_core()) << c;
        EXPECT_EQ(lists, (std::vector<std::int64_t>(plan.halo.config_bytes.begin(), plan.halo.config_bytes.end())))
            << c;
        ++equal;
      }
      if (op[0] == "Pool2D") {
        std::vector<std::int64_t> ours;
        for (const PlannedBuffer& b : plan.buffers) ours.push_back(b.bytes);
        EXPECT_EQ(buffers, ours) << c;
        EXPECT_EQ(lists.front(), plan.reader_bytes) << c;
      }
    }
  }
  EXPECT_GT(equal, 60);
}

// Addresses and sizes of all that an operator allocated in L1 and L1_SMALL, in order.
std::vector<std::string> placed_by(Device& device, const std::function<void()>& run) {
  std::vector<std::string> out;
  device.watch([&](const MemoryEvent& event) {
    if (event.kind != MemoryEvent::Kind::allocated || event.buffer->type() == BufferType::dram) return;
    out.push_back(fmt::format("{}{}", event.buffer->type() == BufferType::l1 ? "" : "small ", event.buffer->address()));
  });
  run();
  device.watch({});
  return out;
}

// One list of divisors for all windows, a second where those along the border hold fewer pixels.
TEST(Pool, AveragesHaveASecondScalarOnlyWhereDivisorsDiffer) {
  const auto scalars = [](std::int64_t pad, bool include, bool ceil = false) {
    const std::int64_t pixels = ceil ? 7 : 8;
    PoolProblem p{.kind = PoolKind::average, .batch = 1, .height = pixels, .width = pixels, .channels = 32};
    p.window = {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
    p.window.top = p.window.bottom = p.window.left = p.window.right = pad;
    p.count_include_pad = include;
    p.ceil_mode = ceil;
    p.grid = {8, 8};
    const PoolPlan plan = plan_pool(p);
    return std::ranges::count_if(plan.buffers, [](const auto& buffer) { return buffer.name == "scalar"; });
  };
  EXPECT_EQ(scalars(0, true), 1);
  EXPECT_EQ(scalars(0, false), 1);
  EXPECT_EQ(scalars(1, true), 1);
  EXPECT_EQ(scalars(1, false), 2);
  EXPECT_EQ(scalars(0, true, true), 2);  // the last windows reach beyond the image
}

TEST(Pool, InSlicesAndWithIndicesEveryAddressIsThatOfTheRealOne) {
  const Json answers = golden::load("pool_slice_buffers_n150");
  int equal = 0, refused = 0;
  for (const Json& record : answers["records"]) {
    const Json& c = record["case"];
    SCOPED_TRACE(c.dump());
    const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 16384, .values = false});
    DeviceTensor x = input_of(device, c);
    std::vector<DeviceTensor> results;
    const auto run = [&] {
      if (c.contains("indices")) {
        const auto [values, indices] = max_pool2d_with_indices(x, options_of(c));
        results = {values, indices};
      } else {
        results = {pool2d(kind_of(c), x, options_of(c))};
      }
    };
    if (!record["ok"]) {
      const CardState before(*device);
      EXPECT_THROW(run(), Error);
      EXPECT_EQ(CardState(*device), before);
      ++refused;
      continue;
    }
    const std::vector<std::string> ours = placed_by(*device, run);
    std::vector<std::string> real;
    for (const Json& op : record["ops"])
      for (std::size_t i = 1; i < op.size(); ++i)
        if (op[i][0] == "+")
          real.push_back(fmt::format("{}{}", op[i][1] == 3 ? "small " : "", op[i][2].get<std::int64_t>()));
    // Slices of tiles reach two pixels further than ours.
    if (!c.contains("slice") || !c.contains("out_layout")) {
      EXPECT_EQ(ours, real);
    }
    ASSERT_EQ(results.size(), record["out"].size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Json& want = record["out"][i];
      const TensorSpec& spec = results[i].spec();
      EXPECT_EQ(spec.logical_shape().dims(), want["shape"].get<std::vector<std::int64_t>>());
      std::string dtype = want["dtype"];
      std::transform(dtype.begin(), dtype.end(), dtype.begin(), [](unsigned char l) { return std::tolower(l); });
      EXPECT_EQ(spec.dtype(), *parse_dtype(dtype));
      EXPECT_EQ(name(spec.memory_config().buffer_type()), want["mem"]["buffer"].get<std::string>());
      // Tiles of rows that begin anywhere are copied first, with a list that the copy keeps in DRAM.
      if (!c.contains("in_layout") || !c.contains("slice") || !spec.memory_config().is_dram()) {
        EXPECT_EQ(results[i].address(), want["addr"].get<std::int64_t>());
      }
    }
    ++equal;
  }
  EXPECT_GT(equal, 50);
  EXPECT_GT(refused, 5);
}

// 255 x 257 is the largest image that the real one gives 16 bits; only the image counts, not how many there are.
TEST(Pool, IndicesAreOfSixteenBitsUpTo65535Pixels) {
  struct Asked {
    std::int64_t batch, height, width;
    DType dtype;
  };
  for (const Asked& a : {Asked{1, 255, 257, DType::uint16}, Asked{1, 256, 256, DType::uint32},
                         Asked{4, 128, 256, DType::uint16}, Asked{1, 4, 16385, DType::uint32}}) {
    const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 65536, .values = false});
    PoolOptions o{.batch = a.batch, .height = a.height, .width = a.width, .channels = 32};
    o.window = {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
    const TensorSpec spec({1, 1, a.batch * a.height * a.width, 32}, DType::bfloat16, Layout::row_major);
    DeviceTensor x = DeviceTensor::allocate(device, spec);
    EXPECT_EQ(max_pool2d_with_indices(x, o).second.spec().dtype(), a.dtype) << a.height << "x" << a.width;
  }
}

TEST(Pool, IndicesSayWhereTheFirstMaximumIs) {
  std::mt19937 rng(5);
  for (const bool wide : {false, true}) {
    const auto device = open_card();
    PoolOptions o{.batch = 2, .height = wide ? 258 : 9, .width = wide ? 260 : 7, .channels = 16};
    o.window = {.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .dilation_w = 2, .top = 1, .bottom = 1};
    const Shape shape{1, 1, o.batch * o.height * o.width, o.channels};
    std::vector<float> image(static_cast<std::size_t>(shape.volume()));
    for (float& v : image) v = static_cast<float>(std::uniform_int_distribution<int>(-3, 3)(rng));  // many equal ones
    image[5] = NAN;
    DeviceTensor x = on_card(device, image, shape, DType::bfloat16, Layout::row_major);
    const auto [values, indices] = max_pool2d_with_indices(x, o);
    EXPECT_EQ(indices.spec().dtype(), wide ? DType::uint32 : DType::uint16);
    const std::vector<float> most = values_of(values);
    const std::vector<float> where = values_of(indices);
    const SlidingWindow& w = o.window;
    std::size_t at = 0;
    for (std::int64_t n = 0; n < o.batch; ++n)
      for (std::int64_t r = 0; r < w.out_h(o.height); ++r)
        for (std::int64_t q = 0; q < w.out_w(o.width); ++q)
          for (std::int64_t c = 0; c < o.channels; ++c, ++at) {
            std::int64_t first = -1;
            float best = 0;
            for (std::int64_t i = 0; i < w.kernel_h; ++i)
              for (std::int64_t j = 0; j < w.kernel_w; ++j) {
                const std::int64_t row = r * 2 + i - w.top, column = q * 2 + j * 2;
                if (row < 0 || row >= o.height || column >= o.width) continue;
                const float v =
                    image[static_cast<std::size_t>(((n * o.height + row) * o.width + column) * o.channels + c)];
                if (first < 0 || v > best || (std::isnan(v) && !std::isnan(best)))
                  first = row * o.width + column, best = v;
              }
            ASSERT_EQ(where[at], static_cast<float>(first)) << at;
            ASSERT_TRUE(most[at] == best || (std::isnan(most[at]) && std::isnan(best))) << at;
          }
  }
}

TEST(Pool, SlicesComeToTheSameAsTheWhole) {
  std::mt19937 rng(6);
  const auto device = open_card();
  PoolOptions o{.batch = 2, .height = 33, .width = 40, .channels = 32};
  o.window = {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 1, .top = 1, .bottom = 1, .left = 1, .right = 1};
  const Shape shape{1, 1, o.batch * o.height * o.width, o.channels};
  DeviceTensor x =
      on_card(device, random_values(shape, DType::bfloat16, rng), shape, DType::bfloat16, Layout::row_major);
  for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
    o.slice.reset();
    const std::vector<float> whole = values_of(pool2d(kind, x, o));
    for (const Conv2dSliceType type : {Conv2dSliceType::dram_height, Conv2dSliceType::dram_width}) {
      o.slice = Conv2dSliceConfig{type, 3};
      const DeviceTensor y = pool2d(kind, x, o);
      EXPECT_EQ(y.spec().logical_shape(), (Shape{2, 17, 40, 32}));
      EXPECT_EQ(values_of(y), whole);
    }
  }
}

TEST(Pool, ComesCloseToPlainPoolsOnRandomWindows) {
  std::mt19937 rng(1);
  const auto device = open_card();
  const auto pick = [&](auto... values) {
    const std::array all{static_cast<std::int64_t>(values)...};
    return all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(rng)];
  };
  int done = 0;
  for (int round = 0; round < 40; ++round) {
    PoolOptions o{
        .batch = pick(1, 2), .height = pick(5, 8, 13), .width = pick(4, 9, 16), .channels = pick(16, 32, 40, 3)};
    o.window = {.kernel_h = pick(1, 2, 3),
                .kernel_w = pick(2, 3, 4),
                .stride_h = pick(1, 2),
                .stride_w = pick(1, 2, 3),
                .dilation_h = 1,
                .dilation_w = 1,
                .top = 0,
                .bottom = 0,
                .left = 0,
                .right = 0};
    if (pick(0, 1) == 1) o.window.top = o.window.bottom = o.window.kernel_h / 2, o.window.left = o.window.kernel_w / 2;
    o.count_include_pad = pick(0, 1) == 1;
    const PoolKind kind = pick(0, 1) == 1 ? PoolKind::max : PoolKind::average;
    const Shape shape{1, 1, o.batch * o.height * o.width, o.channels};
    const std::vector<float> image = random_values(shape, DType::bfloat16, rng);
    DeviceTensor x = on_card(device, image, shape, DType::bfloat16, Layout::row_major);
    const CardState before(*device);
    std::optional<DeviceTensor> y;
    try {
      y = pool2d(kind, x, o);
    } catch (const Error&) {
      ASSERT_EQ(CardState(*device), before);
      continue;
    }
    ++done;
    const std::vector<float> got = values_of(*y);
    const SlidingWindow& w = o.window;
    const std::int64_t oh = w.out_h(o.height), ow = w.out_w(o.width);
    ASSERT_EQ(y->spec().logical_shape(), (Shape{1, 1, o.batch * oh * ow, o.channels}));
    std::size_t at = 0;
    for (std::int64_t n = 0; n < o.batch; ++n)
      for (std::int64_t r = 0; r < oh; ++r)
        for (std::int64_t q = 0; q < ow; ++q)
          for (std::int64_t c = 0; c < o.channels; ++c, ++at) {
            double sum = 0, most = -INFINITY;
            std::int64_t count = 0;
            for (std::int64_t i = 0; i < w.kernel_h; ++i)
              for (std::int64_t j = 0; j < w.kernel_w; ++j) {
                const std::int64_t row = r * w.stride_h + i - w.top, column = q * w.stride_w + j - w.left;
                if (row < 0 || row >= o.height || column < 0 || column >= o.width) continue;
                const double v = static_cast<double>(
                    image[static_cast<std::size_t>(((n * o.height + row) * o.width + column) * o.channels + c)]);
                sum += v, most = std::max(most, v), ++count;
              }
            const double divisor = static_cast<double>(o.count_include_pad ? w.kernel_h * w.kernel_w : count);
            const double want = kind == PoolKind::max ? most : sum / divisor;
            ASSERT_NEAR(static_cast<double>(got[at]), want,
                        kind == PoolKind::max ? 0 : tolerance(8, static_cast<double>(w.kernel_h * w.kernel_w), 3))
                << round;
          }
  }
  EXPECT_GT(done, 20);
}

TEST(Pool, FreesItsInputOnRequestAndLeavesNothingElseBehind) {
  const auto device = open_card();
  const Shape shape{1, 1, 64, 32};
  std::mt19937 rng(2);
  DeviceTensor x = on_card(device, random_values(shape, DType::bfloat16, rng), shape, DType::bfloat16,
                           Layout::row_major, height_shards(8, 8, 32));
  PoolOptions o{.batch = 1, .height = 8, .width = 8, .channels = 32};
  o.window = {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  o.deallocate_input = true;
  {
    const DeviceTensor y = pool2d(PoolKind::max, x, o);
    EXPECT_FALSE(x.is_allocated());
    EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, 2 * 64);
  }
  EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, 0);
}

TEST(GlobalAveragePool, IsTheMeanOfAllPixels) {
  const auto device = open_card();
  std::mt19937 rng(3);
  for (const Layout layout : {Layout::tile, Layout::row_major}) {
    const Shape shape{2, 7, 7, 40};
    const std::vector<float> image = random_values(shape, DType::bfloat16, rng);
    const DeviceTensor y = global_avg_pool2d(on_card(device, image, shape, DType::bfloat16, layout));
    ASSERT_EQ(y.spec().logical_shape(), (Shape{2, 1, 1, 40}));
    EXPECT_EQ(y.spec().layout(), Layout::tile);
    const std::vector<float> got = values_of(y);
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t c = 0; c < 40; ++c) {
        double sum = 0;
        for (std::int64_t i = 0; i < 49; ++i)
          sum += static_cast<double>(image[static_cast<std::size_t>((n * 49 + i) * 40 + c)]);
        ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(n * 40 + c)]), sum / 49, tolerance(8, 49, 0.5));
      }
  }
}

}  // namespace
}  // namespace tessera::tensix
