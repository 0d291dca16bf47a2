#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include "conv2d_plan_case.h"
#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <regex>

namespace tessera::tensix {
namespace {

using card_golden::Json;
using ::testing::HasSubstr;

std::vector<std::int64_t> sizes(const Conv2dPlan& plan) {
  std::vector<std::int64_t> out;
  for (const PlannedBuffer& buffer : plan.circular_buffers) out.push_back(buffer.bytes);
  return out;
}

std::int64_t halo_bytes(const Conv2dPlan& plan) {
  if (!plan.has_halo) return 0;
  HaloProblem halo;
  halo.batch = plan.problem.batch;
  halo.height = plan.problem.height;
  halo.width = plan.problem.width;
  halo.window = plan.problem.window;
  return plan_halo(halo, plan.input, plan.input_shard, plan.output_shard.height, plan.problem.input_dtype,
                   plan.problem.input_layout)
      .out_bytes_per_core();
}

std::int64_t output_bytes(const Conv2dPlan& plan) {
  const DType dtype = plan.problem.output_dtype;
  if (plan.problem.config.output_layout == Layout::row_major) return plan.output_shard.area() * element_bytes(dtype);
  return plan.output_shard.area() / Tile{}.elements() * tile_bytes(Tile{}, dtype);
}

void expect_refused(const Json& r, const TensixSpec& card) {
  const std::string real = r["error"];
  try {
    plan_conv2d(card_golden::conv2d_problem(r), card);
    ADD_FAILURE() << "planned what the real one refuses: " << real;
  } catch (const Error& error) {
    const std::string ours = error.message();
    const std::regex number(R"(\d+)");
    if (real.starts_with("datum") || real.starts_with("Calculated")) return;  // what it trips over, not the cause
    for (std::sregex_iterator it(real.begin(), real.end(), number), end; it != end; ++it)
      EXPECT_THAT(ours, HasSubstr(it->str())) << "the real one says: " << real;
  }
}

void expect_planned(const Json& r, const TensixSpec& card) {
  const Conv2dPlan plan = plan_conv2d(card_golden::conv2d_problem(r), card);
  EXPECT_EQ(name(plan.output_memory().layout()), r["memory"].get<std::string>());
  if (!r["shard"].is_null()) {
    EXPECT_EQ((std::vector{plan.output_shard.height, plan.output_shard.width}),
              r["shard"].get<std::vector<std::int64_t>>());
    EXPECT_EQ(plan.output.cores.to_string(), r["cores"].get<std::string>());
  }
  if (plan.as_matmul) {
    EXPECT_TRUE(r["cbs"].empty());
    if (r.contains("dfb")) {
      EXPECT_EQ(plan.circular_buffer_bytes(), r["dfb"].get<std::int64_t>());
    }
    return;
  }
  EXPECT_EQ(sizes(plan), r["cbs"].get<std::vector<std::int64_t>>());
  EXPECT_EQ(halo_bytes(plan), r["halo"].get<std::int64_t>());
  EXPECT_EQ(output_bytes(plan), r["out"].get<std::int64_t>());
}

TEST(Conv2dPlan, AsksForWhatTheRealOneAsksFor) {
  const std::vector<Json> records = card_golden::load_lines("conv2d_plan.jsonl");
  ASSERT_GT(records.size(), 300u);
  std::map<std::string, Machine> boards;
  for (const Json& r : records) {
    SCOPED_TRACE(r.dump());
    const std::string board = r["board"];
    if (!boards.contains(board)) boards.emplace(board, card_golden::board(board));
    const TensixSpec& card = *boards.at(board).tensix;
    try {
      r.contains("error") ? expect_refused(r, card) : expect_planned(r, card);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Any configuration at all: sensible, odd or absurd.
class Fuzz {
 public:
  explicit Fuzz(std::uint64_t seed) : random_(seed) {}

  Conv2dProblem problem(const TensixSpec& card) {
    Conv2dProblem p;
    p.batch = extent({1, 1, 2, 4, 8, 16});
    p.height = extent({1, 3, 7, 14, 28, 33, 56, 112, 224});
    p.width = extent({1, 5, 7, 14, 28, 47, 56, 112, 640});
    p.in_channels = extent({1, 3, 8, 16, 20, 32, 48, 64, 100, 256, 512});
    p.out_channels = chance(4) ? p.in_channels : extent({1, 8, 32, 40, 64, 255, 256, 1000});
    p.groups = chance(4) ? p.in_channels : extent({1, 1, 1, 2, 4});
    SlidingWindow& w = p.window;
    w.kernel_h = extent({1, 1, 2, 3, 3, 5, 7});
    w.kernel_w = extent({1, 1, 2, 3, 3, 5, 7});
    for (std::int64_t* stride : {&w.stride_h, &w.stride_w}) *stride = extent({1, 1, 1, 2, 3});
    for (std::int64_t* dilation : {&w.dilation_h, &w.dilation_w}) *dilation = extent({1, 1, 1, 2});
    for (std::int64_t* pad : {&w.top, &w.bottom, &w.left, &w.right}) *pad = extent({0, 0, 1, 1, 2, 3});
    p.has_bias = chance(2);
    for (DType* dtype : {&p.input_dtype, &p.weights_dtype, &p.output_dtype}) *dtype = any_dtype();
    p.input_layout = chance(2) ? Layout::tile : Layout::row_major;
    config(p.config, card);
    p.compute.fp32_dest_acc_en = chance(2);
    p.compute.packer_l1_acc = chance(2);
    if (chance(4)) p.input_memory = shards(card);
    return p;
  }

 private:
  bool chance(int in) { return std::uniform_int_distribution<>(1, in)(random_) == 1; }

  std::int64_t extent(std::initializer_list<std::int64_t> usual) {
    static constexpr std::array<std::int64_t, 12> kOdd{
        0, -1, -32, 31, 97, 1'000'003, 1 << 30, INT64_C(1) << 31, INT64_C(1) << 40, INT64_MAX, INT64_MIN, 65536};
    if (chance(60)) return kOdd[std::uniform_int_distribution<std::size_t>(0, kOdd.size() - 1)(random_)];
    return usual.begin()[std::uniform_int_distribution<std::size_t>(0, usual.size() - 1)(random_)];
  }

  DType any_dtype() {
    if (chance(40))
      return all_dtypes()[std::uniform_int_distribution<std::size_t>(0, all_dtypes().size() - 1)(random_)];
    static constexpr std::array<DType, 3> kUsual{DType::bfloat16, DType::float32, DType::bfloat8_b};
    return kUsual[std::uniform_int_distribution<std::size_t>(0, 2)(random_)];
  }

  TensorMemoryLayout any_layout() {
    static constexpr std::array<TensorMemoryLayout, 3> kLayouts{
        TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded, TensorMemoryLayout::width_sharded};
    return chance(50) ? TensorMemoryLayout::interleaved
                      : kLayouts[std::uniform_int_distribution<std::size_t>(0, 2)(random_)];
  }

  CoreRange grid(const TensixSpec& card) {
    const int beyond = chance(30) ? 3 : 0;
    return CoreRange({0, 0}, {std::uniform_int_distribution<>(0, card.grid_x - 1 + beyond)(random_),
                              std::uniform_int_distribution<>(0, card.grid_y - 1 + beyond)(random_)});
  }

  MemoryConfig shards(const TensixSpec& card) {
    TensorMemoryLayout layout = any_layout();
    if (layout == TensorMemoryLayout::interleaved) return kL1MemoryConfig;
    return MemoryConfig(layout, BufferType::l1,
                        ShardSpec{grid(card),
                                  {extent({32, 64, 100, 1568}), extent({8, 16, 32, 33, 64})},
                                  chance(4) ? ShardOrientation::col_major : ShardOrientation::row_major});
  }

  void config(Conv2dConfig& c, const TensixSpec& card) {
    static constexpr std::array<int, 14> kHeights{0, 0, 0, 0, 32, 32, 64, 96, 128, 1568, 48, -32, INT_MAX, INT_MIN};
    static constexpr std::array<int, 9> kDivisors{1, 1, 1, 1, 2, 3, 0, -1, INT_MAX};
    if (!chance(3)) c.shard_layout = any_layout();
    c.act_block_h_override = kHeights[std::uniform_int_distribution<std::size_t>(0, kHeights.size() - 1)(random_)];
    if (chance(4)) c.act_block_w_div = kDivisors[std::uniform_int_distribution<std::size_t>(0, 8)(random_)];
    c.enable_act_double_buffer = chance(2);
    c.enable_weights_double_buffer = chance(2);
    c.enable_activation_reuse = chance(8);
    c.full_inner_dim = chance(4);
    c.transpose_shards = chance(4);
    c.config_tensors_in_dram = chance(4);
    c.reshard_if_not_optimal = chance(6);
    c.override_sharding_config = chance(6);
    c.override_output_sharding_config = chance(12);
    if (chance(3)) c.core_grid = CoreRangeSet(grid(card));
    if (chance(4)) c.force_split_reader = chance(2);
    if (chance(8)) c.enable_kernel_stride_folding = chance(2);
    c.output_layout = chance(4) ? Layout::row_major : Layout::tile;
  }

  std::mt19937_64 random_;
};

void expect_sound(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  const std::int64_t rows = p.batch * p.out_h() * p.out_w();
  EXPECT_GT(rows, 0);
  EXPECT_GE(plan.output.row_parts * plan.output_shard.height, rows);
  EXPECT_GE(plan.output.channel_parts * plan.output_shard.width, p.out_channels);
  EXPECT_EQ(plan.output_shard.height % 32, 0);
  EXPECT_EQ(plan.output_shard.width % 32, 0);
  EXPECT_GE(plan.in_channels_padded, p.in_channels);
  EXPECT_GT(plan.act_block_w, 0);
  ASSERT_GT(plan.act_block_h, 0);
  EXPECT_EQ(plan.weight_block_w * 32, plan.output_shard.width);
  EXPECT_EQ(plan.weight_block_w % plan.out_subblock_w, 0);
  EXPECT_EQ(plan.act_block_h % plan.out_subblock_h, 0);
  EXPECT_LE(plan.out_subblock_h * plan.out_subblock_w, p.compute.fp32_dest_acc_en ? 4 : 8);
  if (plan.moves_input) {
    EXPECT_GE(plan.input.row_parts * plan.input_shard.height, p.batch * p.height * p.width);
    EXPECT_GE(plan.input.channel_parts * plan.input_shard.width, p.in_channels);
  }
  for (const PlannedBuffer& buffer : plan.circular_buffers) {
    EXPECT_GT(buffer.bytes, 0) << buffer.name;
    EXPECT_GT(buffer.pages, 0) << buffer.name;
  }
  if (plan.as_matmul) return;
  EXPECT_EQ(plan.output_shard.height / 32 % plan.act_block_h, 0);
  EXPECT_FALSE(plan.circular_buffers.empty());
}

TEST(Conv2dPlan, SurvivesAnyConfiguration) {
  const std::array<Machine, 3> boards{card_golden::board("n150"), card_golden::board("p150"),
                                      card_golden::board("p100")};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  int planned = 0, refused = 0;
  for (std::uint64_t seed = 0; std::chrono::steady_clock::now() < end; ++seed) {
    const TensixSpec& card = *boards[seed % boards.size()].tensix;
    const Conv2dProblem problem = Fuzz(seed).problem(card);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    try {
      expect_sound(plan_conv2d(problem, card));
      ++planned;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << error.what();
      EXPECT_FALSE(error.message().empty());
      ++refused;
    }
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(planned, 100);
  EXPECT_GT(refused, 100);
}

Conv2dProblem stage_one() {
  Conv2dProblem p;
  p.batch = 16, p.height = p.width = 56, p.in_channels = p.out_channels = 64;
  p.window = {.kernel_h = 3, .kernel_w = 3, .top = 1, .bottom = 1, .left = 1, .right = 1};
  p.has_bias = true;
  p.weights_dtype = DType::bfloat8_b;
  p.config.shard_layout = TensorMemoryLayout::height_sharded;
  return p;
}

std::string refusal(const Conv2dProblem& problem) {
  try {
    plan_conv2d(problem, *card_golden::board("n150").tensix);
  } catch (const Error& error) {
    return error.what();
  }
  return "planned";
}

TEST(Conv2dPlan, SaysWhichBlockHeightWouldBeLegal) {
  Conv2dProblem p = stage_one();
  p.config.act_block_h_override = 48;
  EXPECT_THAT(refusal(p), ::testing::AllOf(HasSubstr("act_block_h_override (48)"), HasSubstr("64 is")));

  p = stage_one();
  p.batch = 1, p.height = 14, p.width = 28;
  p.config.shard_layout = TensorMemoryLayout::width_sharded;
  p.config.act_block_h_override = 256;
  EXPECT_THAT(refusal(p), ::testing::AllOf(HasSubstr("act_matrix_height_ntiles 13"), HasSubstr("act_block_h_ntiles 6"),
                                           HasSubstr("act_block_h_override 32 or 416")));
}

TEST(Conv2dPlan, SaysHowMuchPaddingAWindowLacks) {
  Conv2dProblem p = stage_one();
  p.height = 4;
  p.window = {.kernel_h = 3, .kernel_w = 3, .dilation_h = 3};
  EXPECT_THAT(refusal(p),
              ::testing::AllOf(HasSubstr("window of 7x3"), HasSubstr("4x56"), HasSubstr("at least 3 rows")));
}

TEST(Conv2dPlan, RefusesGroupsThatDivideNoChannels) {
  Conv2dProblem p = stage_one();
  p.groups = 3;
  EXPECT_THAT(refusal(p), ::testing::AllOf(HasSubstr("3 groups"), HasSubstr("64")));
}

// Answers of the real one: rows of cores that get no rows of the image are left out, columns without channels stay.
TEST(Conv2dPlan, LeavesOutCoresOfAProductThatGetNoRows) {
  struct Case {
    std::int64_t height, width, in, out;
    CoreCoord last;
    bool transposed;
    CoreCoord output_last;
  };
  constexpr Case kCases[] = {
      {28, 28, 128, 512, {3, 7}, false, {3, 6}}, {28, 28, 512, 128, {7, 7}, false, {7, 6}},
      {28, 28, 512, 128, {7, 7}, true, {6, 7}},  {28, 28, 128, 160, {3, 7}, false, {3, 6}},
      {14, 14, 256, 96, {7, 7}, false, {7, 6}},  {14, 14, 256, 1024, {7, 3}, true, {6, 3}},
      {7, 7, 512, 2048, {7, 3}, false, {7, 1}},  {7, 7, 512, 2048, {3, 7}, true, {1, 7}},
      {10, 10, 256, 224, {1, 6}, false, {1, 3}},
  };
  for (const Case& c : kCases) {
    Conv2dProblem p;
    p.height = c.height;
    p.width = c.width;
    p.in_channels = c.in;
    p.out_channels = c.out;
    p.input_dtype = p.output_dtype = p.weights_dtype = DType::bfloat8_b;
    p.input_layout = Layout::tile;
    p.config.weights_dtype = DType::bfloat8_b;
    p.config.shard_layout = TensorMemoryLayout::block_sharded;
    p.config.core_grid = CoreRange({0, 0}, c.last);
    p.config.override_sharding_config = true;
    p.config.transpose_shards = c.transposed;
    const Conv2dPlan plan = plan_conv2d(p, *card_golden::board("n150").tensix);
    ASSERT_TRUE(plan.as_matmul);
    EXPECT_EQ(plan.output.cores, CoreRangeSet(CoreRange({0, 0}, c.output_last)))
        << c.height << ' ' << c.in << ' ' << c.out << ' ' << plan.output.cores.to_string();
  }
}

TEST(Conv2dPlan, FoldsAWindowThatStepsByItsOwnSize) {
  Conv2dProblem p = stage_one();
  p.window = {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  const Conv2dPlan plan = plan_conv2d(p, *card_golden::board("n150").tensix);
  EXPECT_TRUE(plan.folded);
  EXPECT_TRUE(plan.as_matmul);
  EXPECT_EQ(plan.problem.in_channels, 256);
  EXPECT_EQ(plan.problem.height, 28);
}

}  // namespace
}  // namespace tessera::tensix
