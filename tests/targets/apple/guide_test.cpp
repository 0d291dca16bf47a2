#include "tessera/targets/apple/verdicts/guide.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace tessera::apple {
namespace {

using ::testing::HasSubstr;

std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) value = normal(engine);
  return out;
}

ncp::Runner runner_of(const ncp::Layer& layer) { return {layer, converted<float>(ncp::initial_parameters(layer, 5))}; }

std::vector<std::string> rules_for(const std::vector<Finding>& findings, const std::string& subject) {
  std::vector<std::string> out;
  for (const Finding& finding : findings)
    if (finding.subject == subject) out.push_back(finding.rule);
  return out;
}

TEST(Lint, SaysNothingOfTheGuidesOwnModelsButItsAdvice) {
  for (const char* name : {"M1", "M1 Pro", "M1 Max", "M1 Ultra"}) {
    const DeviceProfile device = device_profile(name);
    const std::vector<Finding> findings =
        lint(create_optimized_model(device, 64), device, device.get_optimal_batch_size());
    EXPECT_EQ(findings.size(), device.advice.size());
    for (const Finding& finding : findings) EXPECT_EQ(finding.rule, "device") << finding.message;
  }
}

TEST(Lint, FindsSizesOffPowersOfTwoOffRangesAndOffLines) {
  const DeviceProfile device = device_profile("M1");
  const ncp::CfcLayer layer{.inputs = 64, .units = 255, .backbone = {100, 64}};
  const std::vector<Finding> findings = lint(layer, device, 63);
  EXPECT_THAT(rules_for(findings, "units"), ::testing::ElementsAre("power-of-two", "alignment", "range", "limit"));
  EXPECT_THAT(rules_for(findings, "backbone[0]"), ::testing::ElementsAre("power-of-two", "alignment", "backbone"));
  EXPECT_THAT(rules_for(findings, "backbone[1]"), ::testing::ElementsAre());
  EXPECT_THAT(rules_for(findings, "batch"), ::testing::ElementsAre("power-of-two"));
  EXPECT_EQ(findings.front().message, "units is 255, no power of two: 128 or 256 fill tiles");
  EXPECT_THAT(rules_for(lint(layer, device, 128), "batch"), ::testing::ElementsAre("range"));
}

TEST(Lint, FindsBatchesThatDoNotFitMemory) {
  DeviceProfile device = device_profile("M1");
  const ncp::CfcLayer layer = create_optimized_model(device, 64);
  device.memory_budget_bytes = ncp::memory_need(layer, 64, 16, true).total();
  EXPECT_THAT(rules_for(lint(layer, device, 64), "batch"), ::testing::ElementsAre());
  device.memory_budget_bytes -= 1;
  const std::vector<Finding> findings = lint(layer, device, 64);
  EXPECT_THAT(rules_for(findings, "batch"), ::testing::ElementsAre("memory"));
}

TEST(Lint, TakesWiredAndLtcLayers) {
  const DeviceProfile device = device_profile("M1");
  const ncp::Wiring wiring = ncp::build_wiring(ncp::parse_wiring_spec("AutoNCP(32,4)"), 8);
  EXPECT_THAT(rules_for(lint(ncp::CfcLayer{.inputs = 8, .wiring = wiring, .backbone = {}}, device), "wiring"),
              ::testing::ElementsAre("backbone"));
  EXPECT_THAT(lint(
                  ncp::CfcLayer{
                      .inputs = 8, .wiring = ncp::build_wiring(ncp::parse_wiring_spec("Random(9)"), 8), .backbone = {}},
                  device)
                  .back()
                  .message,
              HasSubstr("of every model on Apple M1: "));
  EXPECT_THAT(rules_for(lint(ncp::LtcLayer{.wiring = wiring}, device), "ode_unfolds"),
              ::testing::ElementsAre("fusion"));
}

TEST(GuideSettings, AreThoseOfTheDevice) {
  const TrainingSettings settings = configure_training(device_profile("M1"));
  EXPECT_EQ(settings, (TrainingSettings{64, 0.001, 0.1, "float32", "float16", true}));
  const ncp::CfcLayer layer = create_optimized_model(device_profile("M1 Ultra"), 20);
  EXPECT_EQ(layer.units, 1024);
  EXPECT_EQ(layer.backbone, (std::vector<int>{512, 512}));
  EXPECT_EQ(layer.inputs, 20);
  EXPECT_THROW(create_optimized_model(device_profile("M1"), 0), Error);
}

TEST(GuideSettings, OfALayerAreThoseItCanBeTrainedWith) {
  DeviceProfile device = device_profile("M1");
  const ncp::CfcLayer layer = create_optimized_model(device, 64);
  EXPECT_EQ(configure_training(device, layer), configure_training(device));
  ncp::CfcLayer one = layer;
  one.backbone = {64};  // PyTorch's dialect drops from the second layer on
  EXPECT_EQ(configure_training(device, one).backbone_dropout, 0);
  one.dialect = ncp::Dialect::keras;
  EXPECT_EQ(configure_training(device, one).backbone_dropout, 0.1);
  const ncp::Wiring wiring = ncp::build_wiring(ncp::parse_wiring_spec("AutoNCP(32,4)"), 8);
  const ncp::CfcLayer wired{.inputs = 8, .wiring = wiring, .backbone = {}};
  EXPECT_EQ(configure_training(device, wired).backbone_dropout, 0);
  const TrainingSettings ltc = configure_training(device, ncp::LtcLayer{.wiring = wiring});
  EXPECT_EQ(ltc, (TrainingSettings{64, 0.001, 0, "float32", "float16", true}));
  const TrainingSettings slow = configure_training(device, ncp::LtcLayer{.wiring = wiring, .mixed_memory = true});
  EXPECT_EQ(slow, (TrainingSettings{64, 0.001, 0, "float32", "float32", false}));
  device.memory_budget_bytes = ncp::memory_need(layer, 64, 1000, true).total() - 1;
  EXPECT_EQ(configure_training(device, layer, 1000).batch_size, 32);
  device.memory_budget_bytes = ncp::memory_need(layer, 4, 1000, true).total();
  EXPECT_EQ(configure_training(device, layer, 1000).batch_size, 4);
}

TEST(GuideFusion, TakesKernelsAway) {
  const FusionReport report = fusion_report(create_optimized_model(device_profile("M1"), 64), 64, 16);
  EXPECT_GT(report.none.total().launches, report.elementwise.total().launches);
  EXPECT_GT(report.elementwise.total().launches, report.full.total().launches);
}

TEST(Contiguous, CopiesOnlyWhatIsOutOfOrder) {
  const std::vector<float> data = {0, 1, 2, 3, 4, 5};
  const std::int64_t shape[] = {2, 3}, rows[] = {3, 1}, columns[] = {1, 2}, back[] = {-3, -1}, ones[] = {1, 6};
  const Contiguous same = contiguous(data.data(), shape, rows);
  EXPECT_FALSE(same.copied);
  EXPECT_EQ(same.values.data(), data.data());
  const Contiguous turned = contiguous(data.data(), shape, columns);
  EXPECT_TRUE(turned.copied);
  EXPECT_THAT(turned.values, ::testing::ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(contiguous(data.data() + 5, shape, back).values, ::testing::ElementsAre(5, 4, 3, 2, 1, 0));
  const std::int64_t odd_strides[] = {99, 1};
  EXPECT_FALSE(contiguous(data.data(), ones, odd_strides).copied);  // the stride of a single row means nothing
  const std::int64_t none[] = {0, 3};
  EXPECT_TRUE(contiguous(nullptr, none, columns).values.empty());
  EXPECT_THROW(contiguous(data.data(), shape, std::span(rows, 1)), Error);
}

// Bits, so that NaN and -0 count.
void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
}

TEST(ProcessInBatches, GivesTheBitsOfOneCallForEverySliceAndLayer) {
  const ncp::Wiring wiring = ncp::build_wiring(ncp::parse_wiring_spec("AutoNCP(20,3)"), 5);
  std::vector<ncp::Layer> layers;
  for (const bool batch_first : {true, false})
    for (const bool sequences : {true, false}) {
      layers.push_back(ncp::CfcLayer{
          .inputs = 5, .units = 19, .backbone = {33}, .return_sequences = sequences, .batch_first = batch_first});
      layers.push_back(ncp::LtcLayer{.wiring = wiring, .return_sequences = sequences, .batch_first = batch_first});
    }
  layers.push_back(ncp::CfcLayer{.inputs = 5, .wiring = wiring, .backbone = {}, .projection = 2, .mixed_memory = true});
  layers.push_back(ncp::CfcLayer{.inputs = 5, .units = 16, .mode = ncp::CfcMode::pure, .backbone = {}});
  layers.push_back(ncp::LtcLayer{.wiring = wiring, .solver = ncp::OdeSolver::runge_kutta, .mixed_memory = true});
  for (const ncp::Layer& layer : layers) {
    const ncp::Runner runner = runner_of(layer);
    const ncp::LayerSizes size = ncp::sizes(layer);
    for (const std::int64_t batch : {0, 1, 7, 32, 70}) {
      SCOPED_TRACE(batch);
      const std::int64_t steps = 3;
      const std::vector<float> input = random_values(batch * steps * size.inputs, 1),
                               state = random_values(batch * size.state, 2),
                               memory = size.mixed_memory ? random_values(batch * size.state, 3) : std::vector<float>{};
      std::vector<float> timespans = random_values(batch * steps * (batch % 2 == 0 ? 1 : size.state), 4);
      for (float& ts : timespans) ts = std::abs(ts);
      ncp::Sequence<float> sequence{batch, steps, input, timespans, state, memory, {}};
      const ncp::SequenceResult<float> whole = runner.run(sequence, ncp::KeepStates::yes);
      for (const std::int64_t slice : {1, 3, 32, 100}) {
        const ncp::SequenceResult<float> parts = process_in_batches(runner, sequence, slice, ncp::KeepStates::yes);
        expect_same(parts.output, whole.output);
        expect_same(parts.state, whole.state);
        expect_same(parts.memory, whole.memory);
        expect_same(parts.states, whole.states);
      }
    }
  }
}

TEST(ProcessInBatches, RefusesSlicesOfNothingAndDropout) {
  const ncp::Runner runner = runner_of(ncp::CfcLayer{.inputs = 1, .units = 2});
  const std::vector<float> input(4);
  ncp::Sequence<float> sequence{.batch = 2, .steps = 2, .input = input};
  EXPECT_THROW(process_in_batches(runner, sequence, 0), Error);
  sequence.dropout_seed = 1;
  EXPECT_THROW(process_in_batches(runner, sequence, 1), Error);
}

TEST(CompiledLayer, PlansOncePerShapeAndFlagsAndGivesTheSameOutputs) {
  const ncp::CfcLayer layer{.inputs = 3, .units = 8, .backbone = {8, 8}, .backbone_dropout = 0.5};
  const ncp::Runner runner = runner_of(layer);
  CompiledLayer compiled(runner);
  const std::vector<float> input = random_values(4 * 5 * 3, 9), other = random_values(4 * 5 * 3, 10);
  const ncp::Sequence<float> sequence{.batch = 4, .steps = 5, .input = input},
      same_shape{.batch = 4, .steps = 5, .input = other};
  expect_same(compiled(sequence).output, runner.run(sequence).output);
  const float* kept = compiled(sequence).output.data();
  expect_same(compiled(same_shape).output, runner.run(same_shape).output);
  EXPECT_EQ(compiled(sequence).output.data(), kept);  // the memory of the first call
  EXPECT_EQ(compiled.plans().size(), 1u);
  ncp::Sequence<float> dropped = sequence;
  dropped.dropout_seed = 3;
  expect_same(compiled(dropped, true).output, runner.run(dropped).output);
  EXPECT_EQ(compiled(sequence, false, ncp::KeepStates::yes).states.size(), 4u * 5 * 8);
  const ncp::Sequence<float> shorter{.batch = 2, .steps = 5, .input = std::span(input).first(2 * 5 * 3)};
  expect_same(compiled(shorter).output, runner.run(shorter).output);
  EXPECT_EQ(compiled.plans().size(), 4u);
  EXPECT_EQ(compiled.plans().begin()->second.work.total().launches, 5 * 3);
  EXPECT_THROW(compiled(dropped, false), Error);
  const ncp::Sequence<float> wrong{.batch = 3, .steps = 5, .input = input};
  EXPECT_THROW(compiled(wrong), Error);
  EXPECT_EQ(compiled.plans().size(), 4u);
}

}  // namespace
}  // namespace tessera::apple
