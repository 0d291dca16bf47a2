#include "tessera/targets/tensix/ops/conv2d/channel_slices.h"

#include "golden.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/pool/pool.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::tensix {
namespace {

std::shared_ptr<Device> open_card() { return Device::open(card_golden::board("n150"), {.l1_small_bytes = 16384}); }

Tensor random_tensor(std::mt19937& random, const Shape& shape, DType dtype = DType::bfloat16) {
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(shape.volume()));
  for (float& v : x) v = normal(random);
  return Tensor::from_float32(x, shape, dtype, Layout::row_major);
}

Conv2dProblem problem_of(std::int64_t channels, std::int64_t out) {
  Conv2dProblem p;
  p.batch = 2, p.height = 9, p.width = 11, p.in_channels = channels, p.out_channels = out;
  p.window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  p.config.shard_layout = TensorMemoryLayout::height_sharded;
  p.config.weights_dtype = DType::bfloat16;
  p.compute.fidelity = MathFidelity::hifi4;
  p.compute.fp32_dest_acc_en = true;
  p.output_dtype = DType::float32;
  return p;
}

struct Operands {
  Tensor input, weights, bias;
};

Operands operands_of(const Conv2dProblem& p, std::uint32_t seed) {
  std::mt19937 random(seed);
  return {random_tensor(random, {1, 1, p.batch * p.height * p.width, p.in_channels}),
          random_tensor(random, {p.out_channels, p.in_channels, p.window.kernel_h, p.window.kernel_w}),
          random_tensor(random, {1, 1, 1, p.out_channels})};
}

std::vector<std::int64_t> allocated(const Device& device) {
  std::vector<std::int64_t> bytes;
  for (const BufferType type : {BufferType::dram, BufferType::l1, BufferType::l1_small})
    bytes.push_back(device.memory_view(type).allocated_bytes_per_bank);
  bytes.push_back(static_cast<std::int64_t>(device.live_buffers().size()));
  return bytes;
}

// Products are exact with four phases and float32 in Dst. What is cut to 10 bits: every partial result and sum that
// is read again, which are at most five times sqrt(depth) large: once for each block of the reduction (a kernel row),
// for each slice, and for the bias, in both ways of computing it.
double bound(const Conv2dProblem& p, std::int64_t slices) {
  const double depth = static_cast<double>(p.in_channels * p.window.kernel_h * p.window.kernel_w);
  return 5 * std::sqrt(depth) * 0x1p-10 * 2 * static_cast<double>(p.window.kernel_h + slices + 1);
}

TEST(ChannelSlices, GiveWhatTheWholeGives) {
  const std::shared_ptr<Device> device = open_card();
  for (const std::int64_t slices : {1, 2, 4})
    for (const bool bias : {true, false})
      for (const char* activation : {"", "relu"})
        for (const auto layout : {TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded}) {
          SCOPED_TRACE(fmt::format("{} slices, bias {}, '{}', {}", slices, bias, activation, name(layout)));
          Conv2dProblem p = problem_of(64, 48);
          p.config.shard_layout = layout;
          if (*activation != '\0') p.config.activation = activation;
          const Operands given = operands_of(p, 7);
          std::optional<Conv2dOperand> b;
          if (bias) b = given.bias;
          const DeviceTensor x = to_device(given.input, device);
          const std::vector<float> whole = from_device(conv2d(x, given.weights, b, p).output).to_float32();
          const ChannelSlicedConv2d y = conv2d_by_channels(x, cut_conv_weights(given.weights, slices), b, p);
          EXPECT_EQ(y.output.spec().memory_config(), kDramMemoryConfig);
          EXPECT_EQ(y.output.spec().dtype(), DType::float32);
          EXPECT_EQ(y.weights.size(), static_cast<std::size_t>(slices));
          EXPECT_EQ(y.bias.has_value(), bias);
          const std::vector<float> values = from_device(y.output).to_float32();
          ASSERT_EQ(values.size(), whole.size());
          double worst = 0;
          for (std::size_t i = 0; i < values.size(); ++i)
            worst = std::max(worst, std::abs(double{values[i]} - whole[i]));
          EXPECT_LE(worst, bound(p, slices));
          if (*activation != '\0') {
            EXPECT_GE(*std::min_element(values.begin(), values.end()), 0.0f);
          }
          // Prepared weights and bias do for the next call.
          std::vector<Conv2dOperand> prepared(y.weights.begin(), y.weights.end());
          if (y.bias) b = *y.bias;
          EXPECT_EQ(from_device(conv2d_by_channels(x, prepared, b, p).output).to_float32(), values);
        }
  EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, 0);
}

// bfloat8_b: every slice's result and every sum is packed, each to 7 bits of the largest of its 16 channels.
TEST(ChannelSlices, ArePackedOnceASliceAndOnceASum) {
  const std::shared_ptr<Device> device = open_card();
  Conv2dProblem p = problem_of(128, 64);
  const Operands given = operands_of(p, 3);
  const DeviceTensor x = to_device(given.input, device);
  const std::vector<float> exact = from_device(conv2d(x, given.weights, std::nullopt, p).output).to_float32();
  p.output_dtype = DType::bfloat8_b;
  p.config.output_layout = Layout::tile;
  const std::int64_t slices = 4;
  const std::vector<float> values =
      from_device(conv2d_by_channels(x, cut_conv_weights(given.weights, slices), std::nullopt, p).output).to_float32();
  float largest = 0;
  for (const float v : exact) largest = std::max(largest, std::abs(v));
  // A unit of a block is 2^-6 of the power of two below its largest; rounding is half of that. The tilized input has
  // as many bits, which every one of the products shares.
  const double inputs = 5 * std::sqrt(static_cast<double>(p.in_channels * 9)) * 5 * 0x1p-7;
  const double limit = 2 * slices * double{largest} * 0x1p-7 + inputs + bound(p, slices);
  double worst = 0, apart = 0, size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double d = double{values[i]} - exact[i];
    worst = std::max(worst, std::abs(d));
    apart += d * d, size += double{exact[i]} * exact[i];
  }
  EXPECT_LE(worst, limit);
  EXPECT_LE(std::sqrt(apart / size), 2 * slices * 0x1p-7);
}

TEST(ChannelSlices, FitWhereTheWholeDoesNot) {
  const std::shared_ptr<Device> device = open_card();
  Conv2dProblem p = problem_of(2048, 32);
  p.batch = 1, p.height = 64, p.width = 64;
  p.compute.fp32_dest_acc_en = false;
  p.output_dtype = DType::bfloat16;
  p.config.act_block_h_override = 32;
  const Operands given = operands_of(p, 5);
  const DeviceTensor x = to_device(given.input, device);
  const std::vector<std::int64_t> before = allocated(*device);
  try {
    conv2d(x, given.weights, given.bias, p);
    FAIL() << "the whole fits: this test needs more channels";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("L1"));
  }
  EXPECT_EQ(allocated(*device), before);
  const ChannelSlicedConv2d y = conv2d_by_channels(x, cut_conv_weights(given.weights, 16), given.bias, p);
  EXPECT_EQ(y.output.spec().logical_shape(), (Shape{1, 1, 64 * 64, 32}));
  EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, 0);
}

TEST(ChannelSlices, LeaveMemoryAsItWasWhenTheyFail) {
  const std::shared_ptr<Device> device = open_card();
  Conv2dProblem p = problem_of(64, 32);
  p.config.deallocate_activation = true;
  const Operands given = operands_of(p, 11);
  const DeviceTensor x = to_memory_config(to_device(given.input, device), kL1MemoryConfig);
  const std::vector<std::int64_t> before = allocated(*device);
  const auto refused = [&](const Conv2dProblem& problem, const std::vector<Conv2dOperand>& weights,
                           const std::optional<Conv2dOperand>& bias, const char* why) {
    try {
      conv2d_by_channels(x, weights, bias, problem);
      ADD_FAILURE() << "no error: " << why;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
    EXPECT_EQ(allocated(*device), before) << why;
    EXPECT_TRUE(x.is_allocated()) << why;
  };
  const std::vector<Conv2dOperand> cut = cut_conv_weights(given.weights, 4);
  refused(p, {}, std::nullopt, "64 channels cannot be cut into 0 equal slices");
  refused(p, {cut[0], cut[1], cut[2]}, std::nullopt, "64 channels cannot be cut into 3 equal slices");
  Conv2dProblem grouped = p;
  grouped.groups = 2;
  refused(grouped, cut, std::nullopt, "channels of 2 groups cannot be sliced");
  Conv2dProblem named = p;
  named.config.activation = "rleu";
  refused(named, cut, std::nullopt, "no activation is called 'rleu'");
  Conv2dProblem odd = p;
  odd.config.act_block_h_override = 48;
  refused(odd, cut, std::nullopt, "48");
  std::mt19937 random(2);
  const Tensor short_bias = random_tensor(random, {1, 1, 1, 31});
  refused(p, cut, short_bias, "31");
  // The third of four: two slices have been computed and freed by then.
  std::vector<Conv2dOperand> wrong = cut;
  wrong[2] = random_tensor(random, {32, 8, 3, 3});
  refused(p, wrong, given.bias, "8");

  conv2d_by_channels(x, cut, given.bias, p);
  EXPECT_FALSE(x.is_allocated());
  EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, 0);
}

TEST(ChannelSlices, OfAPoolMeetInDram) {
  const std::shared_ptr<Device> device = open_card();
  std::mt19937 random(13);
  PoolOptions options{.batch = 1, .height = 14, .width = 10, .channels = 64};
  options.window = {3, 3, 2, 2, 1, 1, 1, 1, 1, 1};
  DeviceTensor x = to_device(random_tensor(random, {1, 14, 10, 64}), device);
  const std::vector<float> whole = from_device(pool2d(PoolKind::max, x, options)).to_float32();
  PoolOptions part = options;
  part.channels = 16;
  int calls = 0;
  const DeviceTensor y = run_on_channels(x, 4, [&](DeviceTensor& slice) {
    ++calls;
    return pool2d(PoolKind::max, slice, part);
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(y.spec().memory_config(), kDramMemoryConfig);
  EXPECT_EQ(from_device(y).to_float32(), whole);

  const std::vector<std::int64_t> before = allocated(*device);
  const auto fails_late = [&](DeviceTensor& slice) {
    if (++calls == 7) fail(Code::internal, "the third one breaks");
    return pool2d(PoolKind::max, slice, part);
  };
  EXPECT_THROW(run_on_channels(x, 4, fails_late), Error);
  EXPECT_EQ(allocated(*device), before);
  EXPECT_TRUE(x.is_allocated());
}

TEST(ChannelSlices, CutTensorsWhereTheyLie) {
  const std::shared_ptr<Device> device = open_card();
  std::mt19937 random(17);
  const Tensor host = random_tensor(random, {1, 1, 256, 64});
  const DeviceTensor x = to_device(host, device);
  const std::vector<DeviceTensor> one = cut_channels(x, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].address(), x.address());
  const std::vector<DeviceTensor> parts = cut_channels(x, 2);
  ASSERT_EQ(parts.size(), 2u);
  const std::vector<float> all = host.to_float32();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parts[i].spec().memory_config(), x.spec().memory_config());
    const std::vector<float> values = from_device(parts[i]).to_float32();
    for (std::size_t r = 0; r < 256; ++r)
      for (std::size_t c = 0; c < 32; ++c) ASSERT_EQ(values[r * 32 + c], all[r * 64 + i * 32 + c]);
  }
  EXPECT_THROW(cut_channels(x, 3), Error);
}

}  // namespace
}  // namespace tessera::tensix
