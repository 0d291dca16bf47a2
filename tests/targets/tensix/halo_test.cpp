#include "tessera/targets/tensix/ops/halo/halo.h"

#include "golden.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tessera::tensix {
namespace {

using card_golden::Json;

HaloProblem problem_of(const Json& r) {
  HaloProblem p;
  p.batch = r["image"][0], p.height = r["image"][1], p.width = r["image"][2];
  p.window = {r["kernel"][0],   r["kernel"][1], r["stride"][0], r["stride"][1], r["dilation"][0],
              r["dilation"][1], r["pads"][0],   r["pads"][1],   r["pads"][2],   r["pads"][3]};
  return p;
}

Parallel parallel_of(const Json& r) {
  Parallel p;
  p.layout = card_golden::memory_layout(r["layout"]);
  const CoreGrid grid{r["grid"][1], r["grid"][0]};
  p.cores = num_cores_to_corerangeset({0, 0}, r["cores"], grid, true);
  if (r["transpose"]) p.orientation = ShardOrientation::col_major;
  return p;
}

TEST(Halo, NeedsTheMemoryThatTheRealOneAsksFor) {
  const Json records = card_golden::load("halo.json");
  ASSERT_GT(records.size(), 100u);
  for (const Json& r : records) {
    SCOPED_TRACE(r.dump());
    const HaloPlan plan = plan_halo(problem_of(r), parallel_of(r), {r["in_shard"][0], r["in_shard"][1]}, r["out_rows"],
                                    card_golden::dtype(r["dtype"]), r["tile"] ? Layout::tile : Layout::row_major);
    EXPECT_EQ(plan.out_bytes_per_core(), r["out_bytes"].get<std::int64_t>());
    EXPECT_EQ(plan.config_bytes, (r["config"].get<std::array<std::int64_t, 4>>()));
    std::vector<std::int64_t> buffers;
    for (const PlannedBuffer& buffer : plan.circular_buffers) buffers.push_back(buffer.bytes);
    EXPECT_EQ(buffers, r["cbs"].get<std::vector<std::int64_t>>());
  }
}

// Every stick of the padded image that some window reaches, one at a time.
struct Counted {
  std::int64_t most = 0, padding = 0, local = 0, remote = 0;
};

Counted count_sticks(const HaloProblem& p, std::int64_t in_rows, std::int64_t out_rows) {
  Counted out;
  std::vector<std::int64_t> stick(static_cast<std::size_t>(p.batch * p.padded_h() * p.padded_w()), -1);
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t y = 0; y < p.height; ++y)
      for (std::int64_t x = 0; x < p.width; ++x)
        stick[static_cast<std::size_t>((n * p.padded_h() + p.window.top + y * p.spread_h) * p.padded_w() +
                                       p.window.left + x * p.spread_w)] = (n * p.height + y) * p.width + x;
  for (std::int64_t first = 0; first < p.out_rows(); first += out_rows) {
    const std::int64_t last = std::min(first + out_rows, p.out_rows()) - 1;
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max(), highest = 0;
    for (std::int64_t row = first; row <= last; ++row) {
      const std::int64_t x = row % p.out_w(), y = row / p.out_w() % p.out_h(), n = row / (p.out_w() * p.out_h());
      for (std::int64_t ky = 0; ky < p.window.kernel_h; ++ky)
        for (std::int64_t kx = 0; kx < p.window.kernel_w; ++kx) {
          const std::int64_t at = (n * p.padded_h() + y * p.window.stride_h + ky * p.window.dilation_h) * p.padded_w() +
                                  x * p.window.stride_w + kx * p.window.dilation_w;
          lowest = std::min(lowest, at), highest = std::max(highest, at);
        }
    }
    out.most = std::max(out.most, highest - lowest + 1);
    for (std::int64_t at = lowest; at <= highest; ++at) {
      const std::int64_t from = stick[static_cast<std::size_t>(at)];
      if (from < 0)
        ++out.padding;
      else
        ++(from / in_rows == first / out_rows ? out.local : out.remote);
    }
  }
  return out;
}

TEST(Halo, GathersEveryStickThatAWindowReachesAndNoOther) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int i = 0; i < 300; ++i) {
    HaloProblem p;
    p.batch = pick(1, 3), p.height = pick(1, 12), p.width = pick(1, 12);
    p.window = {pick(1, 4), pick(1, 4), pick(1, 3), pick(1, 3), pick(1, 2),
                pick(1, 2), pick(0, 3), pick(0, 3), pick(0, 3), pick(0, 3)};
    p.spread_h = pick(1, 3), p.spread_w = pick(1, 3);
    if (p.padded_h() <= p.window.dilation_h * (p.window.kernel_h - 1) ||
        p.padded_w() <= p.window.dilation_w * (p.window.kernel_w - 1))
      continue;
    const std::int64_t cores = pick(1, 8);
    const std::int64_t in_rows = ceil_div(p.batch * p.height * p.width, cores);
    const std::int64_t out_rows = ceil_div(p.out_rows(), cores);
    Parallel parallel;
    parallel.cores = num_cores_to_corerangeset({0, 0}, cores, {3, 3}, true);
    for (Layout layout : {Layout::row_major, Layout::tile}) {
      const HaloPlan plan = plan_halo(p, parallel, {in_rows, 32}, out_rows, DType::bfloat16, layout);
      const Counted counted = count_sticks(p, in_rows, out_rows);
      EXPECT_EQ(plan.out_sticks, counted.most);
      EXPECT_EQ(plan.padding_sticks, counted.padding);
      EXPECT_EQ(plan.local_sticks, counted.local);
      EXPECT_EQ(plan.remote_sticks, counted.remote);
      EXPECT_LE(plan.busiest_core_sticks, plan.out_sticks);
    }
  }
}

// Pools of the real ttnn on n150 whose shards lie on more cores than the output has rows for.
TEST(Halo, CoresWithoutRowsGatherTheLastWindow) {
  struct Asked {
    std::int64_t batch, size, kernel, stride, padding, cores, in_rows;
    std::array<std::int64_t, 4> lists;  // bytes, in wholes of 16
  };
  for (const Asked& a :
       {Asked{1, 16, 3, 3, 1, 32, 8, {16, 16, 112, 112}}, Asked{1, 16, 3, 3, 0, 32, 8, {16, 16, 80, 80}},
        Asked{2, 10, 2, 2, 0, 64, 4, {16, 16, 128, 112}}, Asked{1, 20, 5, 4, 2, 40, 10, {16, 16, 160, 144}}}) {
    SCOPED_TRACE(fmt::format("{}x{} image on {} cores", a.size, a.size, a.cores));
    HaloProblem p;
    p.batch = a.batch, p.height = p.width = a.size;
    p.window = {a.kernel, a.kernel, a.stride, a.stride, 1, 1, a.padding, a.padding, a.padding, a.padding};
    Parallel parallel;
    parallel.cores = num_cores_to_corerangeset({0, 0}, a.cores, {8, 8}, true);
    parallel.row_parts = a.cores;
    const std::int64_t out_rows = ceil_div(p.out_rows(), a.cores);
    const HaloPlan plan = plan_halo(p, parallel, {a.in_rows, 32}, out_rows, DType::bfloat16, Layout::row_major);
    std::array<std::int64_t, 4> lists = plan.config_bytes;
    for (std::int64_t& bytes : lists) bytes = round_up(bytes, std::int64_t{16});
    EXPECT_EQ(lists, a.lists);
    parallel.row_parts = ceil_div(p.out_rows(), out_rows);
    const HaloPlan used = plan_halo(p, parallel, {a.in_rows, 32}, out_rows, DType::bfloat16, Layout::row_major);
    EXPECT_LT(used.remote_sticks, plan.remote_sticks);
    EXPECT_EQ(used.out_sticks, plan.out_sticks);
  }
}

// Row by row: a pair of words for each part of a block, and one more wherever a window does not follow the one before.
std::int64_t indices_bytes_row_by_row(const HaloProblem& p, std::int64_t rows_per_core, std::int64_t block_rows,
                                      bool split) {
  const std::int64_t first_part = split ? ceil_div(block_rows / 32, 2) * 32 : block_rows;
  std::int64_t most = 0;
  for (std::int64_t core = 0; core < p.out_rows(); core += rows_per_core) {
    const std::int64_t end = std::min(core + rows_per_core, p.out_rows());
    std::int64_t pairs = 0;
    for (std::int64_t row = core; row < round_up(rows_per_core, block_rows) + core; ++row) {
      const std::int64_t in_block = (row - core) % block_rows;
      const bool begins = in_block == 0 || in_block == first_part;
      if (begins) ++pairs;
      if (row < end && (begins || p.start_of(row) - p.start_of(row - 1) != p.window.stride_w)) ++pairs;
    }
    most = std::max(most, pairs);
  }
  return 4 * most;
}

TEST(Halo, ReaderIndicesCountTheRunsOfOddImages) {
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t height : {1, 5, 17})
      for (const std::int64_t width : {1, 7, 33})
        for (const std::int64_t kernel : {1, 3})
          for (const std::int64_t stride : {1, 2}) {
            HaloProblem p;
            p.batch = batch, p.height = height, p.width = width;
            const std::int64_t pad = kernel / 2;
            p.window = {kernel, kernel, stride, stride, 1, 1, pad, pad, pad, pad};
            for (const std::int64_t rows : {32, 96, 480})
              for (const std::int64_t block : {32, 96})
                for (const bool split : {false, true})
                  EXPECT_EQ(reader_indices_bytes(p, rows, block, split),
                            indices_bytes_row_by_row(p, rows, block, split))
                      << batch << "x" << height << "x" << width << " kernel " << kernel << " stride " << stride << ", "
                      << rows << " rows in blocks of " << block << (split ? ", split" : "");
          }
}

TEST(Halo, ReaderIndicesHaveARunForEachLineOfEachBlock) {
  HaloProblem p;
  p.batch = 16, p.height = 56, p.width = 56;
  p.window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(reader_indices_bytes(p, 800, 800, false), 68);
  EXPECT_EQ(reader_indices_bytes(p, 800, 800, true), 76);
  EXPECT_EQ(reader_indices_bytes(p, 800, 32, false), 244);
  EXPECT_EQ(reader_indices_bytes(p, 960, 320, true), 116);
  // Lines of a kernel one column wide follow each other without a gap.
  p.window = {3, 1, 1, 1, 1, 1, 1, 1, 0, 0};
  EXPECT_EQ(reader_indices_bytes(p, 56 * 56, 56 * 56, false), 8);
}

TEST(Halo, RefusesAWindowThatReachesBeyondTheImage) {
  HaloProblem p;
  p.batch = 1, p.height = 2, p.width = 8;
  p.window.kernel_h = 5;
  Parallel parallel;
  parallel.cores = CoreRange(CoreCoord{0, 0});
  try {
    plan_halo(p, parallel, {32, 32}, 32, DType::bfloat16, Layout::row_major);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("a window of 5x1 over 1 images of 2x8 has no output"));
  }
}

}  // namespace
}  // namespace tessera::tensix
