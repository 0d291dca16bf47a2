#include "tessera/ncp/gradient.h"
#include "given.h"
#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/random_generator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

constexpr double kFloat = std::numeric_limits<float>::epsilon();

// Gradients of what comes out, besides; with `varied`, samples that end at steps of their own.
struct Trained : Given {
  std::vector<float> d_output, d_state, d_memory;
  std::vector<std::int32_t> lengths;
  Trained(const Layer& layer, std::int64_t batch, std::int64_t steps, bool varied,
          std::optional<std::uint64_t> dropout = {})
      : Given(layer, batch, steps, dropout) {
    sequence.differentiate_timespans = true;
    const LayerSizes size = sizes(layer);
    d_output = uniform(batch * (size.return_sequences ? steps : 1) * size.outputs, 5);
    d_state = uniform(batch * size.state, 6);
    d_memory = uniform(static_cast<std::int64_t>(memory.size()), 7);
    RandomGenerator random(8);
    for (std::int64_t b = 0; varied && b < batch; ++b)
      lengths.push_back(static_cast<std::int32_t>(1 + random.choice(steps)));
  }
};

// What the reference says, sample by sample where they end at different steps.
struct Wanted {
  std::vector<double> output, state, memory;
  SequenceGradients<double> gradients;
};

Wanted reference(const Layer& layer, const ParameterSet<double>& parameters, const Trained& given) {
  const LayerSizes size = sizes(layer);
  const Sequence<float>& all = given.sequence;
  Wanted out;
  if (given.lengths.empty()) {
    const auto input = wide(given.input), timespans = wide(given.timespans), state = wide(given.state),
               memory = wide(given.memory), d_output = wide(given.d_output), d_state = wide(given.d_state),
               d_memory = wide(given.d_memory);
    const Sequence<double> sequence{all.batch, all.steps, input, timespans, state, memory, all.dropout_seed, true};
    const auto result = run_reference<double>(layer, parameters, sequence);
    return {result.output, result.state, result.memory,
            differentiate_reference<double>(layer, parameters, sequence, d_output, d_state, d_memory)};
  }
  EXPECT_TRUE(size.batch_first && !all.dropout_seed) << "the test cuts samples out";
  out.output.resize(given.d_output.size());
  out.gradients.parameters = zeros<double>(parameter_list(layer));
  out.gradients.input.resize(given.input.size());
  out.gradients.timespans.resize(given.timespans.size());
  for (std::int64_t b = 0; b < all.batch; ++b) {
    const std::int64_t steps = given.lengths[static_cast<std::size_t>(b)];
    const auto part = [&](const std::vector<float>& from, std::int64_t width, std::int64_t count) {
      if (from.empty()) return std::vector<double>();
      return std::vector<double>(from.begin() + b * width, from.begin() + b * width + count);
    };
    const std::int64_t out_width = size.return_sequences ? all.steps * size.outputs : size.outputs;
    const auto input = part(given.input, all.steps * size.inputs, steps * size.inputs),
               timespans = part(given.timespans, all.steps, steps), state = part(given.state, size.state, size.state),
               memory = part(given.memory, size.state, size.state),
               d_output = part(given.d_output, out_width, size.return_sequences ? steps * size.outputs : size.outputs),
               d_state = part(given.d_state, size.state, size.state),
               d_memory = part(given.d_memory, size.state, size.state);
    const Sequence<double> sequence{1, steps, input, timespans, state, memory, {}, true};
    const auto result = run_reference<double>(layer, parameters, sequence);
    const auto gradients = differentiate_reference<double>(layer, parameters, sequence, d_output, d_state, d_memory);
    std::copy(result.output.begin(), result.output.end(), out.output.begin() + b * out_width);
    std::copy(gradients.input.begin(), gradients.input.end(),
              out.gradients.input.begin() + b * all.steps * size.inputs);
    if (!timespans.empty())
      std::copy(gradients.timespans.begin(), gradients.timespans.end(),
                out.gradients.timespans.begin() + b * all.steps);
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(out.state, result.state);
    append(out.memory, result.memory);
    append(out.gradients.state, gradients.state);
    append(out.gradients.memory, gradients.memory);
    for (std::size_t i = 0; i < gradients.parameters.items.size(); ++i)
      for (std::size_t k = 0; k < gradients.parameters.items[i].values.size(); ++k)
        out.gradients.parameters.items[i].values[k] += gradients.parameters.items[i].values[k];
  }
  return out;
}

// Each step rounds sums of products and functions of them to a few units; a gradient is a sum over rows of products of
// such numbers, whose roundings are as good as random. Values are compared at the size of the largest of their kind.
double allowed(const Layer& layer, const Trained& given, double epsilon) {
  const LayerSizes size = sizes(layer);
  const auto* ltc = std::get_if<LtcLayer>(&layer);
  const double chain = static_cast<double>(given.sequence.steps * (ltc != nullptr ? ltc->ode_unfolds : 1));
  const double sums = static_cast<double>(size.inputs + size.state + 128);
  return epsilon * 4 * chain * std::sqrt(sums) * std::sqrt(static_cast<double>(given.sequence.batch));
}

void expect_near(const std::vector<float>& found, const std::vector<double>& wanted, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  double largest = 1;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], tolerance * largest) << what << " at " << i;
}

void compare(Gradient& gradient, const Trained& given, const Wanted& wanted, double tolerance) {
  SequenceResult<float> result;
  SequenceGradients<float> found;
  gradient.forward(given.sequence, result, given.lengths);
  expect_near(result.output, wanted.output, tolerance, "output");
  expect_near(result.state, wanted.state, tolerance, "state");
  expect_near(result.memory, wanted.memory, tolerance, "memory");
  gradient.backward(given.d_output, found, given.d_state, given.d_memory);
  for (std::size_t i = 0; i < wanted.gradients.parameters.items.size(); ++i) {
    const auto& item = wanted.gradients.parameters.items[i];
    EXPECT_EQ(found.parameters.items[i].info, item.info);
    expect_near(found.parameters.items[i].values, item.values, tolerance, item.info.name);
  }
  expect_near(found.input, wanted.gradients.input, tolerance, "input");
  if (given.sequence.differentiate_timespans)
    expect_near(found.timespans, wanted.gradients.timespans, tolerance, "timespans");
  expect_near(found.state, wanted.gradients.state, tolerance, "gradient of the state");
  expect_near(found.memory, wanted.gradients.memory, tolerance, "gradient of the memory");
}

void compare_with_reference(const Layer& layer, std::int64_t batch, std::int64_t steps, bool varied = false,
                            std::optional<std::uint64_t> dropout = {}) {
  const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 9));
  const Trained given(layer, batch, steps, varied, dropout);
  const Wanted wanted = reference(layer, converted<double>(parameters), given);
  for_each_isa([&] {
    Gradient gradient(layer);
    gradient.set_parameters(parameters);
    for (int round = 0; round < 2; ++round) compare(gradient, given, wanted, allowed(layer, given, kFloat));
  });
}

TEST(Gradient, GoldenCasesComeOutAsByPyTorch) {
  for_each_isa([] {
    for (const std::string& name : golden_names()) {
      SCOPED_TRACE(name);
      const GoldenCase golden = load_golden(name);
      const Sequence<double> from = golden.sequence();
      Trained given(golden.layer, golden.batch, golden.steps, false);
      const auto narrow = [](std::span<const double> v) { return std::vector<float>(v.begin(), v.end()); };
      given.input = narrow(from.input);
      given.timespans = narrow(from.timespans);
      given.state = narrow(from.state);
      given.memory = narrow(from.memory);
      given.d_output = narrow(golden.at("d_output"));
      given.d_state = narrow(golden.at("d_state"));
      given.d_memory = golden.has("d_memory") ? narrow(golden.at("d_memory")) : std::vector<float>();
      given.sequence = {golden.batch, golden.steps, given.input, given.timespans, given.state, given.memory, {}};
      const std::vector<double> none;
      const auto result = run_reference<double>(golden.layer, golden.parameters, from);
      Wanted wanted{golden.at("output"),
                    golden.at("state"),
                    golden.has("memory") ? golden.at("memory") : none,
                    {golden.gradients, golden.at("d_input"),
                     golden.has("d_initial_state")
                         ? golden.at("d_initial_state")
                         : differentiate_reference<double>(golden.layer, golden.parameters, from, golden.at("d_output"),
                                                           golden.at("d_state"),
                                                           golden.has("d_memory") ? golden.at("d_memory") : none)
                               .state,
                     golden.has("d_initial_memory") ? golden.at("d_initial_memory") : none}};
      if (golden.has("memory") && wanted.gradients.memory.empty()) wanted.gradients.memory.resize(wanted.memory.size());
      Gradient gradient(golden.layer);
      gradient.set_parameters(converted<float>(golden.parameters));
      compare(gradient, given, wanted, allowed(golden.layer, given, kFloat));
    }
  });
}

TEST(Gradient, CfcLayersOfEveryShapeAgreeWithTheReference) {
  for (const auto& [batch, steps] :
       {std::pair(1, 1), std::pair(1, 70), std::pair(2, 3), std::pair(7, 3), std::pair(17, 2), std::pair(50, 3)})
    for (const int units : {1, 4, 16, 17, 33})
      for (const char* form : {R"("backbone_units":[])", R"("backbone_units":[37])", R"("backbone_units":[16,70,5])"})
        for (const bool varied : {false, true}) {
          SCOPED_TRACE(fmt::format("{} x {}, {} units, {}, varied {}", batch, steps, units, form, varied));
          compare_with_reference(
              layer_from_json(fmt::format(R"({{"type":"CfC","input_size":5,"units":{},{}}})", units, form)), batch,
              steps, varied);
          if (testing::Test::HasFatalFailure()) return;
        }
}

TEST(Gradient, CfcLayersOfEveryFormAgreeWithTheReference) {
  for (const char* mode : {"default", "pure", "no_gate"})
    for (const char* dialect : {"torch", "mlx", "paper"})
      for (const char* rest :
           {R"("units":21,"activation":"silu")",
            R"("units":21,"activation":"gelu","backbone_units":[20,20],"proj_size":3)",
            R"("units":21,"activation":"relu","mixed_memory":true)",
            R"("units":9,"activation":"tanh","batch_first":false)",
            R"("units":9,"return_sequences":false,"proj_size":2,"mixed_memory":true)",
            R"("wiring":{"type":"AutoNCP","units":29,"output_size":5},"mixed_memory":true,"proj_size":7)",
            R"("wiring":{"type":"AutoNCP","units":64,"output_size":8},"return_sequences":false,"batch_first":false)",
            R"("wiring":{"type":"Random","units":19,"sparsity_level":0.5},"return_sequences":false)"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", mode, dialect, rest));
        const Layer layer = layer_from_json(
            fmt::format(R"({{"type":"CfC","input_size":6,"mode":"{}","dialect":"{}",{}}})", mode, dialect, rest));
        const bool batch_first = sizes(layer).batch_first;
        for (const int batch : {1, 19}) {
          compare_with_reference(layer, batch, 3);
          if (batch_first) compare_with_reference(layer, batch, 3, true);
        }
      }
}

TEST(Gradient, LtcLayersOfEveryFormAgreeWithTheReference) {
  for (const char* rest :
       {R"("units":1)", R"("units":17)", R"("units":33,"implicit_param_constraints":false)",
        R"("wiring":{"type":"AutoNCP","units":29,"output_size":5},"ode_unfolds":3)",
        R"("wiring":{"type":"AutoNCP","units":64,"output_size":8},"return_sequences":false,"batch_first":false)",
        R"("wiring":{"type":"Random","units":19,"output_dim":4,"sparsity_level":0.5},"input_mapping":"linear")",
        R"("wiring":{"type":"NCP","inter_neurons":12,"command_neurons":6,"motor_neurons":1,"sensory_fanout":6,
           "inter_fanout":4,"recurrent_command_synapses":4,"motor_fanin":6},"output_mapping":"none","input_mapping":"none")",
        R"("units":5,"mixed_memory":true)", R"("units":5,"solver":"rk4","return_sequences":false)"})
    for (const auto& [batch, steps] : {std::pair(1, 9), std::pair(3, 2), std::pair(16, 2), std::pair(41, 3)}) {
      SCOPED_TRACE(fmt::format("{} x {}, {}", batch, steps, rest));
      const Layer layer = layer_from_json(fmt::format(R"({{"type":"LTC","input_size":6,{}}})", rest));
      compare_with_reference(layer, batch, steps);
      if (sizes(layer).batch_first) compare_with_reference(layer, batch, steps, true);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Gradient, LtcLayersOfManySamplesAgreeWithTheReference) {
  for (const int batch : {300, 530})  // several vectors of samples at a time, whatever the instruction set
    for (const bool varied : {false, true})
      compare_with_reference(
          layer_from_json(R"({"type":"LTC","input_size":3,"wiring":{"type":"AutoNCP","units":12,"output_size":2}})"),
          batch, 3, varied);
}

// One time for all, one for each step, one for each unit: each gets a gradient of its own form.
TEST(Gradient, ByTimespansIsTheReferencesInEveryForm) {
  for (const char* text : {R"({"type":"CfC","input_size":3,"units":9,"mixed_memory":true})",
                           R"({"type":"CfC","input_size":3,"wiring":{"type":"AutoNCP","units":12,"output_size":2}})",
                           R"({"type":"LTC","input_size":3,"units":5,"batch_first":false})"}) {
    const Layer layer = layer_from_json(text);
    for (const std::int64_t width : {0, 1, sizes(layer).state}) {
      SCOPED_TRACE(fmt::format("{}, {} wide", text, width));
      Trained given(layer, 4, 3, false);
      given.timespans = uniform(width == 0 ? 1 : 12 * width, 12, 0.1, 2);
      given.sequence.timespans = given.timespans;
      const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 9));
      const Wanted wanted = reference(layer, converted<double>(parameters), given);
      ASSERT_EQ(wanted.gradients.timespans.size(), given.timespans.size());
      for_each_isa([&] {
        Gradient gradient(layer);
        gradient.set_parameters(parameters);
        compare(gradient, given, wanted, allowed(layer, given, kFloat));
      });
    }
  }
}

TEST(Gradient, DropoutIsTheReferences) {
  for (const char* dialect : {"torch", "keras"})
    compare_with_reference(
        layer_from_json(fmt::format(
            R"({{"type":"CfC","input_size":3,"units":9,"backbone_units":[20,18,7],"backbone_dropout":0.4,"dialect":"{}"}})",
            dialect)),
        5, 4, false, 11);
}

TEST(Gradient, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  for (const char* text :
       {R"({"type":"CfC","input_size":6,"units":40,"backbone_units":[50],"mixed_memory":true,"proj_size":3})",
        R"({"type":"CfC","input_size":6,"wiring":{"type":"AutoNCP","units":29,"output_size":5}})",
        R"({"type":"LTC","input_size":6,"wiring":{"type":"AutoNCP","units":29,"output_size":5}})",
        R"({"type":"LTC","input_size":2,"units":4,"mixed_memory":true})"}) {
    const Layer layer = layer_from_json(text);
    const Trained given(layer, 70, 9, true);
    std::optional<SequenceGradients<float>> first;
    for (const int threads : {1, 2, 3, 5}) {
      const ThreadLimit limit(threads);
      Gradient gradient(layer);
      gradient.set_parameters(converted<float>(initial_parameters(layer, 1)));
      SequenceResult<float> result;
      SequenceGradients<float> found;
      gradient.forward(given.sequence, result, given.lengths);
      gradient.backward(given.d_output, found);
      if (!first) first = found;
      for (std::size_t i = 0; i < found.parameters.items.size(); ++i)
        EXPECT_EQ(found.parameters.items[i].values, first->parameters.items[i].values) << threads;
      EXPECT_EQ(found.input, first->input);
    }
  }
}

TEST(Gradient, ShorterTypesAreOffByTheirRoundings) {
  for (const char* text :
       {R"({"type":"CfC","input_size":6,"units":40,"backbone_units":[50],"mixed_memory":true,"proj_size":3})",
        R"({"type":"LTC","input_size":6,"wiring":{"type":"AutoNCP","units":29,"output_size":5}})"}) {
    const Layer layer = layer_from_json(text);
    const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 9));
    const Trained given(layer, 20, 5, false);
    const Wanted wanted = reference(layer, converted<double>(parameters), given);
    for (const auto& [precision, epsilon] :
         {std::pair(Precision::bfloat16, 0x1p-8), std::pair(Precision::float16, 0x1p-11)})
      for_each_isa([&] {
        Gradient gradient(layer, precision);
        gradient.set_parameters(parameters);
        // An eighth of the worst case; and far more than what float32 is off by.
        compare(gradient, given, wanted, allowed(layer, given, epsilon) / 8);
        SequenceResult<float> result;
        gradient.forward(given.sequence, result);
        double most = 0;
        for (std::size_t i = 0; i < wanted.output.size(); ++i)
          most = std::max(most, std::abs(result.output[i] - wanted.output[i]));
        EXPECT_GT(most, epsilon / 8);
        EXPECT_THAT(std::string(gradient.kernel()), HasSubstr(name(precision)));
      });
  }
}

TEST(Gradient, NotANumberStaysInItsSample) {
  const Layer layer = layer_from_json(R"({"type":"CfC","input_size":2,"units":3,"backbone_units":[4]})");
  Trained given(layer, 3, 2, false);
  given.input[4] = NAN;  // of sample 1
  for_each_isa([&] {
    Gradient gradient(layer);
    gradient.set_parameters(converted<float>(initial_parameters(layer, 1)));
    SequenceResult<float> result;
    SequenceGradients<float> found;
    gradient.forward(given.sequence, result);
    gradient.backward(given.d_output, found);
    for (std::size_t i = 0; i < found.input.size(); ++i) EXPECT_EQ(std::isnan(found.input[i]), i / 4 == 1) << i;
    EXPECT_TRUE(std::isnan(found.parameters.items[0].values[0]));
  });
}

TEST(Gradient, WrongUseIsRefused) {
  const auto error_of = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Layer layer = layer_from_json(R"({"type":"CfC","input_size":2,"units":3})");
  const Trained given(layer, 2, 3, false);
  SequenceResult<float> result;
  SequenceGradients<float> found;
  Gradient gradient(layer);
  EXPECT_THAT(error_of([&] { gradient.forward(given.sequence, result); }), HasSubstr("parameters before it runs"));
  gradient.set_parameters(converted<float>(initial_parameters(layer, 1)));
  EXPECT_THAT(error_of([&] { gradient.backward(given.d_output, found); }), HasSubstr("forward() comes first"));
  const std::vector<std::int32_t> bad{3, 4}, few{3};
  EXPECT_THAT(error_of([&] { gradient.forward(given.sequence, result, bad); }),
              HasSubstr("sample 1 is said to have 4 steps, of 3"));
  EXPECT_THAT(error_of([&] { gradient.forward(given.sequence, result, few); }), HasSubstr("1 lengths"));
  gradient.forward(given.sequence, result);
  EXPECT_THAT(error_of([&] { gradient.backward(std::span(given.d_output).first(5), found); }),
              HasSubstr("the gradient of the output has 5 values, not 18"));
  const Layer ltc = layer_from_json(R"({"type":"LTC","input_size":2,"units":3,"mixed_memory":true})");
  EXPECT_THAT(error_of([&] { Gradient(ltc, Precision::bfloat16); }), HasSubstr("not computed in bf16"));
}

}  // namespace
}  // namespace tessera::ncp
