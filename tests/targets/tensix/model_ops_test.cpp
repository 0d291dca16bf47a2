// Operators that models call: values by plain arithmetic, prices of their programs, and refusals that change nothing.

#include "tests/targets/tensix/card.h"

#include "tessera/targets/tensix/ops/attention/attention.h"
#include "tessera/targets/tensix/ops/attention/heads.h"
#include "tessera/targets/tensix/ops/backward/backward.h"
#include "tessera/targets/tensix/ops/batch_norm/batch_norm.h"
#include "tessera/targets/tensix/ops/composites/composites.h"
#include "tessera/targets/tensix/ops/gather/gather.h"
#include "tessera/targets/tensix/ops/grid_sample/grid_sample.h"
#include "tessera/targets/tensix/ops/group_norm/group_norm.h"
#include "tessera/targets/tensix/ops/padding/padding.h"
#include "tessera/targets/tensix/ops/random/random.h"
#include "tessera/targets/tensix/ops/roll/roll.h"
#include "tessera/targets/tensix/ops/softmax/masked_softmax.h"
#include "tessera/targets/tensix/ops/sort/sort.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

namespace tessera::tensix {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class ModelOps : public testing::Test {
 protected:
  DeviceTensor put(const std::vector<float>& values, const Shape& shape, DType dtype = DType::float32,
                   Layout layout = Layout::tile) const {
    return on_card(device, values, shape, dtype, layout);
  }
  DeviceTensor full(const Shape& shape, DType dtype = DType::bfloat16, Layout layout = Layout::tile) const {
    return put(std::vector<float>(static_cast<std::size_t>(shape.volume()), 1.0f), shape, dtype, layout);
  }
  void refuses(const std::function<void()>& call, std::string_view text) const {
    const CardState before(*device);
    try {
      call();
      ADD_FAILURE() << "not refused: " << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(text)));
    }
    EXPECT_TRUE(before == CardState(*device)) << text;
  }

  std::shared_ptr<Device> device = open_card();
};

TEST_F(ModelOps, EveryProgramHasAPrice) {
  const DeviceTensor image = full(Shape{1, 4, 4, 32}, DType::bfloat16, Layout::row_major);
  const DeviceTensor heads = full(Shape{1, 2, 64, 32}), rows = full(Shape{1, 1, 64, 192});
  const DeviceTensor index = full(Shape{1, 1, 64, 32}, DType::uint32);
  device->clear_trace();
  attention(heads, heads, heads, {});
  create_qkv_heads("nlp_create_qkv_heads", rows, std::nullopt, {.heads = 2});
  concat_heads("nlp_concat_heads", heads);
  masked_softmax("softmax_in_place", rows, {.in_place = true});
  gather(rows, 3, index);
  scatter(rows, 3, index, full(Shape{1, 1, 64, 32}));
  sort(rows);
  topk(rows, 4, 3);
  nonzero(rows);
  roll(rows, std::array<std::int64_t, 1>{3}, std::array{1});
  group_norm(rows, {.groups = 3});
  batch_norm(full(Shape{1, 2, 32, 32}), {.mean = full(Shape{1, 2, 1, 1}), .variance = full(Shape{1, 2, 1, 1})});
  grid_sample(image, full(Shape{1, 2, 2, 2}, DType::float32, Layout::row_major), {});
  rotate(image, 30, {});
  fill_padding(full(Shape{1, 1, 5, 5}), 2);
  uniform(rows, 0, 1, 3);
  backward(backward_function("tanh_bw"), rows, rows);
  ASSERT_GT(device->trace().size(), 17u);
  for (const TraceRecord& record : device->trace()) {
    if (!is_program(record)) continue;
    EXPECT_GT(time_of(record, device->card(), costs_of(device->machine())).ns, 0) << record.op();
  }
}

TEST_F(ModelOps, IndicesPickAndPut) {
  const DeviceTensor x = put({1, 2, 3, 4, 5, 6}, Shape{2, 3});
  const DeviceTensor index = put({2, 0, 1, 1}, Shape{2, 2}, DType::uint32);
  EXPECT_THAT(values_of(gather(x, 1, index)), ElementsAre(3, 1, 5, 5));
  const DeviceTensor to = put({1, 2, 3, 4, 5, 6}, Shape{2, 3}, DType::float32, Layout::row_major),
                     source = put({7, 8, 9, 10}, Shape{2, 2}, DType::float32, Layout::row_major),
                     places = put({2, 0, 1, 1}, Shape{2, 2}, DType::int32, Layout::row_major);
  EXPECT_THAT(values_of(scatter(to, 1, places, source)), ElementsAre(8, 2, 7, 4, 10, 6));
  EXPECT_THAT(values_of(scatter(to, 1, places, source, ScatterRule::add)), ElementsAre(9, 2, 10, 4, 24, 6));
  EXPECT_THAT(values_of(index_fill(to, 0, put({1}, Shape{1}, DType::uint32, Layout::row_major), 9)),
              ElementsAre(1, 2, 3, 9, 9, 9));
  const DeviceTensor beyond = put({3, 0, 0, 0}, Shape{2, 2}, DType::uint32),
                     narrow = put({1, 2, 3, 4}, Shape{2, 2}, DType::bfloat16, Layout::row_major);
  refuses([&] { gather(x, 1, beyond); }, "index 3 is not below 3");
  refuses([&] { gather(x, 2, index); }, "dimension 2 is out of bounds");
  refuses([&] { scatter(to, 0, places, narrow); }, "both must have the same dtype");
}

TEST_F(ModelOps, SortKeepsTheOrderOfEqualElementsAndPutsNanLast) {
  const DeviceTensor x = put({2, NAN, 1, 2, -1}, Shape{1, 5});
  const auto [values, where] = sort(x);
  EXPECT_THAT(values_of(where), ElementsAre(4, 2, 0, 3, 1));
  EXPECT_TRUE(std::isnan(values_of(values).back()));
  EXPECT_THAT(values_of(topk(x, 2, 1, {.largest = false}).second), ElementsAre(4, 2));
  const DeviceTensor integers = put({1, 2}, Shape{1, 2}, DType::int32);
  refuses([&] { sort(integers); }, "must be BFLOAT16, UINT16 or FLOAT32");
}

TEST_F(ModelOps, AttentionOfEqualKeysIsTheMeanOfTheValuesThatAreSeen) {
  std::vector<float> values(64 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 32);
  const DeviceTensor ones = full(Shape{1, 1, 64, 32}), v = put(values, Shape{1, 1, 64, 32}, DType::bfloat16);
  const std::vector<float> causal = values_of(attention(ones, ones, v, {}));
  for (const std::size_t row : {0u, 1u, 31u, 63u})  // the mean of 0 .. row; bfloat16 has 8 bits
    EXPECT_NEAR(causal[row * 32], static_cast<float>(row) / 2, 0.01 + static_cast<double>(row) / 256) << row;
  const DeviceTensor mask = full(Shape{1, 1, 64, 64}), few = full(Shape{1, 1, 32, 32});
  refuses([&] { attention(ones, ones, v, {.mask = mask}); }, "do not go together");
  refuses([&] { attention(ones, few, v, {.causal = false}); }, "there are 32 keys and 64 values");
}

TEST_F(ModelOps, BlocksOfShardsMustBeTheShards) {
  const DeviceTensor x = on_card(device, std::vector<float>(64 * 64, 1.0f), Shape{1, 1, 64, 64}, DType::bfloat16,
                                 Layout::tile, height_shards(2, 32, 64));
  const SoftmaxBlocks blocks{.grid = {1, 2}, .subblock_w = 1, .block_h = 1, .block_w = 2};
  EXPECT_THAT(values_of(masked_softmax("softmax_in_place", x, {.in_place = true, .blocks = blocks})), Each(1.0f / 64));
  SoftmaxBlocks high = blocks;
  high.block_h = 2;
  refuses([&] { masked_softmax("softmax_in_place", x, {.in_place = true, .blocks = high}); },
          "block_h (2) must match the shard height in tiles (1)");
}

TEST_F(ModelOps, GradientsFollowTheirLines) {
  const DeviceTensor x = put({0.5f, 2}, Shape{1, 2}), g = put({1, 3}, Shape{1, 2});
  EXPECT_THAT(values_of(backward(backward_function("square_bw"), g, x)), ElementsAre(1, 12));
  EXPECT_THAT(values_of(backward(backward_function("pow_bw"), g, x, std::array{3.0f})), ElementsAre(0.75f, 36));
  const auto [a, b] = backward(backward_binary_function("mul_bw"), g, x, put({4, 5}, Shape{1, 2}));
  EXPECT_THAT(values_of(a), ElementsAre(4, 15));
  EXPECT_THAT(values_of(b), ElementsAre(0.5f, 6));
  refuses([&] { backward(backward_function("pow_bw"), g, x); }, "exponent must be given");
  EXPECT_GT(backward_functions().size() + backward_binary_functions().size(), 80u);
}

}  // namespace
}  // namespace tessera::tensix
