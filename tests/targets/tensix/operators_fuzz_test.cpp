// Operators asked for anything: the result has the right shape and place, or there is an Error and nothing has changed.

#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/fold/fold.h"
#include "tessera/targets/tensix/ops/pool/pool.h"
#include "tessera/targets/tensix/ops/pool/pool_values.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"

#include "card.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>

namespace tessera::tensix {
namespace {

class Fuzz {
 public:
  explicit Fuzz(unsigned seed) : random_(seed) {}

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool rarely(int one_in) { return pick(1, one_in) == 1; }
  template <class T, std::size_t n>
  T any(const T (&values)[n]) {
    return values[static_cast<std::size_t>(pick(0, n - 1))];
  }

  DType dtype() {
    return any({DType::bfloat16, DType::bfloat16, DType::float32, DType::bfloat8_b, DType::bfloat4_b, DType::int32,
                DType::uint32, DType::uint16, DType::uint8});
  }
  std::int64_t extent() { return rarely(12) ? 0 : rarely(6) ? pick(33, 130) : pick(1, 40); }
  Shape shape(int rank) {
    std::vector<std::int64_t> dims;
    for (int d = 0; d < rank; ++d) dims.push_back(d + 2 < rank ? pick(1, 3) : extent());
    return Shape(std::move(dims));
  }
  // Of a matrix of that size, or of another.
  MemoryConfig place(const Shape& shape) {
    const Extent2d matrix = shape.rank() == 0 ? Extent2d{1, 1} : shape.as_2d();
    const int kind = pick(0, 5);
    if (kind == 0) return kL1MemoryConfig;
    if (kind <= 2) return kDramMemoryConfig;
    const std::int64_t unit = rarely(2) ? 32 : 1;
    const int columns = pick(1, 8), rows = pick(1, 8);
    const auto part = [&](std::int64_t all, std::int64_t parts) {
      const std::int64_t size = std::max<std::int64_t>(round_up(ceil_div(all, parts), unit), rarely(20) ? 0 : 1);
      return rarely(10) ? size + pick(0, 5) : size;
    };
    const CoreRange cores({0, 0}, {columns - 1, rows - 1});
    const ShardOrientation turned = rarely(4) ? ShardOrientation::col_major : ShardOrientation::row_major;
    const BufferType buffer = rarely(8) ? BufferType::dram : BufferType::l1;
    if (kind == 3)
      return MemoryConfig(TensorMemoryLayout::height_sharded, buffer,
                          ShardSpec{cores, {part(matrix.height, rows * columns), part(matrix.width, 1)}, turned});
    if (kind == 4)
      return MemoryConfig(TensorMemoryLayout::width_sharded, buffer,
                          ShardSpec{cores, {part(matrix.height, 1), part(matrix.width, rows * columns)}, turned});
    return MemoryConfig(TensorMemoryLayout::block_sharded, buffer,
                        ShardSpec{cores, {part(matrix.height, rows), part(matrix.width, columns)}, turned});
  }
  std::optional<DeviceTensor> tensor(const std::shared_ptr<Device>& device, const Shape& shape) {
    const DType type = dtype();
    const Layout layout = is_block_float(type) || rarely(2) ? Layout::tile : Layout::row_major;
    std::vector<float> values(static_cast<std::size_t>(shape.volume()));
    for (float& v : values)
      v = is_integer(type) ? static_cast<float>(pick(0, 200))
          : rarely(50)     ? NAN
                           : static_cast<float>(pick(-99, 99)) / 8;
    try {
      return to_device(Tensor::from_float32(values, shape, type, layout), device, place(shape));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << error.what();
      return std::nullopt;
    }
  }

 private:
  std::mt19937 random_;
};

struct Tally {
  int fits = 0, fails = 0;
  std::size_t lists = 0;  // that programs may keep for themselves

  // Whatever is asked, what was there before stays, and only the result is new.
  void ask(const std::shared_ptr<Device>& device, const Shape& want, const std::function<DeviceTensor()>& run) {
    const CardState before(*device);
    try {
      const DeviceTensor y = run();
      ++fits;
      EXPECT_EQ(y.spec().logical_shape(), want);
      EXPECT_LE(device->live_buffers().size(), before.buffers + 1 + lists);
      EXPECT_EQ(from_device(y).to_float32().size(), static_cast<std::size_t>(want.volume()));

    } catch (const Error& error) {
      ++fails;
      EXPECT_NE(error.code(), Code::internal) << error.what();
      EXPECT_FALSE(std::string(error.what()).empty());
      const CardState after(*device);
      EXPECT_EQ(after.l1, before.l1) << error.what();
      EXPECT_EQ(after.dram, before.dram) << error.what();
      EXPECT_EQ(after.buffers, before.buffers) << error.what();
    }
  }
};

std::optional<MemoryConfig> maybe(Fuzz& fuzz, const Shape& shape) {
  return fuzz.rarely(3) ? std::optional(fuzz.place(shape)) : std::nullopt;
}

TEST(OperatorsFuzz, ElementWise) {
  Tally tally;
  const char* names[] = {"relu", "silu", "sigmoid", "square", "neg", "exp", "abs"};
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Fuzz fuzz(seed);
    const auto device = open_card(fuzz.rarely(3) ? "blackhole_p150" : "wormhole_n150");
    const Shape shape = fuzz.shape(fuzz.pick(1, 4));
    const std::optional<DeviceTensor> a = fuzz.tensor(device, shape);
    if (!a) continue;
    if (fuzz.rarely(3)) {
      const VectorFunction function = vector_function(fuzz.any(names));
      UnaryOptions options{.memory_config = maybe(fuzz, shape), .output = {}};
      if (fuzz.rarely(4)) options.output = *a;
      tally.ask(device, shape, [&] { return unary(function.name, std::span(&function, 1), *a, options); });
      continue;
    }
    // The other shape is the same, can be broadcast, or cannot.
    std::vector<std::int64_t> dims = shape.dims();
    for (std::int64_t& d : dims)
      if (fuzz.rarely(4)) d = fuzz.rarely(4) ? fuzz.extent() : 1;
    const Shape other(dims);
    const std::optional<DeviceTensor> b = fuzz.tensor(device, other);
    if (!b) continue;
    const auto kind = fuzz.any({Binary::Kind::add, Binary::Kind::sub, Binary::Kind::mul, Binary::Kind::div,
                                Binary::Kind::min, Binary::Kind::max});
    std::vector<std::int64_t> joined;
    for (std::size_t d = 0; d < dims.size(); ++d) joined.push_back(dims[d] == 1 ? shape.dims()[d] : dims[d]);
    const Shape want(joined);
    BinaryOptions options;
    options.memory_config = maybe(fuzz, want);
    if (fuzz.rarely(4)) options.dtype = fuzz.dtype();
    if (fuzz.rarely(6)) options.output = *a;
    if (fuzz.rarely(4)) options.activations.push_back(vector_function(fuzz.any(names)));
    if (fuzz.rarely(8)) options.a_activations.push_back(vector_function(fuzz.any(names)));
    if (fuzz.rarely(5))
      tally.ask(device, shape, [&] { return binary(kind, *a, fuzz.pick(-3, 3), options); });
    else
      tally.ask(device, want, [&] { return binary(kind, *a, *b, options); });
  }
  EXPECT_GT(tally.fits, 60) << tally.fails;
  EXPECT_GT(tally.fails, 60) << tally.fits;
}

TEST(OperatorsFuzz, Fold) {
  Tally tally;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Fuzz fuzz(seed);
    const auto device = open_card();
    const Shape shape{fuzz.pick(1, 2), fuzz.pick(1, 6) * fuzz.pick(1, 4), fuzz.pick(1, 6) * fuzz.pick(1, 4),
                      fuzz.rarely(20) ? 0 : fuzz.pick(1, 40)};
    const std::optional<DeviceTensor> x = fuzz.tensor(device, fuzz.rarely(20) ? fuzz.shape(3) : shape);
    if (!x) continue;
    FoldOptions options{.stride_h = fuzz.pick(fuzz.rarely(20) ? -1 : 1, 4), .stride_w = fuzz.pick(1, 4)};
    for (std::int64_t& p : options.padding)
      if (fuzz.rarely(4)) p = fuzz.pick(fuzz.rarely(10) ? -1 : 0, 3);
    options.collapse = fuzz.rarely(3);
    const auto& p = options.padding;
    const std::int64_t sh = std::max<std::int64_t>(options.stride_h, 1), sw = options.stride_w;
    const std::int64_t h = std::max<std::int64_t>(shape[1] + p[0] + p[1], 0) / sh,
                       w = std::max<std::int64_t>(shape[2] + p[2] + p[3], 0) / sw, c = shape[3] * sh * sw;
    tally.ask(device, options.collapse ? Shape{1, 1, shape[0] * h * w, c} : Shape{shape[0], h, w, c},
              [&] { return fold(*x, options); });
  }
  EXPECT_GT(tally.fits, 15) << tally.fails;
  EXPECT_GT(tally.fails, 60) << tally.fits;
}

TEST(OperatorsFuzz, Upsample) {
  Tally tally;
  const double scales[] = {1, 2, 3, 4, 0.5, 1.5, 2.25, 0.01, 0, -1, 1e30, INFINITY, NAN};
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Fuzz fuzz(seed);
    const auto device = open_card();
    const Shape shape{fuzz.pick(1, 2), fuzz.pick(1, 12), fuzz.pick(1, 12),
                      fuzz.rarely(20) ? 0 : fuzz.pick(1, 3) * (fuzz.rarely(2) ? 32 : 5)};
    const std::optional<DeviceTensor> x = fuzz.tensor(device, fuzz.rarely(20) ? fuzz.shape(3) : shape);
    if (!x) continue;
    UpsampleOptions options;
    for (double& s : options.scale) s = fuzz.rarely(4) ? fuzz.any(scales) : fuzz.pick(1, 3);
    if (fuzz.rarely(3)) options.mode = UpsampleMode::bilinear;
    std::vector<std::int64_t> dims = shape.dims();
    for (std::size_t d = 0; d < 2; ++d) {
      const double grown = std::floor(static_cast<double>(dims[d + 1]) * options.scale[d]);
      dims[d + 1] = grown > 0 && grown < 1e6 ? static_cast<std::int64_t>(grown) : 0;
    }
    const Shape want(dims);
    options.memory_config = maybe(fuzz, want);
    tally.ask(device, want, [&] { return upsample(*x, options); });
  }
  EXPECT_GT(tally.fits, 60) << tally.fails;
  EXPECT_GT(tally.fails, 60) << tally.fits;
}

TEST(OperatorsFuzz, PoolsInSlicesAndWithIndices) {
  Tally tally;
  tally.lists = 6 * 5;  // of each slice: four of the halo, one of the windows
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Fuzz fuzz(seed);
    const auto device = open_card();
    PoolOptions o{.batch = fuzz.pick(1, 2),
                  .height = fuzz.pick(1, 30),
                  .width = fuzz.pick(1, 40),
                  .channels = fuzz.pick(1, 3) * fuzz.any({16, 32, 5})};
    o.window = {.kernel_h = fuzz.pick(1, 4),
                .kernel_w = fuzz.pick(1, 4),
                .stride_h = fuzz.pick(1, 3),
                .stride_w = fuzz.pick(1, 3),
                .dilation_h = fuzz.rarely(4) ? 2 : 1,
                .top = fuzz.pick(0, 1),
                .bottom = fuzz.pick(0, 1),
                .left = fuzz.pick(0, 2),
                .right = fuzz.pick(0, 1)};
    o.ceil_mode = fuzz.rarely(3);
    if (fuzz.rarely(3)) o.layout = Layout::tile;
    if (fuzz.rarely(4)) o.dtype = DType::bfloat8_b;
    const bool slices = fuzz.rarely(2);
    if (slices)
      o.slice = Conv2dSliceConfig{
          fuzz.any({Conv2dSliceType::dram_height, Conv2dSliceType::dram_width, Conv2dSliceType::l1_full}),
          fuzz.pick(fuzz.rarely(10) ? -1 : 0, 6)};
    if (fuzz.rarely(3)) o.memory_config = fuzz.any({kDramMemoryConfig, kL1MemoryConfig});
    const Shape shape{1, 1, o.batch * o.height * o.width, o.channels};
    std::optional<DeviceTensor> x = fuzz.tensor(device, shape);
    if (!x) continue;
    const PoolValues values{.batch = o.batch,
                            .height = o.height,
                            .width = o.width,
                            .channels = o.channels,
                            .window = o.window,
                            .ceil_mode = o.ceil_mode};
    const std::int64_t oh = values.out_h(), ow = values.out_w();
    const Shape flat{1, 1, o.batch * oh * ow, o.channels}, image{o.batch, oh, ow, o.channels};
    const bool max = fuzz.rarely(2);
    const bool cut = slices && o.slice->type != Conv2dSliceType::l1_full && o.slice->num_slices > 1 &&
                     x->spec().memory_config() == kDramMemoryConfig;
    if (max && fuzz.rarely(2))
      tally.ask(device, flat, [&] { return max_pool2d_with_indices(*x, o).second; });
    else
      tally.ask(device, cut ? image : flat, [&] { return pool2d(max ? PoolKind::max : PoolKind::average, *x, o); });
  }
  EXPECT_GT(tally.fits, 20) << tally.fails;
  EXPECT_GT(tally.fails, 20) << tally.fits;
}

}  // namespace
}  // namespace tessera::tensix
