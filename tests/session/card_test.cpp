#include "tessera/session/card.h"

#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera::tensix {
namespace {

using testing::Each;
using testing::HasSubstr;

Tensor ones(const Shape& shape, Layout layout = Layout::row_major) {
  const std::vector<float> values(static_cast<std::size_t>(shape.volume()), 1.0f);
  return Tensor::from_float32(values, shape, DType::bfloat16, layout);
}

TEST(Card, RunsAConvolutionAndAPool) {
  const Card card(load_machine("wormhole_n150"), {.l1_small_bytes = 16384});
  const CardTensor x = card.to_device(ones({1, 1, 32 * 32, 32}));
  Conv2dProblem problem;
  problem.height = problem.width = 32;
  problem.in_channels = problem.out_channels = 32;
  problem.window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  const CardConv2d y = card.conv2d(x, ones({32, 32, 3, 3}), std::nullopt, problem);
  EXPECT_EQ(y.out_h, 32);
  EXPECT_EQ(y.out_w, 32);
  EXPECT_GT(y.peak_bytes_per_core, 0);
  const std::vector<float> values = card.from_device(y.output).to_float32();
  EXPECT_EQ(values[(16 * 32 + 16) * 32], 9 * 32);  // inside: the whole window
  EXPECT_EQ(values[0], 4 * 32);                    // at a corner
  const CardTensor pooled = card.max_pool2d(y.output, 1, 32, 32, 32, {2, 2, 2, 2, 1, 1, 0, 0, 0, 0});
  EXPECT_EQ(pooled.spec().logical_shape(), Shape({1, 1, 16 * 16, 32}));
}

TEST(Card, MultipliesAndAdds) {
  const Card card(load_machine("wormhole_n150"));
  const CardTensor a = card.to_device(ones({64, 64}, Layout::tile));
  EXPECT_THAT(card.from_device(card.matmul(a, a)).to_float32(), Each(64.0f));
  EXPECT_THAT(card.from_device(card.add(a, a)).to_float32(), Each(2.0f));
}

TEST(Card, MemoryGoesWithTheLastHandle) {
  const Card card(load_machine("wormhole_n150"), {.values = false});
  const std::int64_t before = card.allocated_bytes_per_bank(BufferType::l1);
  {
    const TensorSpec spec({1, 1, 64, 64}, DType::bfloat16, Layout::tile, kL1MemoryConfig);
    CardTensor x = card.allocate(spec);
    const CardTensor copy = x;
    EXPECT_GT(card.allocated_bytes_per_bank(BufferType::l1), before);
    EXPECT_EQ(copy.address(), x.address());
  }
  EXPECT_EQ(card.allocated_bytes_per_bank(BufferType::l1), before);
}

TEST(Card, OtherFamiliesAreRefused) {
  EXPECT_THAT(for_tests::error_of([] { Card(load_machine("trainium2")); }), HasSubstr("trainium2"));
}

}  // namespace
}  // namespace tessera::tensix
