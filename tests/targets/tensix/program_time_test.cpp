// Properties that any time model of a card must have; how close it is to silicon is tests/cli/bench_timing_test.cpp.

#include "tessera/targets/tensix/time/program_time.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/halo/halo_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/targets/tensix/ops/pool/pool_work.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace tessera::tensix {
namespace {

using ::testing::HasSubstr;

struct Card {
  Machine machine;
  TensixCosts costs;
  explicit Card(const std::string& name) : machine(load_machine(name)), costs(tensix_costs(machine)) {}
  StepTime time(const ProgramWork& work) const { return time_of(work, tensix_of(machine), costs); }
};

Conv2dProblem layer() {
  Conv2dProblem p;
  p.batch = 8;
  p.height = p.width = 56;
  p.in_channels = p.out_channels = 64;
  p.window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  p.weights_dtype = p.output_dtype = DType::bfloat8_b;
  p.config.weights_dtype = DType::bfloat8_b;
  p.config.shard_layout = TensorMemoryLayout::height_sharded;
  p.compute.fidelity = MathFidelity::lofi;
  return p;
}

OperandFacts tiles(std::int64_t rows, std::int64_t columns, OperandPlace place, std::int64_t cores = 0) {
  OperandFacts x{.rows = rows, .columns = columns, .place = place, .cores = cores};
  if (cores > 0) x.shard = {round_up(ceil_div(rows, cores), 32), columns};
  return x;
}

TEST(ProgramTime, MachineFilesListProgramsThatThereAre) {
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    if (!machine.tensix) continue;
    for (const auto* kinds : {&machine.tensix->fitted_programs, &machine.tensix->scaled_programs})
      for (const std::string& kind : *kinds) EXPECT_TRUE(program_kind(kind).has_value()) << name << ": " << kind;
  }
}

TEST(ProgramTime, MorePhasesAreNeverFaster) {
  for (const char* name : {"wormhole_n150", "blackhole_p150"}) {
    const Card card(name);
    double before = 0;
    for (const MathFidelity fidelity :
         {MathFidelity::lofi, MathFidelity::hifi2, MathFidelity::hifi3, MathFidelity::hifi4}) {
      Conv2dProblem p = layer();
      p.compute.fidelity = fidelity;
      const double ns = card.time(conv2d_work(plan_conv2d(p, tensix_of(card.machine)))).ns;
      EXPECT_GE(ns, before) << name;
      before = ns;
    }
  }
}

TEST(ProgramTime, DoubleBuffersAreNeverSlower) {
  const Card card("wormhole_n150");
  for (const int block : {0, 32, 64, 224})
    for (const bool reduced : {false, true}) {
      Conv2dProblem p = layer();
      p.config.act_block_h_override = block;
      if (reduced) p.config.shard_layout = TensorMemoryLayout::block_sharded;
      const double plain = card.time(conv2d_work(plan_conv2d(p, tensix_of(card.machine)))).ns;
      p.config.enable_act_double_buffer = true;
      const double act = card.time(conv2d_work(plan_conv2d(p, tensix_of(card.machine)))).ns;
      p.config.enable_weights_double_buffer = true;
      const double both = card.time(conv2d_work(plan_conv2d(p, tensix_of(card.machine)))).ns;
      EXPECT_LE(act, plain) << block;
      EXPECT_LE(both, act) << block;
    }
}

TEST(ProgramTime, TheSameWorkOnMoreCoresIsNotSlower) {
  const Card card("blackhole_p150");
  double before = 1e300;
  for (const std::int64_t cores : {8, 16, 32, 64, 128}) {
    const std::array x{tiles(8192, 256, OperandPlace::height_sharded, cores),
                       tiles(8192, 256, OperandPlace::height_sharded, cores)};
    const double ns = card.time(tensor_work(ProgramKind::unary, x)).ns;
    EXPECT_LT(ns, before) << cores;
    before = ns;
  }
}

TEST(ProgramTime, IsMonotonousInEveryCount) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> some(1, 1e4);
  const Card card("wormhole_n150");
  using Count = double ProgramWork::*;
  const std::array<Count, 24> counts{
      &ProgramWork::matmul_tiles,    &ProgramWork::partial_tiles,      &ProgramWork::tilized_tiles,
      &ProgramWork::untilized_tiles, &ProgramWork::untilized_rows,     &ProgramWork::vector_tiles,
      &ProgramWork::added_tiles,     &ProgramWork::reduced_tiles,      &ProgramWork::packed_tiles,
      &ProgramWork::window_reads,    &ProgramWork::window_bytes,       &ProgramWork::waited_reads,
      &ProgramWork::waited_writes,   &ProgramWork::page_reads,         &ProgramWork::page_writes,
      &ProgramWork::fetched_pages,   &ProgramWork::sent_pieces,        &ProgramWork::sent_bytes,
      &ProgramWork::copied_bytes,    &ProgramWork::weight_tiles,       &ProgramWork::multicasts,
      &ProgramWork::dram_read_bytes, &ProgramWork::dram_written_bytes, &ProgramWork::lists};
  for (int round = 0; round < 200; ++round) {
    ProgramWork work;
    work.blocks = 4;
    for (const Count count : counts)
      if (rng() % 2 == 0) work.*count = some(rng);
    if (round % 2 == 0) work.matmul_tiles = 0;  // not a product: a stream
    work.unpacked_bytes = work.matmul_tiles * 1088;
    const double before = card.time(work).ns;
    EXPECT_GT(before, 0);
    for (const Count count : counts) {
      // A stream that begins to multiply becomes another kind of program.
      if (count == &ProgramWork::matmul_tiles && work.matmul_tiles == 0) continue;
      ProgramWork more = work;
      more.*count += some(rng);
      more.unpacked_bytes = more.matmul_tiles * 1088;
      EXPECT_GE(card.time(more).ns, before * (1 - 1e-12));
    }
  }
}

// The core that has most to do is busy for as long: one that sends much or one that receives much.
TEST(ProgramTime, AReshardMovesTheLargerOfBothShards) {
  const OperandFacts few = tiles(2048, 64, OperandPlace::height_sharded, 8),
                     many = tiles(2048, 64, OperandPlace::height_sharded, 64);
  const double bytes = 2048 / 8 * 64 * 2.0;  // bfloat16
  for (const auto& operands : {std::array{few, many}, std::array{many, few}})
    EXPECT_EQ(tensor_work(ProgramKind::reshard, operands).sent_bytes, bytes);
}

// Of a grid of 2 x 4 cores each row is sent its rows of A, each column its columns of B: both lie in DRAM and are read
// once for each core that sends them.
TEST(ProgramTime, AMatmulReadsOperandsOncePerSender) {
  MatmulProblem p{.m = 4, .k = 8, .n = 8};  // tiles
  MatmulPlan plan;
  plan.cores = CoreRange({0, 0}, {3, 1});
  plan.program = {.kind = MatmulKind::multicast_2d, .grid = {4, 2}, .block_k = 8, .per_core_m = 2, .per_core_n = 2};
  plan.output = kDramMemoryConfig;
  const double tile = 2048;  // bytes of bfloat16
  const ProgramWork both = matmul_work(p, plan);
  EXPECT_EQ(both.weight_receivers, 2);  // the rows of cores
  EXPECT_EQ(both.receivers, 4);
  EXPECT_EQ(both.dram_read_bytes, 2 * (2 * 8) * tile + 4 * (8 * 2) * tile);
  plan.program.kind = MatmulKind::multicast_1d;  // A to all, columns split over eight cores
  plan.program.per_core_m = 4, plan.program.per_core_n = 1;
  const ProgramWork first = matmul_work(p, plan);
  EXPECT_EQ(first.weight_receivers, ProgramWork().weight_receivers);
  EXPECT_EQ(first.dram_read_bytes, (4 * 8) * tile + 8 * (8 * 1) * tile);
}

TEST(ProgramTime, NothingIsFasterThanItsRoof) {
  for (const char* name : {"wormhole_n150", "blackhole_p150"}) {
    const Card card(name);
    for (const TensorMemoryLayout layout : {TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded}) {
      Conv2dProblem p = layer();
      p.config.shard_layout = layout;
      const StepTime t = card.time(conv2d_work(plan_conv2d(p, tensix_of(card.machine))));
      EXPECT_GT(t.roof_fraction(), 0);
      EXPECT_LE(t.roof_fraction(), 1);
      EXPECT_EQ(t.*busy_field(t.bound_by), busy_parts(t).front().ns);
    }
  }
}

TEST(ProgramTime, AConvolutionIsPricedWithAllItsPrograms) {
  const Card card("wormhole_n150");
  const Conv2dPlan plan = plan_conv2d(layer(), tensix_of(card.machine));
  std::string kinds;
  for (const ProgramWork& work : conv2d_programs(plan)) kinds += std::string(name(work.kind)) + " ";
  EXPECT_EQ(kinds, "interleaved_to_sharded halo move conv2d ");
  Conv2dProblem product = layer();
  product.window = {};
  kinds.clear();
  for (const ProgramWork& work : conv2d_programs(plan_conv2d(product, tensix_of(card.machine))))
    kinds += std::string(name(work.kind)) + " ";
  EXPECT_THAT(kinds, HasSubstr("matmul"));
}

TEST(ProgramTime, EveryOperatorHasAPriceAndSaysWhatItRestsOn) {
  const Card blackhole("blackhole_p150"), wormhole("wormhole_n150");
  const std::array dram{tiles(4096, 256, OperandPlace::dram), tiles(4096, 256, OperandPlace::dram)};
  for (const char* op : {"move",
                         "copy",
                         "clone",
                         "reshard",
                         "interleaved_to_sharded",
                         "sharded_to_interleaved",
                         "padded_slice",
                         "slice",
                         "slice_write",
                         "tilize",
                         "tilize_with_val_padding",
                         "untilize",
                         "untilize_with_unpadding",
                         "typecast",
                         "binary",
                         "unary",
                         "transpose",
                         "concat",
                         "upsample",
                         "pad",
                         "fold",
                         "reshape",
                         "permute",
                         "convert_to_hwc",
                         "convert_to_chw",
                         "group_norm",
                         "softmax"}) {
    const StepTime t = blackhole.time(tensor_work(*program_kind(op), dram, 64));
    EXPECT_GT(t.ns, 1000) << op;
    EXPECT_FALSE(wormhole.time(tensor_work(*program_kind(op), dram, 64)).fitted()) << op;
  }
  EXPECT_EQ(blackhole.time(tensor_work(ProgramKind::tilize, dram, 64)).basis, TimeBasis::fitted);
  EXPECT_EQ(wormhole.time(tensor_work(ProgramKind::tilize, dram, 64)).basis, TimeBasis::scaled);
  EXPECT_EQ(blackhole.time(tensor_work(ProgramKind::softmax, dram, 64)).basis, TimeBasis::assumed);
}

TEST(ProgramTime, AMachineWithoutPricesHasNoTimes) {
  Machine machine = load_machine("wormhole_n150");
  std::erase_if(machine.figures, [](const Figure& figure) { return figure.group == "cost"; });
  try {
    tensix_costs(machine);
    FAIL() << "it has no prices";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("'launch_cycles' is missing from [cost]"));
  }
}

TEST(ProgramTime, PricesAreCarriedOverByTheirRule) {
  const Card from("blackhole_p150"), to("wormhole_n150");
  const TensixCosts carried = carried_over(from.costs, tensix_of(from.machine), tensix_of(to.machine), to.costs);
  for (const CostField& field : kCostFields)
    EXPECT_NEAR(carried.*field.value, to.costs.*field.value, 2e-3 * to.costs.*field.value) << field.name;
}

}  // namespace
}  // namespace tessera::tensix
