#include "tests/targets/cuda/conv2d_case.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/liquid/layer_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tessera::cuda {
namespace {

constexpr std::int64_t kBatch = 5, kSteps = 4;

ncp::ParameterSet<float> drawn(const ncp::Layer& layer) {
  return ncp::converted<float>(ncp::initial_parameters(layer, 3));
}

// The definition in double precision; float32 may differ by 1024 roundings of each step, four times over for what
// errors grow by. A mask, a sign or a mapping that is left out shows in the first digits.
void check_layer(const std::string& text, bool with_times) {
  SCOPED_TRACE(text);
  for (const bool sequences : {true, false})
    for (const bool batch_first : {true, false}) {
      ncp::Layer layer = ncp::layer_from_json(text);
      std::visit([&](auto& l) { l.return_sequences = sequences, l.batch_first = batch_first; }, layer);
      const ncp::LayerSizes size = ncp::sizes(layer);
      std::mt19937_64 random(5);
      std::normal_distribution<float> normal;
      std::uniform_real_distribution<float> time(0.1f, 2);
      std::vector<float> x(static_cast<std::size_t>(kBatch * kSteps * size.inputs)), times, state;
      for (float& v : x) v = normal(random);
      if (with_times) {
        times.resize(kBatch * kSteps);
        for (float& v : times) v = time(random);
        state.resize(static_cast<std::size_t>(kBatch * size.state));
        for (float& v : state) v = 0.5f * normal(random);
      }
      const ncp::ParameterSet<float> parameters = drawn(layer);
      LayerRunner runner(layer, parameters, LiquidPrecision::f32);
      ncp::SequenceResult<float> found;
      const ncp::Sequence<float> sequence{
          .batch = kBatch, .steps = kSteps, .input = x, .timespans = times, .state = state};
      for (int i = 0; i < 2; ++i) runner.run(sequence, found);  // the second finds everything ready
      const std::vector<double> wide_x(x.begin(), x.end()), wide_times(times.begin(), times.end()),
          wide_state(state.begin(), state.end());
      const ncp::SequenceResult<double> wanted = ncp::run_reference<double>(
          layer, ncp::converted<double>(parameters),
          {.batch = kBatch, .steps = kSteps, .input = wide_x, .timespans = wide_times, .state = wide_state});
      constexpr double kTolerance = 4 * kSteps * 1024 * 0x1p-24;
      ASSERT_EQ(found.output.size(), wanted.output.size());
      ASSERT_EQ(found.state.size(), wanted.state.size());
      for (std::size_t i = 0; i < found.output.size(); ++i)
        EXPECT_NEAR(found.output[i], wanted.output[i], kTolerance * (1 + std::abs(wanted.output[i]))) << i;
      for (std::size_t i = 0; i < found.state.size(); ++i)
        EXPECT_NEAR(found.state[i], wanted.state[i], kTolerance * (1 + std::abs(wanted.state[i]))) << i;
    }
}

TEST(CudaLayerRunner, RunsLayersAsTheyAreDefined) {
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why;
  for (const char* text :
       {R"({"type":"CfC","input_size":3,"units":20})", R"({"type":"CfC","input_size":3,"units":20,"mode":"pure"})",
        R"({"type":"CfC","input_size":3,"units":9,"mode":"no_gate","backbone_units":[8,7,6],"backbone_dropout":0.3})",
        R"({"type":"CfC","input_size":3,"units":9,"backbone_units":[],"proj_size":2})",
        R"({"type":"CfC","input_size":3,"wiring":{"type":"AutoNCP","units":16,"output_size":4},"proj_size":3})",
        R"({"type":"LTC","input_size":3,"wiring":{"type":"AutoNCP","units":16,"output_size":4}})",
        R"({"type":"LTC","input_size":3,"wiring":{"type":"FullyConnected","units":7},"ode_unfolds":2})"})
    for (const bool with_times : {false, true}) check_layer(text, with_times);
}

TEST(CudaLayerRunner, TakesDialectsOfOthers) {
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why;
  for (const ncp::Dialect dialect : {ncp::Dialect::keras, ncp::Dialect::mlx, ncp::Dialect::paper}) {
    ncp::CfcLayer layer{.inputs = 3, .units = 11};
    layer.dialect = dialect;
    check_layer(ncp::layer_to_json(layer), true);
  }
}

TEST(CudaLayerRunner, SaysWhatIsMissing) {
  const ncp::Layer layer = ncp::CfcLayer{.inputs = 2, .units = 4};
  const std::string why = no_device();
  if (why.empty()) {
    ncp::CfcLayer memory{.inputs = 2, .units = 4};
    memory.mixed_memory = true;
    const ncp::Layer mixed = memory;
    try {
      LayerRunner(mixed, drawn(mixed), LiquidPrecision::f32);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "cuda: there are no kernels for layers with mixed memory");
    }
    return;
  }
  try {
    LayerRunner(layer, drawn(layer), LiquidPrecision::f32);
    FAIL() << "there is no device";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), why);
    EXPECT_EQ(error.code(), Code::unsupported);
  }
}

}  // namespace
}  // namespace tessera::cuda
