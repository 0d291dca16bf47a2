#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/ncp/random_generator.h"
#include "tessera/ncp/sequence.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

constexpr double kDouble = std::numeric_limits<double>::epsilon();
constexpr double kFloat = std::numeric_limits<float>::epsilon();

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], tolerance) << what << " at " << i;
}

// Operations one after the other from the first input to the last output: what roundings add up over.
double chain(const GoldenCase& golden) {
  const LayerSizes size = sizes(golden.layer);
  const auto* ltc = std::get_if<LtcLayer>(&golden.layer);
  return static_cast<double>(golden.steps) * (16.0 * (size.inputs + size.state)) *
         (ltc != nullptr ? ltc->ode_unfolds : 1);
}

template <class To>
std::vector<To> as(const std::vector<double>& from) {
  return {from.begin(), from.end()};
}

std::vector<double> uniform(std::size_t count, std::uint64_t seed, double low = -1, double high = 1) {
  RandomGenerator random(seed);
  std::vector<double> out(count);
  for (double& value : out) value = low + (high - low) * static_cast<double>(random.next_u64() >> 11) * 0x1p-53;
  return out;
}

using tessera::for_tests::error_of;

TEST(SequenceGolden, ThereAreCases) { EXPECT_EQ(golden_names().size(), 28u); }

TEST(SequenceGolden, OutputsAndStatesAreThoseOfNcps) {
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = load_golden(name);
    const auto result = run_reference(golden.layer, golden.parameters, golden.sequence());
    expect_close(result.output, golden.at("output"), tolerance(kDouble, chain(golden), golden.at("output")), name);
    expect_close(result.state, golden.at("state"), tolerance(kDouble, chain(golden), golden.at("state")), name);
    if (golden.has("memory"))
      expect_close(result.memory, golden.at("memory"), tolerance(kDouble, chain(golden), golden.at("memory")), name);
  }
}

TEST(SequenceGolden, OutputsInFloat32AreThoseOfNcps) {
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = load_golden(name);
    const Sequence<double> from = golden.sequence();
    const auto input = as<float>(golden.at("input"));
    Sequence<float> sequence{.batch = from.batch, .steps = from.steps, .input = input};
    const std::vector<float> timespans(from.timespans.begin(), from.timespans.end());
    const std::vector<float> state(from.state.begin(), from.state.end());
    const std::vector<float> memory(from.memory.begin(), from.memory.end());
    sequence.timespans = timespans;
    sequence.state = state;
    sequence.memory = memory;
    const auto result = run_reference(golden.layer, converted<float>(golden.parameters), sequence);
    const double allowed = std::min(tolerance(kFloat, chain(golden), golden.at("output_f32")), 1e-5);
    expect_close({result.output.begin(), result.output.end()}, golden.at("output_f32"), allowed, name);
  }
}

TEST(SequenceGolden, GradientsAreThoseOfPyTorch) {
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = load_golden(name);
    const std::vector<double> none;
    const auto found =
        differentiate_reference<double>(golden.layer, golden.parameters, golden.sequence(), golden.at("d_output"),
                                        golden.at("d_state"), golden.has("d_memory") ? golden.at("d_memory") : none);
    // Gradients of a parameter are sums over samples and steps of products along the chain.
    const double length = 4 * chain(golden) * static_cast<double>(golden.batch * golden.steps);
    for (std::size_t i = 0; i < golden.gradients.items.size(); ++i) {
      const auto& wanted = golden.gradients.items[i];
      expect_close(found.parameters.items[i].values, wanted.values, tolerance(kDouble, length, wanted.values),
                   name + ", gradient of " + wanted.info.name);
    }
    expect_close(found.input, golden.at("d_input"), tolerance(kDouble, length, golden.at("d_input")), name + ", input");
    if (golden.has("d_initial_state"))
      expect_close(found.state, golden.at("d_initial_state"), tolerance(kDouble, length, found.state),
                   name + ", state");
    if (golden.has("d_initial_memory"))
      expect_close(found.memory, golden.at("d_initial_memory"), tolerance(kDouble, length, found.memory),
                   name + ", memory");
  }
}

// For what PyTorch has no counterpart of: differences of the loss. Central differences with step h are off by h^2 times
// a third derivative and by roundings of the loss over h.
enum class Times { one, each_step, each_unit };

void check_by_differences(const Layer& layer, std::optional<std::uint64_t> dropout_seed = {},
                          Times times = Times::each_step) {
  const LayerSizes size = sizes(layer);
  const std::int64_t batch = 2, steps = 3;
  const auto count = [](std::int64_t a, std::int64_t b = 1, std::int64_t c = 1) {
    return static_cast<std::size_t>(a * b * c);
  };
  ParameterSet<double> parameters = initial_parameters(layer, 5);
  std::uint64_t seed = 100;
  for (auto& item : parameters.items) {
    if (!item.info.trainable) continue;
    const auto noise = uniform(item.values.size(), ++seed, -0.1, 0.1);
    for (std::size_t i = 0; i < noise.size(); ++i) item.values[i] += noise[i];
  }
  std::vector<double> input = uniform(count(batch, steps, size.inputs), 1),
                      state = uniform(count(batch, size.state), 2);
  std::vector<double> memory = uniform(size.mixed_memory ? count(batch, size.state) : 0, 3);
  std::vector<double> timespans = uniform(times == Times::one         ? 1
                                          : times == Times::each_step ? count(batch, steps)
                                                                      : count(batch, steps, size.state),
                                          4, 0.3, 1.5);
  const Sequence<double> sequence{batch, steps, input, timespans, state, memory, dropout_seed, true};
  const auto d_output = uniform(count(batch, size.return_sequences ? steps : 1, size.outputs), 6);
  const auto d_state = uniform(count(batch, size.state), 7);
  const auto d_memory = uniform(memory.size(), 8);
  const auto loss = [&] {
    const auto result = run_reference(layer, parameters, sequence);
    double sum = 0;
    for (std::size_t i = 0; i < d_output.size(); ++i) sum += d_output[i] * result.output[i];
    for (std::size_t i = 0; i < d_state.size(); ++i) sum += d_state[i] * result.state[i];
    for (std::size_t i = 0; i < d_memory.size(); ++i) sum += d_memory[i] * result.memory[i];
    return sum;
  };
  const auto found = differentiate_reference<double>(layer, parameters, sequence, d_output, d_state, d_memory);
  const auto compare = [&](std::vector<double>& values, const std::vector<double>& gradient, const std::string& what) {
    const double h = std::cbrt(kDouble);
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 7) {  // a sample of them
      const double before = values[i];
      values[i] = before + h;
      const double above = loss();
      values[i] = before - h;
      const double below = loss();
      values[i] = before;
      const double allowed = 1e3 * h * h * std::max({1.0, std::abs(gradient[i]), std::abs(above)});
      ASSERT_NEAR(gradient[i], (above - below) / (2 * h), allowed) << what << " at " << i;
    }
  };
  for (std::size_t i = 0; i < parameters.items.size(); ++i)
    if (parameters.items[i].info.trainable)
      compare(parameters.items[i].values, found.parameters.items[i].values, parameters.items[i].info.name);
  compare(input, found.input, "input");
  compare(state, found.state, "state");
  compare(memory, found.memory, "memory");
  ASSERT_EQ(found.timespans.size(), timespans.size());
  compare(timespans, found.timespans, "timespans");
}

Layer layer_of(const std::string& json) { return layer_from_json(json); }

const char* const kAuto = R"("wiring":{"type":"AutoNCP","units":9,"output_size":2})";

TEST(SequenceGradient, SolversAreDifferentiatedExactly) {
  for (const char* solver : {"semi_implicit", "explicit", "rk4"})
    for (const char* constraint : {"true", "false"}) {
      SCOPED_TRACE(std::string(solver) + " " + constraint);
      check_by_differences(layer_of(fmt::format(
          R"({{"type":"LTC","input_size":3,{},"solver":"{}","ode_unfolds":3,"implicit_param_constraints":{}}})", kAuto,
          solver, constraint)));
    }
}

TEST(SequenceGradient, EveryDialectModeAndActivationIsDifferentiatedExactly) {
  for (const char* dialect : {"torch", "keras", "mlx", "paper"})
    for (const char* mode : {"default", "pure", "no_gate"})
      for (const char* activation : {"lecun_tanh", "silu", "tanh", "gelu"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", dialect, mode, activation));
        check_by_differences(layer_of(fmt::format(
            R"({{"type":"CfC","input_size":3,"units":4,"dialect":"{}","mode":"{}","activation":"{}","backbone_units":[5,3]}})",
            dialect, mode, activation)));
      }
}

TEST(SequenceGradient, DropoutMixedMemoryAndProjectionAreDifferentiatedExactly) {
  check_by_differences(
      layer_of(R"({"type":"CfC","input_size":3,"units":4,"backbone_units":[6,5,4],"backbone_dropout":0.4,
    "mixed_memory":true,"proj_size":2,"batch_first":false})"),
      11);
  check_by_differences(layer_of(
      fmt::format(R"({{"type":"CfC","input_size":3,{},"mixed_memory":true,"return_sequences":false}})", kAuto)));
}

TEST(SequenceGradient, TimespansOfEveryFormAreDifferentiatedExactly) {
  for (const Times times : {Times::one, Times::each_step, Times::each_unit})
    for (const char* text : {R"("type":"CfC","mixed_memory":true)", R"("type":"CfC","mode":"pure","batch_first":false)",
                             R"("type":"LTC")", R"("type":"LTC","solver":"rk4")"})
      check_by_differences(layer_of(fmt::format(R"({{{},"input_size":3,{}}})", text, kAuto)), {}, times);
}

TEST(Sequence, OneTimespanForAllIsTheSameAsOneForEachStep) {
  const GoldenCase golden = load_golden("cfc_plain");
  Sequence<double> sequence = golden.sequence();
  const std::vector<double> all(static_cast<std::size_t>(golden.batch * golden.steps), 0.25);
  sequence.timespans = all;
  const auto each = run_reference(golden.layer, golden.parameters, sequence);
  sequence.timespans = std::span<const double>(all).first(1);
  EXPECT_EQ(run_reference(golden.layer, golden.parameters, sequence).output, each.output);
  EXPECT_NE(golden.at("output"), each.output);
}

TEST(Sequence, ABatchIsItsSamplesOneByOneWhateverItsSize) {
  for (const char* name : {"cfc_default", "cfc_wired_ncp", "ltc_ncp"}) {
    const GoldenCase golden = load_golden(name);
    const LayerSizes size = sizes(golden.layer);
    // A batch as large as there are units is where upstream's timespans go wrong without a word.
    for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{size.state}, std::int64_t{7}}) {
      const std::int64_t steps = 3;
      const auto input = uniform(static_cast<std::size_t>(batch * steps * size.inputs), 1);
      const auto timespans = uniform(static_cast<std::size_t>(batch * steps), 2, 0.1, 2);
      const auto whole = run_reference<double>(golden.layer, golden.parameters, {batch, steps, input, timespans});
      for (std::int64_t b = 0; b < batch; ++b) {
        const auto from = [&](const std::vector<double>& all, std::int64_t width) {
          return std::span<const double>(all).subspan(static_cast<std::size_t>(b * width),
                                                      static_cast<std::size_t>(width));
        };
        const auto one = run_reference<double>(golden.layer, golden.parameters,
                                               {1, steps, from(input, steps * size.inputs), from(timespans, steps)});
        const auto part = from(whole.output, steps * size.outputs);
        EXPECT_EQ(one.output, std::vector<double>(part.begin(), part.end())) << name;
      }
    }
  }
}

TEST(Sequence, StatesOfEveryStepCanBeKept) {
  const GoldenCase golden = load_golden("cfc_wired_ncp");
  const auto result = run_reference(golden.layer, golden.parameters, golden.sequence(), KeepStates::yes);
  const auto units = static_cast<std::size_t>(sizes(golden.layer).state);
  ASSERT_EQ(result.states.size(), static_cast<std::size_t>(golden.batch * golden.steps) * units);
  EXPECT_EQ(std::vector<double>(result.states.end() - static_cast<std::ptrdiff_t>(units), result.states.end()),
            std::vector<double>(result.state.end() - static_cast<std::ptrdiff_t>(units), result.state.end()));
}

TEST(Sequence, TwoHalvesWithTheStateBetweenThemAreTheWhole) {
  for (const char* name : {"cfc_mixed", "ltc_mixed"}) {
    const GoldenCase golden = load_golden(name);
    const LayerSizes size = sizes(golden.layer);
    const auto input = uniform(static_cast<std::size_t>(6 * size.inputs), 1);
    const auto whole = run_reference<double>(golden.layer, golden.parameters, {1, 6, input});
    const auto half = static_cast<std::size_t>(3 * size.inputs);
    const auto first =
        run_reference<double>(golden.layer, golden.parameters, {1, 3, std::span<const double>(input).first(half)});
    const auto second =
        run_reference<double>(golden.layer, golden.parameters,
                              {1, 3, std::span<const double>(input).last(half), {}, first.state, first.memory});
    EXPECT_EQ(second.state, whole.state);
    EXPECT_EQ(second.memory, whole.memory);
  }
}

TEST(Sequence, NoTimeLeavesAnLtcAsItIs) {
  const GoldenCase golden = load_golden("ltc_ncp");
  Sequence<double> sequence = golden.sequence();
  const std::vector<double> none{0};
  sequence.timespans = none;
  EXPECT_EQ(run_reference(golden.layer, golden.parameters, sequence).state, golden.at("initial_state"));
}

TEST(Sequence, ManySmallStepsOfEverySolverAgree) {
  std::vector<std::vector<double>> ends;
  for (const char* solver : {"semi_implicit", "explicit", "rk4"}) {
    const Layer layer =
        layer_of(fmt::format(R"({{"type":"LTC","input_size":3,{},"solver":"{}","ode_unfolds":{},"epsilon":0}})", kAuto,
                             solver, std::string(solver) == "rk4" ? 200 : 20000));
    const auto input = uniform(3, 1);
    const std::vector<double> brief{0.5};
    ends.push_back(run_reference<double>(layer, initial_parameters(layer, 3), {1, 1, input, brief}).state);
  }
  // First order in the step: 0.5 / 20000, times how fast rates change.
  for (std::size_t i = 0; i < ends[0].size(); ++i) {
    EXPECT_NEAR(ends[0][i], ends[2][i], 100 * 0.5 / 20000);
    EXPECT_NEAR(ends[1][i], ends[2][i], 100 * 0.5 / 20000);
  }
}

TEST(Sequence, DialectsGiveTheSameWithConvertedWeights) {
  // Keras' gate has the other sign; with heads of the paper and both signs turned, gates agree.
  CfcLayer torch{.inputs = 3, .units = 4, .backbone = {5}};
  const GoldenCase golden = load_golden("cfc_default");
  CfcLayer keras = torch;
  keras.dialect = Dialect::keras;
  ParameterSet<double> turned = golden.parameters;
  convert_dialect(turned, Dialect::torch, Dialect::keras);
  // Heads without tanh: set both heads to nothing but small biases, where tanh is the identity to the third power.
  ParameterSet<double> small = golden.parameters;
  for (const char* head : {"rnn_cell.ff1", "rnn_cell.ff2"})
    for (const char* part : {".weight", ".bias"})
      for (double& value : small.items[static_cast<std::size_t>(small.find(std::string(head) + part))].values)
        value *= 1e-5;
  ParameterSet<double> small_turned = small;
  convert_dialect(small_turned, Dialect::torch, Dialect::keras);
  const auto a = run_reference<double>(torch, small, golden.sequence()).output;
  const auto b = run_reference<double>(keras, small_turned, golden.sequence()).output;
  expect_close(a, b, 1e-12, "small heads");
  EXPECT_NE(run_reference<double>(torch, golden.parameters, golden.sequence()).output,
            run_reference<double>(keras, turned, golden.sequence()).output);
}

TEST(Sequence, DropoutKeepsTheMeanAndRepeatsItself) {
  const Layer layer = layer_of(R"({"type":"CfC","input_size":2,"units":1,"backbone_units":[2,4000],"activation":"relu",
    "backbone_dropout":0.25,"dialect":"keras","return_sequences":false})");
  ParameterSet<double> parameters = initial_parameters(layer, 3);
  const std::vector<double> input{1, 1};
  Sequence<double> sequence{1, 1, input};
  const auto without = run_reference(layer, parameters, sequence).output;
  sequence.dropout_seed = 1;
  const auto with = run_reference(layer, parameters, sequence).output;
  EXPECT_NE(with, without);
  EXPECT_EQ(run_reference(layer, parameters, sequence).output, with);
  sequence.dropout_seed = 2;
  EXPECT_NE(run_reference(layer, parameters, sequence).output, with);
}

TEST(Sequence, TimesOfEachUnitThatAreAllTheSameAreTheTimeOfTheStep) {
  for (const char* name : {"cfc_default", "cfc_wired_ncp", "ltc_ncp"}) {
    const GoldenCase golden = load_golden(name);
    const LayerSizes size = sizes(golden.layer);
    Sequence<double> sequence = golden.sequence();
    const auto wanted = run_reference(golden.layer, golden.parameters, sequence);
    std::vector<double> each;
    for (const double time : sequence.timespans) each.insert(each.end(), static_cast<std::size_t>(size.state), time);
    sequence.timespans = each;
    EXPECT_EQ(run_reference(golden.layer, golden.parameters, sequence).output, wanted.output) << name;
    EXPECT_EQ(timespans_of_steps(sequence, size.state), golden.at("timespans"));
    each[1] *= 2;
    EXPECT_NE(run_reference(golden.layer, golden.parameters, sequence).output, wanted.output) << name;
    EXPECT_TRUE(timespans_of_steps(sequence, size.state).empty());
  }
}

TEST(Sequence, StacksFeedEachOther) {
  const GoldenCase golden = load_golden("cfc_projected");
  const Layer second = layer_of(R"({"type":"LTC","input_size":2,"units":3})");
  const ParameterSet<double> parameters = initial_parameters(second, 1);
  const StackedLayer<double> layers[] = {{&golden.layer, &golden.parameters}, {&second, &parameters}};
  Sequence<double> sequence = golden.sequence();
  sequence.state = {};
  const auto stacked = run_stacked<double>(layers, sequence);
  const auto first = run_reference(golden.layer, golden.parameters, sequence);
  EXPECT_EQ(stacked[0].output, first.output);
  EXPECT_EQ(stacked[1].output,
            run_reference<double>(second, parameters, {golden.batch, golden.steps, first.output}).output);
}

TEST(Sequence, BothDirectionsStandSideBySide) {
  const GoldenCase golden = load_golden("cfc_plain");
  const Sequence<double> sequence = golden.sequence();
  const StackedLayer<double> layer{&golden.layer, &golden.parameters};
  const auto both = run_bidirectional<double>(layer, layer, sequence);
  ASSERT_EQ(both.output.size(), 2 * golden.at("output").size());
  const std::size_t units = 4, steps = static_cast<std::size_t>(golden.steps);
  for (std::size_t i = 0; i < units; ++i) EXPECT_EQ(both.output[i], both.forward.output[i]);
  // The backward layer's last step is the first in time.
  for (std::size_t i = 0; i < units; ++i) EXPECT_EQ(both.output[units + i], both.backward.state[i]);
  EXPECT_EQ(std::vector<double>(both.forward.output.begin() + static_cast<std::ptrdiff_t>((steps - 1) * units),
                                both.forward.output.begin() + static_cast<std::ptrdiff_t>(steps * units)),
            std::vector<double>(both.forward.state.begin(), both.forward.state.begin() + 4));
}

TEST(Sequence, WrongSizesAreRefusedWithTheirNumbers) {
  const GoldenCase golden = load_golden("cfc_mixed");
  const auto run = [&](const Sequence<double>& sequence) {
    return error_of([&] { run_reference(golden.layer, golden.parameters, sequence); });
  };
  const std::vector<double> few(5), right(24), four(4), eight(8);
  EXPECT_THAT(run({2, 4, few}), HasSubstr("the input has 5 values, 2 samples x 4 steps x 3 inputs make 24"));
  EXPECT_THAT(run({2, 4, right, few}),
              HasSubstr("timespans has 5 values, 2 samples x 4 steps (or x 4 units as well) make 8"));
  EXPECT_THAT(run({2, 4, right, {}, four, four}),
              HasSubstr("the initial state has 4 values, 2 samples x 4 units make 8"));
  EXPECT_THAT(run({2, 4, right, {}, eight}), HasSubstr("from a state and a memory, or from neither"));
  EXPECT_THAT(run({2, 0, {}}), HasSubstr("at least one step"));
  std::vector<double> bad(8, 1.0);
  bad[3] = std::nan("");
  EXPECT_THAT(run({2, 4, right, bad}), HasSubstr("timespan 3 is nan"));
  EXPECT_EQ(run({0, 4, {}}), "no error") << "an empty batch is a batch";
  const GoldenCase plain = load_golden("cfc_plain");
  EXPECT_THAT(error_of([&] { run_reference<double>(plain.layer, plain.parameters, {2, 4, right, {}, eight, eight}); }),
              HasSubstr("without mixed memory"));
}

}  // namespace
}  // namespace tessera::ncp
