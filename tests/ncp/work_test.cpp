#include "tessera/ncp/work.h"

#include "instrumented.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/internal/packed_cfc.h"
#include "tessera/ncp/runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera::ncp {
namespace {

std::vector<double> random_input(std::int64_t count) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  std::vector<double> out(static_cast<std::size_t>(count));
  for (double& value : out) value = normal(engine);
  return out;
}

// Formulas against loops that count; the loops against the reference, so that they count the right thing.
void expect_counted(const Layer& layer, std::int64_t batch, std::int64_t steps, bool skip_absent = false) {
  const ParameterSet<double> parameters = initial_parameters(layer, 3);
  const std::vector<double> input = random_input(batch * steps * sizes(layer).inputs);
  const Sequence<double> sequence{.batch = batch, .steps = steps, .input = input};
  const for_tests::Counted counted = for_tests::run_counted(layer, parameters, sequence, skip_absent);

  const SequenceResult<double> expected = run_reference(layer, parameters, sequence);
  ASSERT_EQ(counted.output.size(), expected.output.size());
  // Both are in double; roundings of a step grow with the length of its sums and the number of steps.
  const double epsilon = std::numeric_limits<double>::epsilon();
  const double tolerance = 64 * epsilon * static_cast<double>(steps) * (sizes(layer).inputs + sizes(layer).state);
  for (std::size_t i = 0; i < expected.output.size(); ++i)
    ASSERT_NEAR(counted.output[i], expected.output[i], tolerance * (1 + std::abs(expected.output[i]))) << i;

  const KernelWork work = forward_work(layer, batch, steps, {.skips_absent_synapses = skip_absent}).total();
  EXPECT_EQ(work.flops, counted.tally.flops);
  EXPECT_EQ(work.executed_flops, counted.tally.executed);
  EXPECT_EQ(work.specials, counted.tally.specials);
  EXPECT_EQ(work.bytes, counted.tally.bytes);
  EXPECT_EQ(work.launches, counted.tally.launches);
}

TEST(Work, OfEveryModeAndBackboneIsWhatInstrumentedLoopsCount) {
  for (const CfcMode mode : {CfcMode::standard, CfcMode::pure, CfcMode::no_gate})
    for (const std::vector<int>& backbone : {std::vector<int>{}, {5}, {6, 3}}) {
      SCOPED_TRACE(static_cast<int>(mode) * 10 + static_cast<int>(backbone.size()));
      expect_counted(CfcLayer{.inputs = 3, .units = 4, .mode = mode, .backbone = backbone}, 2, 3);
    }
}

TEST(Work, OfEveryActivationAndDialectIsWhatInstrumentedLoopsCount) {
  for (const Activation activation :
       {Activation::lecun_tanh, Activation::silu, Activation::relu, Activation::tanh, Activation::gelu})
    for (const Dialect dialect : {Dialect::torch, Dialect::keras, Dialect::paper}) {
      SCOPED_TRACE(static_cast<int>(activation) * 10 + static_cast<int>(dialect));
      expect_counted(CfcLayer{.inputs = 2, .units = 3, .activation = activation, .backbone = {4}, .dialect = dialect},
                     2, 2);
    }
}

TEST(Work, OfWiredCellsLeavesOutWhatTheMaskDoes) {
  const CfcLayer layer{.inputs = 5, .wiring = build_wiring(parse_wiring_spec("AutoNCP(16,3)"), 5), .backbone = {}};
  expect_counted(layer, 2, 2);
  const KernelWork work = forward_work(layer, 2, 2).total();
  EXPECT_LT(work.flops, work.executed_flops);
  // Two masked heads of three cells: in each step as written, once where a compiler traces the whole sequence.
  const auto launches = [&](Fusion fusion, std::int64_t steps) {
    return forward_work(layer, 2, steps, {.fusion = fusion}).total().launches;
  };
  EXPECT_EQ(launches(Fusion::none, 3) - launches(Fusion::none, 2), 49);
  EXPECT_EQ(launches(Fusion::elementwise, 3) - launches(Fusion::elementwise, 2), 49 - 6 - 3 * 8);
}

TEST(Work, OfMemoryAndProjectionIsWhatInstrumentedLoopsCount) {
  CfcLayer layer{.inputs = 3, .units = 4, .backbone = {5}, .projection = 2, .mixed_memory = true};
  expect_counted(layer, 3, 4);
  layer.return_sequences = false;  // projected once
  expect_counted(layer, 3, 4);
  expect_counted(LtcLayer{.wiring = build_wiring(parse_wiring_spec("FullyConnected(4,2)"), 3), .mixed_memory = true}, 2,
                 3);
}

TEST(Work, OfEverySolverAndMappingIsWhatInstrumentedLoopsCount) {
  const Wiring sparse = build_wiring(parse_wiring_spec("AutoNCP(10,2)"), 4);
  const Wiring dense = build_wiring(parse_wiring_spec("FullyConnected(5,2)"), 3);
  for (const OdeSolver solver : {OdeSolver::semi_implicit, OdeSolver::explicit_euler, OdeSolver::runge_kutta})
    for (const Mapping mapping : {Mapping::affine, Mapping::linear, Mapping::none})
      for (const bool implicit : {true, false}) {
        SCOPED_TRACE(static_cast<int>(solver) * 10 + static_cast<int>(mapping));
        LtcLayer layer{.wiring = dense, .solver = solver, .ode_unfolds = 3};
        layer.input_mapping = layer.output_mapping = mapping;
        layer.implicit_constraints = implicit;
        expect_counted(layer, 2, 2);
        layer.wiring = sparse;
        expect_counted(layer, 2, 2);
        expect_counted(layer, 2, 2, true);
      }
}

TEST(Work, OfTheGuidesOwnModelIsTheHandCount) {
  const CfcLayer m1{.inputs = 64, .units = 128, .backbone = {64, 64}};
  const LayerWork work = forward_work(m1, 64, 16);
  const double products = 2.0 * 64 * (192 * 64 + 64 * 64 + 4 * (64 * 128));
  const double activations = 64.0 * (64 + 64) * 3, gates = 64.0 * 128 * 9;
  EXPECT_EQ(work.per_step(&KernelWork::flops), products + activations + gates);
  EXPECT_EQ(work.total().launches, 16 * 3);
}

TEST(Work, DoesNotDependOnFusionButKernelsAndBytesDo) {
  const CfcLayer layer{.inputs = 8, .units = 16, .backbone = {16, 16}};
  const LayerWork none = forward_work(layer, 4, 10, {.fusion = Fusion::none});
  const LayerWork elementwise = forward_work(layer, 4, 10, {.fusion = Fusion::elementwise});
  const LayerWork full = forward_work(layer, 4, 10);
  EXPECT_EQ(none.total().flops, full.total().flops);
  EXPECT_EQ(elementwise.total().flops, full.total().flops);
  // Each step: join, (product, 3) twice, four heads, nine operations of the gate; and the outputs are stacked once.
  EXPECT_EQ(none.total().launches, 10 * (1 + 2 * 4 + 4 + 9) + 1);
  EXPECT_EQ(elementwise.total().launches, 10 * (1 + 2 * 2 + 4 + 1) + 1);
  EXPECT_EQ(full.total().launches, 10 * 3);
  EXPECT_GT(none.total().bytes, elementwise.total().bytes);
  EXPECT_GT(elementwise.total().bytes, full.total().bytes);
}

double launched = 0, multiplied = 0;
void counting_run(const DenseStep& step) noexcept {
  launched += 1;
  for (int s = 0; s < step.segment_count; ++s)
    multiplied += static_cast<double>(step.rows * step.blocks * kQuad * dense_kernel().lanes * step.segments[s].inputs);
  dense_kernel().run(step);
}

TEST(Work, CountsTheKernelsThatTheRunnerLaunches) {
  const DenseKernel counting{"counting", dense_kernel().lanes, dense_kernel().rows, counting_run};
  const auto lanes = static_cast<int>(dense_kernel().lanes);
  CfcLayer layer{.inputs = 8, .units = 2 * lanes, .backbone = {4 * lanes, 8 * lanes}, .mixed_memory = true};
  for (const CfcMode mode : {CfcMode::standard, CfcMode::no_gate}) {
    layer.mode = mode;
    const PackedCfc packed(layer, converted<float>(initial_parameters(layer, 1)), counting);
    const std::int64_t batch = 6, steps = 5;
    const std::vector<double> values = random_input(batch * steps * layer.inputs);
    const std::vector<float> input(values.begin(), values.end());
    SequenceResult<float> result;
    result.output.resize(static_cast<std::size_t>(batch * steps * layer.units));
    result.state.resize(static_cast<std::size_t>(batch * layer.units));
    result.memory.resize(result.state.size());
    launched = multiplied = 0;
    packed.run({.batch = batch, .steps = steps, .input = input}, 0, batch, result);
    const LayerWork work = forward_work(layer, batch, steps);
    EXPECT_EQ(work.total().launches, launched);
    // Widths fill whole vectors, so nothing is padded: what is left of the operations are those behind the products.
    const double steps_and_rows = static_cast<double>(batch * steps);
    const double behind =
        steps_and_rows * (3.0 * 12 * lanes + (mode == CfcMode::standard ? 9 : 7) * 2.0 * lanes + 10 * 2.0 * lanes);
    EXPECT_EQ(work.total().executed_flops, 2 * multiplied + behind);
  }
}

TEST(Work, RefusesNoSteps) {
  EXPECT_THROW(forward_work(CfcLayer{.inputs = 1, .units = 1}, 1, 0), Error);
  EXPECT_EQ(forward_work(CfcLayer{.inputs = 1, .units = 1}, 0, 1).total().flops, 0);
}

TEST(Work, ForTrainingIsThreeTimesTheForwardPass) {
  const CfcLayer layer{.inputs = 8, .units = 16};
  EXPECT_EQ(training_work(layer, 4, 2).total().flops, 3 * forward_work(layer, 4, 2).total().flops);
}

TEST(Work, MemoryOfTrainingHasGradientsMomentsAndStates) {
  const CfcLayer layer{.inputs = 8, .units = 16};
  const MemoryNeed run = memory_need(layer, 4, 10), training = memory_need(layer, 4, 10, true);
  EXPECT_EQ(run.parameter_bytes, 4 * count_parameters(layer).total);
  EXPECT_EQ(training.parameter_bytes, 4 * run.parameter_bytes);
  EXPECT_EQ(training.activation_bytes - run.activation_bytes, 4 * 4 * 10 * 16);
}

}  // namespace
}  // namespace tessera::ncp
