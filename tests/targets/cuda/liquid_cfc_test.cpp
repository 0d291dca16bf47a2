#include "tests/targets/cuda/conv2d_case.h"
#include "tests/targets/cuda/liquid_case.h"
#include "tests/targets/cuda/liquid_device.h"

#include "tessera/core/error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::cuda {
namespace {

#define TSR_LIQUID_NEEDS_DEVICE() \
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why

using Mode = Cfc::Mode;
using Activation = Cfc::Activation;
using Head = Cfc::Head;

CfcProblem sized(int batch, int steps, int inputs, int units, std::vector<int> backbone) {
  return {.batch = batch, .steps = steps, .inputs = inputs, .cells = {{units, std::move(backbone)}}};
}

// The first whose weights are not in registers.
const CfcRow& shared_row() {
  return *std::ranges::find_if(cfc_rows(), [](const CfcRow& row) { return !row.in_registers; });
}

GpuSpec h200_spec() { return *load_machine_file(TESSERA_MACHINES_DIR "/nvidia_h200.toml").gpu; }

TEST(CudaCfc, MatchesTheDefinitionInEveryModeAndActivation) {
  TSR_LIQUID_NEEDS_DEVICE();
  for (const Mode mode : {Mode::gated, Mode::no_gate, Mode::pure})
    for (const Activation activation :
         {Activation::lecun_tanh, Activation::silu, Activation::relu, Activation::tanh, Activation::gelu})
      for (const Head head : {Head::tanh, Head::none, Head::lecun_tanh}) {
        if (head != Head::tanh && activation != Activation::tanh) continue;
        CfcProblem p = sized(5, 6, 7, 24, {32});
        p.mode = mode;
        p.activation = activation;
        p.head = head;
        EXPECT_EQ(check_kernels(CfcCase{"modes", p}), 36);
      }
}

// Small enough for compute-sanitizer.
TEST(CudaCfc, RunsASmallLayerWithEveryKernel) {
  TSR_LIQUID_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(CfcCase{.name = "small", .problem = sized(3, 3, 2, 10, {9}), .first_state = true}), 36);
}

TEST(CudaCfc, MatchesTheDefinitionOnLayersOfNetworks) {
  TSR_LIQUID_NEEDS_DEVICE();
  const auto run = [](const char* name, CfcProblem p) {
    p.activation = Activation::tanh;
    EXPECT_GE(check_kernels(CfcCase{name, p}), 14);
  };
  run("one sample", sized(1, 5, 16, 64, {128}));
  run("32 samples", sized(32, 3, 16, 64, {128}));
  run("256 units", sized(9, 2, 16, 256, {128}));
  run("two layers", sized(4, 3, 10, 64, {64, 48}));
}

TEST(CudaCfc, MatchesTheDefinitionOnOddSizes) {
  TSR_LIQUID_NEEDS_DEVICE();
  const auto run = [](CfcProblem p) {
    EXPECT_GE(check_kernels(CfcCase{fmt::format("batch {} steps {} inputs {} units {} layers {}", p.batch, p.steps,
                                                p.inputs, p.cells[0].units, p.cells[0].backbone.size()),
                                    p}),
              7);
  };
  run(sized(1, 1, 1, 1, {}));
  run(sized(1, 1, 1, 1, {1}));
  run(sized(3, 2, 1, 7, {}));
  run(sized(33, 2, 5, 13, {17}));
  run(sized(2, 1, 3, 65, {33, 31}));
  run(sized(17, 3, 129, 130, {5}));
  run(sized(2, 40, 1, 3, {2, 3, 5}));
  run(sized(10, 5, 3, 9, {5}));
  run(sized(19, 4, 20, 33, {70}));
  run(sized(3, 6, 2, 200, {101}));
}

TEST(CudaCfc, MatchesTheDefinitionOnRandomSizes) {
  TSR_LIQUID_NEEDS_DEVICE();
  std::mt19937_64 random(7);
  const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<std::uint64_t>(most)); };
  for (int i = 0; i < 12; ++i) {
    CfcProblem p = sized(up_to(40), up_to(6), up_to(40), up_to(90), {});
    for (int l = static_cast<int>(random() % 3); l > 0; --l) p.cells[0].backbone.push_back(up_to(80));
    p.mode = static_cast<Mode>(random() % 3);
    p.activation = static_cast<Activation>(random() % 5);
    p.times = static_cast<LiquidTimes>(random() % 3);
    p.batch_first = random() % 2 == 0;
    EXPECT_GE(
        check_kernels(CfcCase{.name = fmt::format("random {}", i), .problem = p, .first_state = random() % 2 == 0},
                      random()),
        7);
  }
}

TEST(CudaCfc, ReadsWeightsFromL2WhereTheyDoNotFit) {
  TSR_LIQUID_NEEDS_DEVICE();
  const CfcProblem p = sized(2, 2, 8, 700, {300});
  const CfcAnswer answer = consider(shared_row(), p, h200_spec(), 1);
  ASSERT_FALSE(std::get<CfcOffer>(answer).resident);
  EXPECT_GE(check_kernels(CfcCase{"700 units", p}), 14);
}

TEST(CudaCfc, RunsTheCellsOfAWiringAndAProjectionInOneLaunch) {
  TSR_LIQUID_NEEDS_DEVICE();
  for (const bool batch_first : {true, false})
    for (const bool last_only : {true, false}) {
      CfcProblem p{.batch = 6, .steps = 5, .inputs = 9, .cells = {{12}, {10}, {8}}};
      p.batch_first = batch_first;
      p.projection = 3;
      p.projects_last_only = last_only;
      EXPECT_EQ(check_kernels(CfcCase{.name = "wired", .problem = p, .first_state = true, .absent = 0.5}), 28);
      p.cells = {{12, {16}}, {10, {9, 11}}};
      p.times = LiquidTimes::each_step;
      EXPECT_EQ(check_kernels(CfcCase{"wired, with backbones", p}), 28);
    }
}

TEST(CudaCfc, TakesTimesInEveryForm) {
  TSR_LIQUID_NEEDS_DEVICE();
  for (const Mode mode : {Mode::gated, Mode::no_gate, Mode::pure})
    for (const bool batch_first : {true, false}) {
      CfcProblem p = sized(11, 4, 6, 20, {24});
      p.mode = mode;
      p.batch_first = batch_first;
      for (const LiquidTimes times : {LiquidTimes::each_step, LiquidTimes::each_unit}) {
        p.times = times;
        check_kernels(CfcCase{.name = "times", .problem = p, .first_state = true});
      }
      p.times = LiquidTimes::each_step;
      check_kernels(CfcCase{.name = "one time", .problem = p, .one_time = true});
    }
}

TEST(CudaCfc, SaturatesAsTheDefinition) {
  TSR_LIQUID_NEEDS_DEVICE();
  for (const Mode mode : {Mode::gated, Mode::no_gate, Mode::pure}) {
    CfcProblem p = sized(4, 8, 6, 40, {32});
    p.mode = mode;
    EXPECT_EQ(check_kernels(CfcCase{.name = "saturating", .problem = p, .values = LiquidValues::saturating}), 36);
  }
}

TEST(CudaCfc, PassesInfinitiesAndNanOn) {
  TSR_LIQUID_NEEDS_DEVICE();
  for (const bool backbone : {true, false})
    for (const Mode mode : {Mode::gated, Mode::pure})
      for (std::uint64_t seed = 1; seed < 4; ++seed) {
        CfcProblem p = sized(5, 6, 7, 18, backbone ? std::vector{20} : std::vector<int>{});
        p.mode = mode;
        EXPECT_EQ(check_kernels(CfcCase{.name = "specials", .problem = p, .values = LiquidValues::specials}, seed),
                  backbone ? 36 : 28);
      }
}

TEST(CudaCfc, KeepsToTheDefinitionOverLongSequences) {
  TSR_LIQUID_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(CfcCase{"1000 steps", sized(2, 1000, 3, 12, {16})}), 36);
}

// Weights with 24 significant bits on one input of 1: a product of 11 bits cannot hold them.
TEST(CudaCfc, RoundsOperandsInTf32AndNotInF32) {
  TSR_LIQUID_NEEDS_DEVICE();
  CfcProblem p = sized(1, 1, 1, 1, {});
  p.head = Head::none;
  p.mode = Mode::no_gate;
  const float exact = 1 + 0x1p-20f;
  const LiquidFloats heads{exact, 0, 0, 0, 0, 0, 0, 0}, biases{0, 0, 0, 0}, x{1};
  for (const LiquidPrecision precision : {LiquidPrecision::tf32, LiquidPrecision::f32}) {
    p.precision = precision;
    const CfcPlan plan = plan_cfc(p, liquid_gpu().spec);
    ASSERT_NE(plan.row, nullptr);
    const PreparedCfc prepared(liquid_gpu().library, p, *plan.row, plan.offer,
                               {.cells = {{{}, {heads, biases}, {}}}, .projection = {}});
    const LiquidResults found = run_prepared(prepared, {.x = x, .times = {}, .first = {}}, 1, 1, 0);
    EXPECT_EQ(found.last[0], precision == LiquidPrecision::f32 ? exact : 1.0f);
  }
}

TEST(CudaCfc, AnEmptyBatchLaunchesNothing) {
  TSR_LIQUID_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(CfcCase{"empty", sized(0, 3, 4, 8, {8})}), 36);
}

TEST(CudaCfc, ReplaysInAGraph) {
  TSR_LIQUID_NEEDS_DEVICE();
  const CfcProblem p = sized(3, 4, 5, 16, {16});
  const CfcPlan plan = plan_cfc(p, liquid_gpu().spec);
  const LiquidFloats w0(16 * 21, 0.1f), b0(16, 0.2f), w1(64 * 16, -0.1f), b1(64, 0.3f), x(3 * 4 * 5, 0.5f);
  const PreparedCfc prepared(liquid_gpu().library, p, *plan.row, plan.offer,
                             {.cells = {{{{w0, b0}}, {w1, b1}, {}}}, .projection = {}});
  const LiquidResults once = run_prepared(prepared, {.x = x, .times = {}, .first = {}}, 3 * 4 * 16, 3 * 16, 0);
  const Memory input(liquid_gpu().context, std::as_bytes(std::span(x)));
  const GuardedResult states(3 * 4 * 16);
  const auto bound = prepared.bind({.x = static_cast<const float*>(input.data()), .states = states.data()});
  const cuda::Graph graph(liquid_gpu().stream, [&] {
    bound.launch(liquid_gpu().stream);
    bound.launch(liquid_gpu().stream);
  });
  graph.replay(liquid_gpu().stream);
  graph.replay(liquid_gpu().stream);
  EXPECT_EQ(states.read(), once.states);
}

// --- without a device ------------------------------------------------------------------------------------------------

TEST(CudaCfc, PlansThePrecisionThatWasAskedFor) {
  for (const LiquidPrecision precision : {LiquidPrecision::tf32, LiquidPrecision::f32}) {
    CfcProblem p = sized(32, 128, 16, 64, {128});
    p.precision = precision;
    const CfcPlan plan = plan_cfc(p, h200_spec());
    ASSERT_NE(plan.row, nullptr);
    EXPECT_EQ(plan.row->precision, precision);
    EXPECT_EQ(plan.row->in_registers, precision == LiquidPrecision::tf32);
    EXPECT_TRUE(plan.offer.resident);
    EXPECT_GT(plan.offer.seconds, 0);
    EXPECT_EQ(plan.refused.size() + plan.slower.size() + 1, cfc_rows().size());
    for (const CfcPlan::Slower& slower : plan.slower) EXPECT_GE(slower.seconds, plan.offer.seconds);
    for (const CfcPlan::Refused& refused : plan.refused) EXPECT_EQ(refused.refusal.text(), "is for another precision");
  }
}

TEST(CudaCfc, ADeviceOfManySamplesSharesWeightsAmongBlocks) {
  CfcProblem p = sized(256, 128, 16, 256, {128});
  p.activation = Activation::tanh;
  const CfcPlan plan = plan_cfc(p, h200_spec());
  ASSERT_NE(plan.row, nullptr);
  EXPECT_GE(plan.offer.cluster, 4);  // 532 KB of weights do not fit two blocks
  EXPECT_TRUE(plan.offer.resident);
}

TEST(CudaCfc, RefusesWhatDoesNotFitWithItsNumbers) {
  const CfcProblem wide = sized(1, 1, 60000, 8, {});
  EXPECT_EQ(plan_cfc(wide, h200_spec()).row, nullptr);
  const CfcAnswer answer = consider(shared_row(), wide, h200_spec(), 1);
  const auto& refusal = std::get<CfcRefusal>(answer);
  EXPECT_EQ(refusal.reason, CfcRefusal::Reason::shared_memory);
  EXPECT_EQ(refusal.limit, 232448);
  EXPECT_GT(refusal.found, 8 * 60008 * 4);
  const CfcProblem deep = sized(1, 1, 4, 8, std::vector<int>(12, 8));
  const CfcAnswer stages = consider(shared_row(), deep, h200_spec());
  EXPECT_EQ(std::get<CfcRefusal>(stages).text(), "13 products in a step, takes 12");
  const CfcAnswer narrow = consider(shared_row(), sized(1, 1, 4, 3, {}), h200_spec(), 8);
  EXPECT_EQ(std::get<CfcRefusal>(narrow).text(), "8 blocks are more than the 3 units of a layer");
}

TEST(CudaCfc, HoldsWeightsInRegistersWhereTheyFit) {
  const CfcRow& row = cfc_rows()[0];
  ASSERT_TRUE(row.in_registers);
  const auto answer = [&](const CfcProblem& p, int cluster) { return consider(row, p, h200_spec(), cluster); };
  EXPECT_TRUE(std::holds_alternative<CfcOffer>(answer(sized(1, 1, 16, 64, {128}), 1)));
  EXPECT_TRUE(std::holds_alternative<CfcOffer>(answer(sized(1, 1, 16, 256, {128}), 4)));
  EXPECT_EQ(std::get<CfcRefusal>(answer(sized(1, 1, 17, 64, {128}), 1)).text(),
            "1 blocks of 256 threads cannot hold the weights");
  EXPECT_EQ(std::get<CfcRefusal>(answer(sized(1, 1, 16, 64, {64, 64}), 0)).text(),
            "takes one cell with a backbone of one layer and no projection");
}

TEST(CudaCfc, RefusesSizesThatMakeNoLayer) {
  const auto message = [](const CfcProblem& p) {
    try {
      check_problem(p);
    } catch (const Error& error) {
      return std::string(error.message());
    }
    return std::string();
  };
  EXPECT_EQ(message(sized(1, 0, 4, 8, {})),
            "cfc: 1 samples, 0 steps, 4 inputs, 1 cells: every size but the batch is at least 1");
  EXPECT_EQ(message(sized(1, 1, 4, 8, {0})), "cfc: a cell of 8 units, or a layer of its backbone, is empty");
  EXPECT_EQ(message(sized(0, 1, 4, 8, {})), "");
}

}  // namespace
}  // namespace tessera::cuda
