#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/ncp/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

Array array(Shape shape, const std::vector<double>& values) { return Array::of<double>(std::move(shape), values); }

Runner runner_of(const GoldenCase& golden) { return {golden.layer, converted<float>(golden.parameters)}; }

void expect_near(const Array& found, const std::vector<double>& wanted) {
  const std::vector<double> values = found.to_double();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(values[i], wanted[i], 1e-5);
}

std::string error_of(const Runner& runner, const CallArguments& arguments) {
  try {
    call(runner, arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Call, GoldenCasesHaveTheShapesOfUpstream) {
  for (const std::string& name : golden_names()) {
    SCOPED_TRACE(name);
    const GoldenCase golden = load_golden(name);
    const LayerSizes size = sizes(golden.layer);
    const bool batched = !name.ends_with("_unbatched");
    const Shape leading = !batched           ? Shape{golden.steps}
                          : size.batch_first ? Shape{golden.batch, golden.steps}
                                             : Shape{golden.steps, golden.batch};
    const auto plus = [](const Shape& shape, std::int64_t last) {
      std::vector<std::int64_t> dims = shape.dims();
      dims.push_back(last);
      return Shape(dims);
    };
    const Shape state = batched ? Shape{golden.batch, size.state} : Shape{size.state};
    CallArguments arguments{.input = array(plus(leading, size.inputs), golden.at("input"))};
    if (golden.has("initial_state")) arguments.state = array(state, golden.at("initial_state"));
    if (golden.has("initial_memory")) arguments.memory = array(state, golden.at("initial_memory"));
    arguments.keep = KeepStates::yes;
    for (const bool trailing : {false, true}) {
      if (golden.has("timespans"))
        arguments.timespans = array(name.ends_with("_unit_times") ? plus(leading, size.state)
                                    : trailing                    ? plus(leading, 1)
                                                                  : leading,
                                    golden.at("timespans"));
      const CallResult result = call(runner_of(golden), arguments);
      expect_near(result.output, golden.at("output"));
      expect_near(result.state, golden.at("state"));
      EXPECT_EQ(result.state.shape(), state);
      EXPECT_EQ(result.memory.has_value(), size.mixed_memory);
      ASSERT_TRUE(result.states.has_value());
      EXPECT_EQ(result.states->shape(), plus(leading, size.state));
      const Shape last = batched ? Shape{golden.batch, size.outputs} : Shape{size.outputs};
      EXPECT_EQ(result.output.shape(), size.return_sequences ? plus(leading, size.outputs) : last);
    }
  }
}

TEST(Call, ANumberIsTheTimeOfEveryStep) {
  const GoldenCase golden = load_golden("cfc_plain");
  const Runner runner = runner_of(golden);
  CallArguments arguments{.input = array({2, 3, 3}, golden.at("input"))};
  const Array before = call(runner, arguments).output;
  arguments.timespans = Array::scalar(1.0);
  EXPECT_EQ(call(runner, arguments).output, before);
  arguments.timespans = Array::scalar(0.5f);
  EXPECT_NE(call(runner, arguments).output, before);
}

TEST(Call, GradientsAreThoseOfPyTorchInTheShapesOfTheCall) {
  for (const char* name : {"cfc_mixed", "cfc_unbatched", "cfc_time_first", "ltc_unit_times"}) {
    SCOPED_TRACE(name);
    const GoldenCase golden = load_golden(name);
    const LayerSizes size = sizes(golden.layer);
    const bool batched = !std::string_view(name).ends_with("_unbatched");
    std::vector<std::int64_t> leading{golden.batch, golden.steps};
    if (!size.batch_first) std::swap(leading[0], leading[1]);
    if (!batched) leading = {golden.steps};
    const auto plus = [&](std::int64_t last) {
      std::vector<std::int64_t> dims = leading;
      dims.push_back(last);
      return Shape(dims);
    };
    const Shape state = batched ? Shape{golden.batch, size.state} : Shape{size.state};
    CallArguments arguments{.input = array(plus(size.inputs), golden.at("input"))};
    arguments.state = array(state, golden.at("initial_state"));
    if (size.mixed_memory) arguments.memory = array(state, golden.at("initial_memory"));
    if (golden.has("timespans"))
      arguments.timespans =
          array(std::string_view(name).ends_with("_unit_times") ? plus(size.state) : plus(1), golden.at("timespans"));
    OutputGradients d{.output = array(plus(size.outputs), golden.at("d_output"))};
    d.state = array(state, golden.at("d_state"));
    if (size.mixed_memory) d.memory = array(state, golden.at("d_memory"));
    const CallGradients found = differentiate(golden.layer, converted<float>(golden.parameters), arguments, d);
    expect_near(found.input, golden.at("d_input"));
    EXPECT_EQ(found.input.shape(), plus(size.inputs));
    expect_near(found.state, golden.at("d_initial_state"));
    EXPECT_EQ(found.state.shape(), state);
    for (std::size_t i = 0; i < found.parameters.items.size(); ++i)
      for (std::size_t k = 0; k < found.parameters.items[i].values.size(); ++k)
        ASSERT_NEAR(found.parameters.items[i].values[k], golden.gradients.items[i].values[k],
                    1e-5 * std::max(1.0, std::abs(golden.gradients.items[i].values[k])));
  }
}

TEST(Call, WrongShapesAreNamed) {
  const GoldenCase golden = load_golden("cfc_plain");
  const Runner runner = runner_of(golden);
  const Array input = array({2, 3, 3}, golden.at("input"));
  EXPECT_THAT(error_of(runner, {.input = array({18}, golden.at("input"))}),
              HasSubstr("the input is [18]: [batch, steps, inputs] is expected"));
  EXPECT_THAT(error_of(runner, {.input = array({9, 2}, golden.at("input"))}),
              HasSubstr("the input is [9, 2], but the layer has 3 inputs"));
  EXPECT_THAT(error_of(runner, {.input = input, .state = array({2, 3}, std::vector<double>(6))}),
              HasSubstr("the initial state is [2, 3], but should be [2, 4]"));
  EXPECT_THAT(error_of(runner, {.input = input, .state = array({8}, std::vector<double>(8))}),
              HasSubstr("the initial state is [8], but should be [2, 4]"));
  EXPECT_THAT(error_of(runner, {.input = input, .timespans = array({3, 2}, std::vector<double>(6))}),
              HasSubstr("timespans are [3, 2]: a number, [2, 3], [2, 3, 1] or [2, 3, 4] is expected"));
  EXPECT_THAT(error_of(runner, {.input = array({2, 0, 3}, {})}), HasSubstr("at least one step"));
  EXPECT_EQ(call(runner, {.input = array({0, 3, 3}, {})}).output.shape(), (Shape{0, 3, 4}));
}

}  // namespace
}  // namespace tessera::ncp
