#include "given.h"
#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/runner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::ncp {
namespace {

constexpr double kFloat = std::numeric_limits<float>::epsilon();

// A step rounds each sum of its products, and functions of them to a few units; states are of size 1, so errors hardly
// grow from step to step.
double allowed(const Layer& layer, std::int64_t steps) {
  const LayerSizes size = sizes(layer);
  return kFloat * 4 * static_cast<double>(steps) * std::sqrt(static_cast<double>(size.inputs + size.state + 128));
}

void expect_near(const std::vector<float>& found, const std::vector<double>& wanted, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(wanted[i])) {
      ASSERT_TRUE(std::isnan(found[i])) << what << " at " << i;
      continue;
    }
    ASSERT_NEAR(found[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << what << " at " << i;
  }
}

// Steps that all take a time of 1 have fewer products, so sequences without timespans are a case of their own.
enum class Times { given, none };

Sequence<float> with(Times times, Sequence<float> sequence) {
  if (times == Times::none) sequence.timespans = {};
  return sequence;
}

void compare_with_reference(const Layer& layer, std::int64_t batch, std::int64_t steps, Times times) {
  SCOPED_TRACE(times == Times::none ? "without timespans" : "with timespans");
  const ParameterSet<double> parameters = converted<double>(converted<float>(initial_parameters(layer, 9)));
  const Given given(layer, batch, steps);
  const auto input = wide(given.input), state = wide(given.state), memory = wide(given.memory),
             timespans = times == Times::none ? std::vector<double>{} : wide(given.timespans);
  const auto wanted =
      run_reference<double>(layer, parameters, {batch, steps, input, timespans, state, memory, {}}, KeepStates::yes);
  for_each_isa([&] {
    const Runner runner(layer, converted<float>(parameters));
    const auto found = runner.run(with(times, given.sequence), KeepStates::yes);
    const double tolerance = allowed(layer, steps);
    expect_near(found.output, wanted.output, tolerance, "output");
    expect_near(found.state, wanted.state, tolerance, "state");
    expect_near(found.memory, wanted.memory, tolerance * static_cast<double>(steps), "memory");
    expect_near(found.states, wanted.states, tolerance, "states");
  });
}

void compare_with_reference(const Layer& layer, std::int64_t batch, std::int64_t steps) {
  for (const Times times : {Times::given, Times::none}) compare_with_reference(layer, batch, steps, times);
}

TEST(Runner, GoldenCasesComeOutAsByNcps) {
  for_each_isa([] {
    for (const std::string& name : golden_names()) {
      const GoldenCase golden = load_golden(name);
      const Sequence<double> from = golden.sequence();
      const auto narrow = [](std::span<const double> v) { return std::vector<float>(v.begin(), v.end()); };
      const auto input = narrow(from.input), timespans = narrow(from.timespans), state = narrow(from.state),
                 memory = narrow(from.memory);
      const Runner runner(golden.layer, converted<float>(golden.parameters));
      const auto result = runner.run({from.batch, from.steps, input, timespans, state, memory, {}});
      expect_near(result.output, golden.at("output_f32"), 1e-5, name);
      EXPECT_THAT(std::string(runner.kernel()), testing::HasSubstr(name.starts_with("cfc") ? "cfc_f32_"
                                                                   : name == "ltc_mixed"   ? "reference"
                                                                                           : "ltc_f32_"));
    }
  });
}

TEST(Runner, EveryShapeAgreesWithTheReference) {
  for (const auto& [batch, steps] : {std::pair(1, 1), std::pair(1, 70), std::pair(2, 3), std::pair(5, 4),
                                     std::pair(7, 3), std::pair(13, 2), std::pair(100, 2)})
    for (const int units : {1, 4, 16, 17, 33})
      for (const char* form : {R"("backbone_units":[])", R"("backbone_units":[37])", R"("backbone_units":[16,70,5])"}) {
        SCOPED_TRACE(fmt::format("{} x {}, {} units, {}", batch, steps, units, form));
        compare_with_reference(
            layer_from_json(fmt::format(R"({{"type":"CfC","input_size":5,"units":{},{}}})", units, form)), batch,
            steps);
      }
}

TEST(Runner, EveryFormAgreesWithTheReference) {
  for (const char* mode : {"default", "pure", "no_gate"})
    for (const char* dialect : {"torch", "mlx", "paper"})
      for (const char* rest :
           {R"("units":21,"activation":"silu")",
            R"("units":21,"activation":"gelu","backbone_units":[20,20],"proj_size":3)",
            R"("units":21,"activation":"relu","mixed_memory":true)",
            R"("units":9,"activation":"tanh","batch_first":false)",
            R"("wiring":{"type":"AutoNCP","units":29,"output_size":5},"mixed_memory":true,"proj_size":7)",
            R"("wiring":{"type":"AutoNCP","units":64,"output_size":8},"return_sequences":false,"batch_first":false)",
            R"("wiring":{"type":"Random","units":19,"sparsity_level":0.5},"return_sequences":false)"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", mode, dialect, rest));
        const Layer layer = layer_from_json(
            fmt::format(R"({{"type":"CfC","input_size":6,"mode":"{}","dialect":"{}",{}}})", mode, dialect, rest));
        // Without tanh at the heads states grow, so few steps tell as much.
        for (const int batch : {1, 7}) compare_with_reference(layer, batch, 3);
      }
}

TEST(Runner, LtcLayersOfEveryShapeAgreeWithTheReference) {
  for (const char* rest :
       {R"("units":1)", R"("units":17)", R"("units":33,"implicit_param_constraints":false)",
        R"("wiring":{"type":"AutoNCP","units":29,"output_size":5},"ode_unfolds":3)",
        R"("wiring":{"type":"AutoNCP","units":64,"output_size":8},"return_sequences":false,"batch_first":false)",
        R"("wiring":{"type":"Random","units":19,"output_dim":4,"sparsity_level":0.5},"input_mapping":"linear")",
        R"("wiring":{"type":"NCP","inter_neurons":12,"command_neurons":6,"motor_neurons":1,"sensory_fanout":6,
           "inter_fanout":4,"recurrent_command_synapses":4,"motor_fanin":6},"output_mapping":"none","input_mapping":"none")"})
    for (const auto& [batch, steps] :
         {std::pair(1, 9), std::pair(3, 2), std::pair(5, 3), std::pair(16, 2), std::pair(41, 2)}) {
      SCOPED_TRACE(fmt::format("{} x {}, {}", batch, steps, rest));
      compare_with_reference(layer_from_json(fmt::format(R"({{"type":"LTC","input_size":6,{}}})", rest)), batch, steps);
    }
}

TEST(Runner, ASampleDoesNotDependOnItsCompanyOrOnThreads) {
  for (const char* rest :
       {R"("units":40,"backbone_units":[50])", R"("units":40,"backbone_units":[],"mixed_memory":true)",
        R"("wiring":{"type":"AutoNCP","units":29,"output_size":5})"}) {
    const Layer layer = layer_from_json(fmt::format(R"({{"type":"CfC","input_size":6,{}}})", rest));
    const Runner runner(layer, converted<float>(initial_parameters(layer, 1)));
    const Given given(layer, 23, 9);
    for (const Times times : {Times::given, Times::none}) {
      const Sequence<float> sequence = with(times, given.sequence);
      const auto whole = runner.run(sequence);
      SequenceResult<float> again = runner.run(Given(layer, 3, 2).sequence, KeepStates::yes);
      runner.run(sequence, again);
      EXPECT_EQ(again.output, whole.output);
      EXPECT_EQ(again.state, whole.state);
      EXPECT_EQ(again.states, whole.states);
      for (const int threads : {1, 2, 3}) {
        const ThreadLimit limit(threads);
        EXPECT_EQ(runner.run(sequence).output, whole.output);
      }
      const LayerSizes size = sizes(layer);
      for (std::int64_t first = 0; first < 23;) {
        const std::int64_t n = std::min<std::int64_t>(1 + first % 5, 23 - first);
        const auto part = [&](const std::vector<float>& all, std::int64_t width) {
          return std::span<const float>(all).subspan(static_cast<std::size_t>(first * width),
                                                     static_cast<std::size_t>(n * width));
        };
        const auto some = runner.run({n,
                                      9,
                                      part(given.input, 9 * size.inputs),
                                      times == Times::none ? std::span<const float>{} : part(given.timespans, 9),
                                      part(given.state, size.state),
                                      size.mixed_memory ? part(given.memory, size.state) : std::span<const float>{},
                                      {}});
        const auto same = part(whole.output, 9 * size.outputs);
        EXPECT_EQ(some.output, std::vector<float>(same.begin(), same.end())) << first;
        first += n;
      }
    }
  }
}

TEST(Stepper, StepsOneByOneAreTheSequence) {
  for (const char* name :
       {"cfc_default", "cfc_mixed", "cfc_wired_auto", "cfc_pure", "cfc_projected", "ltc_ncp", "ltc_mixed"}) {
    SCOPED_TRACE(name);
    const GoldenCase golden = load_golden(name);
    const Runner runner(golden.layer, converted<float>(golden.parameters));
    const LayerSizes size = sizes(golden.layer);
    const Given given(golden.layer, 1, 40);
    Stepper stepper(runner);
    for (const Times times : {Times::given, Times::none, Times::given}) {
      const auto whole = runner.run(with(times, given.sequence));
      stepper.set_state(given.state, given.memory);
      EXPECT_EQ(stepper.state(), given.state);
      std::vector<float> outputs;
      for (std::size_t t = 0; t < 40; ++t) {
        const auto x = std::span<const float>(given.input)
                           .subspan(t * static_cast<std::size_t>(size.inputs), static_cast<std::size_t>(size.inputs));
        const auto y = times == Times::none ? stepper.step(x) : stepper.step(x, given.timespans[t]);
        outputs.insert(outputs.end(), y.begin(), y.end());
      }
      EXPECT_EQ(outputs, whole.output);
      EXPECT_EQ(stepper.state(), whole.state);
      EXPECT_EQ(stepper.memory(), whole.memory);
    }
    stepper.reset();
    EXPECT_EQ(stepper.state(), std::vector<float>(static_cast<std::size_t>(size.state)));
    EXPECT_THROW(stepper.step(std::vector<float>(9)), Error);
    EXPECT_THROW(stepper.step(std::vector<float>(3), NAN), Error);
    EXPECT_THROW(stepper.set_state(std::vector<float>(1)), Error);
  }
}

TEST(Runner, HugeInputsSaturateAndNanStaysInItsSample) {
  const Layer layer = layer_from_json(R"({"type":"CfC","input_size":2,"units":3,"backbone_units":[4]})");
  const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 1));
  const std::vector<float> input{1e30f, -1e30f, NAN, 0, 1e-42f, -0.0f, INFINITY, 1};
  for_each_isa([&] {
    const Runner runner(layer, parameters);
    const auto result = runner.run({4, 1, input});
    const auto wanted = run_reference<float>(layer, parameters, {4, 1, input});
    for (std::size_t i = 0; i < 12; ++i) {
      if (std::isnan(wanted.output[i]))
        EXPECT_TRUE(std::isnan(result.output[i])) << i;
      else
        EXPECT_NEAR(result.output[i], wanted.output[i], 16 * kFloat) << i;
    }
    EXPECT_TRUE(std::isnan(result.output[3]));
    EXPECT_FALSE(std::isnan(result.output[0]));
  });
}

TEST(Runner, StacksAndBothDirectionsAreThoseOfTheReference) {
  const Layer first = layer_from_json(R"({"type":"CfC","input_size":3,"wiring":{"type":"AutoNCP","units":10,
    "output_size":4},"batch_first":false})");
  const Layer second = layer_from_json(R"({"type":"LTC","input_size":4,"units":6,"batch_first":false})");
  const Layer other = layer_from_json(R"({"type":"CfC","input_size":3,"units":5,"batch_first":false})");
  const ParameterSet<float> p1 = converted<float>(initial_parameters(first, 1)),
                            p2 = converted<float>(initial_parameters(second, 2)),
                            p3 = converted<float>(initial_parameters(other, 3));
  const Runner one(first, p1), two(second, p2), three(other, p3);
  const Given given(first, 7, 4);
  const auto close = [&](const std::vector<float>& found, const std::vector<float>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 4 * allowed(first, 4));
  };
  const Runner* const runners[] = {&one, &two};
  const StackedLayer<float> layers[] = {{&first, &p1}, {&second, &p2}};
  const auto stacked = run_stacked(runners, given.sequence);
  const auto wanted = run_stacked<float>(layers, given.sequence);
  ASSERT_EQ(stacked.size(), 2u);
  for (std::size_t l = 0; l < 2; ++l) close(stacked[l].output, wanted[l].output);
  const auto both = run_bidirectional(one, three, given.sequence);
  const auto expected = run_bidirectional<float>({&first, &p1}, {&other, &p3}, given.sequence);
  close(both.output, expected.output);
  close(both.backward.state, expected.backward.state);
}

TEST(Runner, TimesOfEachUnitAreTakenInTheFastWayWhereTheyAreTheSame) {
  for (const char* json :
       {R"({"type":"CfC","input_size":3,"units":5})", R"({"type":"LTC","input_size":3,"units":5})"}) {
    const Layer layer = layer_from_json(json);
    const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 1));
    const Runner runner(layer, parameters);
    Given given(layer, 3, 4);
    const auto wanted = runner.run(given.sequence).output;
    std::vector<float> each;
    for (const float time : given.timespans) each.insert(each.end(), 5, time);
    given.sequence.timespans = each;
    EXPECT_EQ(runner.run(given.sequence).output, wanted);
    each[7] += 1;
    EXPECT_EQ(runner.run(given.sequence).output, run_reference(layer, parameters, given.sequence).output);
  }
}

TEST(Runner, LayersWithoutAFastVersionAreRunByTheReference) {
  const GoldenCase golden = load_golden("cfc_default");
  const Runner runner(golden.layer, converted<float>(golden.parameters));
  EXPECT_EQ(runner.layer(), golden.layer);
  CfcLayer dropping{.inputs = 2, .units = 3, .backbone = {4, 4}, .backbone_dropout = 0.5};
  const ParameterSet<float> parameters = converted<float>(initial_parameters(dropping, 1));
  const std::vector<float> input{1, 2};
  Sequence<float> sequence{1, 1, input};
  sequence.dropout_seed = 4;
  EXPECT_EQ(Runner(dropping, parameters).run(sequence).output,
            run_reference<float>(dropping, parameters, sequence).output);
}

}  // namespace
}  // namespace tessera::ncp
