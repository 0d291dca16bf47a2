// slice, pad and concat against plain index arithmetic on the host.

#include "random_tensors.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/pad/pad.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"
#include "tests/targets/tensix/relu.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::tensix {
namespace {

namespace tr = testing_random;

// Visits every index of a shape.
template <class Visit>
void each_index(const Shape& shape, Visit&& visit) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < shape.volume(); ++i) {
    visit(at);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < shape.dims()[d]) break;
      at[d] = 0;
    }
  }
}

std::int64_t offset(const Shape& shape, const std::vector<std::int64_t>& at) {
  std::int64_t o = 0;
  for (std::size_t d = 0; d < at.size(); ++d) o = o * shape.dims()[d] + at[d];
  return o;
}

class ShapeOps : public testing::Test {
 protected:
  std::shared_ptr<Device> device = Device::open(load_machine("wormhole_n150"));
  tr::Rng rng{7};

  // Small whole numbers: exact in every dtype used here.
  Tensor counting(const Shape& shape, DType dtype, Layout layout) {
    std::vector<float> values(static_cast<std::size_t>(shape.volume()));
    for (float& v : values) v = static_cast<float>(tr::between(rng, 0, 100));
    return Tensor::from_float32(values, shape, dtype, layout);
  }
};

TEST_F(ShapeOps, SliceTakesWhatItSays) {
  for (int trial = 0; trial < 200; ++trial) {
    const Layout layout = trial % 2 ? Layout::tile : Layout::row_major;
    const Shape shape = tr::shape(rng, 70);
    const Tensor x =
        counting(shape, tr::pick(rng, std::vector{DType::bfloat16, DType::float32, DType::uint16}), layout);
    std::vector<std::int64_t> begins, ends, steps, dims;
    for (std::int64_t extent : shape) {
      const std::int64_t begin = tr::between(rng, 0, extent - 1), end = tr::between(rng, begin + 1, extent);
      const std::int64_t step = tr::between(rng, 0, 3) ? 1 : tr::between(rng, 1, 3);
      dims.push_back(ceil_div(end - begin, step));
      begins.push_back(tr::between(rng, 0, 1) ? begin : begin - extent);
      ends.push_back(end);
      steps.push_back(step);
    }
    const DeviceTensor t = to_device(x, device);
    const Tensor y = from_device(slice(t, begins, ends, steps));
    ASSERT_EQ(y.shape(), Shape(dims));
    const std::vector<float> in = x.to_float32(), out = y.to_float32();
    each_index(y.shape(), [&](const std::vector<std::int64_t>& at) {
      std::vector<std::int64_t> from(at.size());
      for (std::size_t d = 0; d < at.size(); ++d)
        from[d] = (begins[d] < 0 ? begins[d] + shape.dims()[d] : begins[d]) + at[d] * steps[d];
      ASSERT_EQ(out[static_cast<std::size_t>(offset(y.shape(), at))],
                in[static_cast<std::size_t>(offset(shape, from))]);
    });
  }
  EXPECT_EQ(device->memory_view(BufferType::dram).allocated_bytes_per_bank, 0);
}

TEST_F(ShapeOps, SliceRefusesWhatIsOutside) {
  const DeviceTensor t = to_device(counting(Shape{64, 64}, DType::bfloat16, Layout::tile), device);
  const std::vector<std::int64_t> zero{0, 0}, one{1, 1};
  EXPECT_THROW(slice(t, zero, std::vector<std::int64_t>{64, 65}, one), Error);
  EXPECT_THROW(slice(t, std::vector<std::int64_t>{-65, 0}, std::vector<std::int64_t>{64, 64}, one), Error);
  EXPECT_THROW(slice(t, zero, std::vector<std::int64_t>{64, 64}, std::vector<std::int64_t>{1, 0}), Error);
  EXPECT_THROW(slice(t, std::vector<std::int64_t>{0}, std::vector<std::int64_t>{64}, std::vector<std::int64_t>{1}),
               Error);
  EXPECT_EQ(slice(t, std::vector<std::int64_t>{5, 5}, std::vector<std::int64_t>{5, 64}, one).spec().logical_shape(),
            (Shape{0, 59}));
}

TEST_F(ShapeOps, PadSurroundsTheValues) {
  for (int trial = 0; trial < 100; ++trial) {
    const bool tiled = trial % 2;
    const Shape shape = tr::shape(rng, 40);
    const Tensor x = counting(shape, DType::bfloat16, tiled ? Layout::tile : Layout::row_major);
    std::vector<std::pair<std::int64_t, std::int64_t>> padding;
    for (int i = 0; i < shape.rank(); ++i)
      padding.emplace_back(tiled ? 0 : tr::between(rng, 0, 5), tr::between(rng, 0, 40));
    const DeviceTensor t = to_device(x, device);
    const Tensor y = from_device(pad(t, padding, 77.0f));
    const std::vector<float> in = x.to_float32(), out = y.to_float32();
    each_index(y.shape(), [&](const std::vector<std::int64_t>& at) {
      std::vector<std::int64_t> from(at.size());
      bool inside = true;
      for (std::size_t d = 0; d < at.size(); ++d) {
        from[d] = at[d] - padding[d].first;
        inside = inside && from[d] >= 0 && from[d] < shape.dims()[d];
      }
      const float want = inside ? in[static_cast<std::size_t>(offset(shape, from))] : 77.0f;
      ASSERT_EQ(out[static_cast<std::size_t>(offset(y.shape(), at))], want);
    });
  }
}

TEST_F(ShapeOps, ConcatPutsOneAfterTheOther) {
  for (int trial = 0; trial < 100; ++trial) {
    const Shape first = tr::shape(rng, 50);
    const int dim = static_cast<int>(tr::between(rng, 0, first.rank() - 1));
    const int count = static_cast<int>(tr::between(rng, 2, 4));
    const Layout layout = trial % 2 ? Layout::tile : Layout::row_major;
    std::vector<Tensor> host;
    std::vector<std::vector<float>> in;
    std::vector<DeviceTensor> parts;
    for (int i = 0; i < count; ++i) {
      std::vector<std::int64_t> dims = first.dims();
      dims[static_cast<std::size_t>(dim)] = tr::between(rng, 1, 40);
      host.push_back(counting(Shape(dims), DType::bfloat16, layout));
      in.push_back(host.back().to_float32());
      parts.push_back(to_device(host.back(), device));
    }
    const Tensor y = from_device(concat(parts, trial % 3 ? dim : dim - first.rank()));
    const std::vector<float> out = y.to_float32();
    each_index(y.shape(), [&](const std::vector<std::int64_t>& at) {
      std::vector<std::int64_t> from = at;
      std::size_t part = 0;
      while (from[static_cast<std::size_t>(dim)] >= host[part].shape()[dim])
        from[static_cast<std::size_t>(dim)] -= host[part++].shape()[dim];
      ASSERT_EQ(out[static_cast<std::size_t>(offset(y.shape(), at))],
                in[part][static_cast<std::size_t>(offset(host[part].shape(), from))]);
    });
  }
}

TEST_F(ShapeOps, ConcatRefusesWhatDoesNotFitTogether) {
  const DeviceTensor a = to_device(counting(Shape{32, 32}, DType::bfloat16, Layout::tile), device);
  const DeviceTensor b = to_device(counting(Shape{32, 64}, DType::bfloat16, Layout::tile), device);
  const DeviceTensor c = to_device(counting(Shape{32, 32}, DType::float32, Layout::tile), device);
  EXPECT_THROW(concat(std::vector{a, b}, 0), Error);
  EXPECT_THROW(concat(std::vector{a, c}, 0), Error);
  EXPECT_THROW(concat(std::vector{a, a}, 2), Error);
  EXPECT_THROW(concat(std::vector<DeviceTensor>{}, 0), Error);
  EXPECT_EQ(concat(std::vector{a, b}, 1).spec().logical_shape(), (Shape{32, 96}));
}

TEST_F(ShapeOps, TypecastRoundsToNearestEven) {
  // 1 + 1/256 is a tie between two bfloat16 values; host and card both go to even.
  const std::vector<float> values(1024, 1.0f + 1.0f / 256);
  const DeviceTensor t = to_device(Tensor::from_float32(values, Shape{32, 32}, DType::float32, Layout::tile), device);
  EXPECT_EQ(from_device(typecast(t, DType::bfloat16)).to_float32().front(), 1.0f);
  EXPECT_EQ(Tensor::from_float32(values, Shape{32, 32}, DType::bfloat16, Layout::tile).to_float32().front(), 1.0f);
  EXPECT_THROW(typecast(t, DType::bfloat16,
                        MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1,
                                     ShardSpec{CoreRange(CoreCoord{0, 0}), {32, 32}})),
               Error);
}

TEST_F(ShapeOps, ReluKeepsNaN) {
  std::vector<float> values(1024, -1.0f);
  values[1] = 2.5f;
  values[2] = std::nanf("");
  const DeviceTensor t = to_device(Tensor::from_float32(values, Shape{32, 32}, DType::float32, Layout::tile), device);
  const std::vector<float> out = from_device(relu(t)).to_float32();
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], 2.5f);
  EXPECT_TRUE(std::isnan(out[2]));
}

}  // namespace
}  // namespace tessera::tensix
