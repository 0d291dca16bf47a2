#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/allocator.h"

#include "tests/targets/tensix/card/golden.h"

#include <gtest/gtest.h>

#include <regex>

namespace tessera::tensix {
namespace {

using golden::Json;

DType dtype_of(const Json& c, const char* key, DType fallback) {
  return c.contains(key) && !c[key].is_null() ? *parse_dtype(c[key].get<std::string>()) : fallback;
}

MemoryConfig place_of(const Json& c, const char* key) {
  const std::string text = c.contains(key) && !c[key].is_null() ? c[key].get<std::string>() : "DRAM";
  if (text == "DRAM") return kDramMemoryConfig;
  if (text == "L1") return kL1MemoryConfig;
  return MemoryConfig(golden::memory_layout(text == "SAME" ? c["shard"][0].get<std::string>() : text), BufferType::l1);
}

std::int64_t batch_of(const Json& shape) {
  std::int64_t out = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) out *= shape[i].get<std::int64_t>();
  return out;
}

MatmulProblem problem_of(const Json& c, const Machine& machine) {
  MatmulProblem p;
  Json a = c["a"], b = c["b"];
  p.transpose_a = c.value("transpose_a", false);
  if (p.transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (c.value("transpose_b", false)) std::swap(b[b.size() - 1], b[b.size() - 2]);
  p.batch = std::max(batch_of(a), batch_of(b));
  p.batch_b = batch_of(b);
  p.m = ceil_div(a[a.size() - 2].get<std::int64_t>(), 32);
  p.k = ceil_div(a[a.size() - 1].get<std::int64_t>(), 32);
  p.n = ceil_div(b[b.size() - 1].get<std::int64_t>(), 32);
  p.a_dtype = dtype_of(c, "dtype_a", DType::bfloat16);
  p.b_dtype = p.bias_dtype = dtype_of(c, "dtype_b", DType::bfloat16);
  p.out_dtype = dtype_of(c, "dtype", p.a_dtype);
  p.a_memory = place_of(c, "place_a");
  p.b_memory = place_of(c, "place_b");
  p.out_memory = place_of(c, "place");
  const bool bias = c.contains("bias") && !c["bias"].is_null();
  p.bias = bias && p.out_memory.is_dram() && p.batch_b == 1;
  p.compute = {.fp32_dest_acc_en = p.out_dtype == DType::float32, .packer_l1_acc = true};
  if (c.contains("compute")) {
    p.compute.fp32_dest_acc_en = c["compute"][1];
    p.compute.packer_l1_acc = c["compute"][2];
  }
  if (c.contains("core_grid")) p.core_grid = CoreGrid{c["core_grid"][0], c["core_grid"][1]};
  p.grid = {machine.tensix->grid_y, machine.tensix->grid_x};
  p.free_bytes = machine.tensix->l1_bytes - Allocator(*machine.tensix, {}).circular_buffer_base();
  // Interleaved operands in L1 take their part of it.
  const std::int64_t banks = std::int64_t{p.grid.x} * p.grid.y;
  if (p.a_memory.is_l1()) p.free_bytes -= ceil_div(p.batch * p.m * p.k, banks) * tile_bytes(Tile{}, p.a_dtype);
  if (p.b_memory.is_l1()) p.free_bytes -= ceil_div(p.batch_b * p.k * p.n, banks) * tile_bytes(Tile{}, p.b_dtype);
  if (c.contains("shard")) {
    const Json& s = c["shard"];
    p.a_memory = MemoryConfig(golden::memory_layout(s[0]), BufferType::l1,
                              ShardSpec{golden::grid(Json::array({s[1]})), {s[2][0], s[2][1]}});
    p.free_bytes -= s[2][0].get<std::int64_t>() * s[2][1].get<std::int64_t>() * 2;
  }
  return p;
}

Json buffers_of(const MatmulPlan& plan) {
  Json out = Json::array();
  for (const MatmulBuffer& each : plan.buffers) out.push_back({each.buffer.bytes, each.buffer.cores.to_string()});
  return out;
}

// Height shards whose products do not fit in one block, and one operand for a whole batch: TTNN's rule is not known.
bool is_open(const Json& c) {
  if (batch_of(c["a"]) == 1 && batch_of(c["b"]) > 1) return true;
  return c.contains("shard") && c["shard"][0] == "HEIGHT" && c["shard"][2][0] == 896;
}

TEST(MatmulPlan, HasTheBuffersOfTheRealOne) {
  const Machine machine = golden::board("n150");
  int equal = 0, open = 0;
  std::vector<std::string> wrong;
  const Json answers = golden::load("matmul_buffers_n150");
  for (const Json& record : answers["records"]) {
    const Json& c = record["case"];
    if (!record["ok"]) {  // some of these are refused by the tensor they would make, not by the plan
      continue;
    }
    if (is_open(c)) {
      ++open;
      continue;
    }
    Json real = record["programs"][0];
    real.erase(real.begin());
    const MatmulPlan plan = plan_matmul(problem_of(c, machine));
    if (buffers_of(plan) == real)
      ++equal;
    else
      wrong.push_back(c.dump() + "\n  real " + real.dump() + "\n  ours " + buffers_of(plan).dump());
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 12); ++i) ADD_FAILURE() << wrong[i];
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " differ, " << equal << " are equal, " << open << " open";
  EXPECT_GT(equal, 480);
  EXPECT_LT(open, 12);
}

TEST(MatmulPlan, PutsShardsWhereTheRealOneDoes) {
  const Machine machine = golden::board("n150");
  int sharded = 0;
  const Json answers = golden::load("matmul_buffers_n150");
  for (const Json& record : answers["records"]) {
    if (!record["ok"] || record["out"][2].is_null()) continue;
    const MatmulPlan plan = plan_matmul(problem_of(record["case"], machine));
    ASSERT_TRUE(plan.output.shard_spec()) << record["case"];
    EXPECT_EQ(Json({plan.output.shard_spec()->shape.height, plan.output.shard_spec()->shape.width}), record["out"][2])
        << record["case"];
    EXPECT_EQ(plan.output.shard_spec()->grid.to_string(), record["out"][3].get<std::string>()) << record["case"];
    ++sharded;
  }
  EXPECT_GT(sharded, 50);
}

TEST(MatmulPlan, RefusesProgramsThatDoNotFitTheProduct) {
  MatmulProblem p{.m = 4, .k = 6, .n = 8, .grid = {8, 8}, .free_bytes = 1'000'000};
  p.program = MatmulProgramConfig{
      .kind = MatmulKind::multicast_1d, .grid = {8, 8}, .block_k = 4, .per_core_m = 4, .per_core_n = 1};
  EXPECT_THROW(plan_matmul(p), Error);  // 4 does not divide 6
  p.program->block_k = 2;
  EXPECT_EQ(plan_matmul(p).cores.num_cores(), 8);
  p.program->per_core_m = 2;
  EXPECT_THROW(plan_matmul(p), Error);  // two rows of blocks
  p.program->per_core_m = 4;
  p.program->grid = {9, 8};
  EXPECT_THROW(plan_matmul(p), Error);
}

}  // namespace
}  // namespace tessera::tensix
