#include "op_testing.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/cfc.h"
#include "tessera/graph/ops/ltc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

using testing::HasSubstr;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TestInputs one_unit_cfc() {
  // One input, one unit: heads read (x, h).
  return {floats({1, 2, 1}, {0.5f, -1.0f}), floats({1, 2, 1}, {0.25f, 2.0f}), floats({1, 1}, {0.3f}),
          floats({4, 2}, {1.0f, 0.5f, -0.5f, 2.0f, 0.25f, -1.0f, 0.75f, 0.5f}), floats({4}, {0.1f, -0.2f, 0.3f, 0.4f})};
}

TEST(Cfc, IsItsFormula) {
  for (const bool gated : {true, false}) {
    const std::vector<Array> out = run(Cfc{.mode = gated ? Cfc::Mode::gated : Cfc::Mode::no_gate}, one_unit_cfc());
    double h = 0.3f;
    const double xs[] = {0.5, -1}, times[] = {0.25, 2};
    for (int t = 0; t < 2; ++t) {
      const double x = xs[t];
      const double f1 = x + 0.5 * h + 0.1f, f2 = -0.5 * x + 2 * h - 0.2f;
      const double a = 0.25 * x - h + 0.3f, b = 0.75 * x + 0.5 * h + 0.4f, gate = sigmoid(a * times[t] + b);
      h = std::tanh(f1) * (gated ? 1 - gate : 1) + gate * std::tanh(f2);
      EXPECT_NEAR(out[0].as<float>()[static_cast<std::size_t>(t)], h, 1e-6);
    }
    EXPECT_EQ(out[1].as<float>()[0], out[0].as<float>()[1]);
  }
}

TEST(Cfc, PureModeDecaysWithTime) {
  const std::vector<Array> out =
      run(Cfc{.mode = Cfc::Mode::pure}, {floats({1, 1, 1}, {0.5f}), floats({}, {2.0f}), absent, floats({1, 2}, {1, 1}),
                                         floats({1}, {0.25f}), floats({2, 1}, {-0.5f, 3.0f})});
  EXPECT_NEAR(out[0].as<float>()[0], 3 - 3 * std::exp(-2 * (0.5 + 0.75)) * 0.75, 1e-6);
}

TEST(Cfc, BackboneReadsInputAndState) {
  TestInputs inputs = one_unit_cfc();
  inputs[3] = floats({4, 1}, {1.0f, -0.5f, 0.25f, 0.75f});
  inputs.push_back(absent);
  inputs.push_back(floats({1, 2}, {2.0f, -1.0f}));
  inputs.push_back(floats({1}, {0.5f}));
  const std::vector<Array> out = run(Cfc{.activation = Cfc::Activation::relu, .head = Cfc::Head::none}, inputs);
  const double z = 2 * 0.5 - 0.3f + 0.5, gate = sigmoid((0.25 * z + 0.3f) * 0.25 + 0.75 * z + 0.4f);
  EXPECT_NEAR(out[0].as<float>()[0], (z + 0.1f) * (1 - gate) + gate * (-0.5 * z - 0.2f), 1e-6);
}

TEST(Cfc, TimesOfStepsLieLikeTheInput) {
  const std::vector<Array> by_sample = run(Cfc{}, one_unit_cfc());
  TestInputs inputs = one_unit_cfc();  // of one sample: only the order of the extents differs
  for (const std::size_t i : {0, 1}) inputs[i] = inputs[i]->reshaped(Shape{2, 1, 1});
  const std::vector<Array> by_step = run(Cfc{.batch_first = false}, inputs);
  EXPECT_EQ(by_step[0].shape(), (Shape{2, 1, 1}));
  for (std::size_t t = 0; t < 2; ++t) EXPECT_EQ(by_step[0].as<float>()[t], by_sample[0].as<float>()[t]);
}

TEST(Cfc, RefusesWhatDoesNotFit) {
  const auto fault = [](std::size_t input, Array other, Cfc op = {}) {
    TestInputs inputs = one_unit_cfc();
    if (input >= inputs.size()) inputs.resize(input + 1);
    inputs[input] = std::move(other);
    return error_of([&] { infer_all(op, inputs); });
  };
  EXPECT_THAT(fault(3, floats({3, 1}, {1, 2, 3})), HasSubstr("dimension 0 must be 4 x units"));
  EXPECT_THAT(fault(3, floats({4, 1}, {1, 2, 3, 4})), HasSubstr("what the heads read of 2"));
  EXPECT_THAT(fault(2, floats({1, 2}, {1, 2})), HasSubstr("units of 1"));
  EXPECT_THAT(fault(1, floats({2}, {1, 2})), HasSubstr("one for all, or a sequence of them"));
  EXPECT_THAT(fault(1, floats({1, 2, 3}, {1, 2, 3, 4, 5, 6})), HasSubstr("a step has 1, or one for each of 1 units"));
  EXPECT_THAT(fault(1, floats({1, 3, 1}, {1, 2, 3})), HasSubstr("steps of 2"));
  EXPECT_THAT(fault(5, floats({2, 1}, {1, 2})), HasSubstr("decay belongs to the mode pure"));
  EXPECT_THAT(fault(6, floats({1, 2}, {1, 2})), HasSubstr("weights and biases, but 1 are there"));
  EXPECT_THAT(fault(1, floats({}, {1}), Cfc{.mode = Cfc::Mode::pure}), HasSubstr("decay"));
}

TEST(Cfc, TellsShapesAsFarAsTheyAreKnown) {
  constexpr std::int64_t n = TensorType::kUnknown;
  const auto f32 = [](std::vector<std::int64_t> dims) { return TensorType(ElementType::float32, std::move(dims)); };
  const std::vector<Known> inputs{{f32({n, 7, 3}), nullptr, true},
                                  {{}, nullptr, false},
                                  {{}, nullptr, false},
                                  {f32({20, 8}), nullptr, true},
                                  {f32({20}), nullptr, true}};
  EXPECT_EQ(infer(Cfc{}, Knowns("Cfc", inputs))[0], f32({n, 7, 5}));
  EXPECT_EQ(infer(Cfc{.batch_first = false}, Knowns("Cfc", inputs))[1], f32({7, 5}));
}

// Two units; the second hears the first, which hears the input.
TestInputs two_unit_ltc() {
  return {floats({1, 1, 1}, {0.5f}),
          floats({1}, {1.5f}),
          floats({1, 2}, {0.2f, -0.4f}),
          floats({3, 2}, {0.5f, 0.25f, -0.1f, 0.1f, 0.8f, 0.6f}),
          floats({4, 1, 2}, {0.7f, 0, 0.3f, 0, 4.0f, 0, 1.0f, 0}),
          floats({4, 2, 2}, {0, 0.9f, 0, 0, 0, 0.2f, 0, 0, 0, 3.0f, 0, 0, 0, -1.0f, 0, 0})};
}

TEST(Ltc, SemiImplicitIsItsFormula) {
  const Ltc op{.unfolds = 2, .epsilon = 1e-3};
  double v0 = 0.2f, v1 = -0.4f;
  const double h = 0.75, s = 0.7f * sigmoid(4 * (0.5 - 0.3f));
  for (int i = 0; i < 2; ++i) {
    const double r = 0.9f * sigmoid(3 * (v0 - 0.2f));
    const double next0 = (0.8f * v0 + h * (0.5 * -0.1f + s)) / (0.8f + h * (0.5 + s + 1e-3));
    v1 = (0.6f * v1 + h * (0.25 * 0.1f - r)) / (0.6f + h * (0.25 + r + 1e-3));
    v0 = next0;
  }
  const std::vector<Array> out = run(op, two_unit_ltc());
  EXPECT_NEAR(out[0].as<float>()[0], v0, 1e-6);
  EXPECT_NEAR(out[1].as<float>()[1], v1, 1e-6);
}

TEST(Ltc, ExplicitSolversAgreeOverShortTimes) {
  TestInputs inputs = two_unit_ltc();
  inputs[1] = floats({}, {0.01f});
  const Array euler = run(Ltc{.solver = Ltc::Solver::explicit_euler, .epsilon = 0}, inputs)[1];
  const Array exact = run(Ltc{.solver = Ltc::Solver::runge_kutta, .epsilon = 0}, inputs)[1];
  const Array implicit = run(Ltc{.epsilon = 0}, inputs)[1];
  for (std::size_t u = 0; u < 2; ++u) {
    EXPECT_NE(exact.as<float>()[u], inputs[2]->as<float>()[u]);
    EXPECT_NEAR(euler.as<float>()[u], exact.as<float>()[u], 2e-5);
    EXPECT_NEAR(implicit.as<float>()[u], exact.as<float>()[u], 2e-5);
  }
}

TEST(Ltc, RefusesWhatDoesNotFit) {
  const auto fault = [](std::size_t input, Array other, Ltc op = {}) {
    TestInputs inputs = two_unit_ltc();
    inputs[input] = std::move(other);
    return error_of([&] { infer_all(op, inputs); });
  };
  EXPECT_THAT(fault(3, floats({2, 2}, {1, 2, 3, 4})), HasSubstr("values of a membrane of 3"));
  EXPECT_THAT(fault(4, floats({4, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})),
              HasSubstr("the input size"));
  EXPECT_THAT(fault(5, floats({4, 1, 2}, {1, 1, 1, 1, 1, 1, 1, 1})), HasSubstr("units of 2"));
  EXPECT_THAT(fault(1, floats({}, {1}), Ltc{.unfolds = 0}), HasSubstr("0 unfolds"));
  EXPECT_THAT(fault(1, floats({}, {1}), Ltc{.epsilon = -1}), HasSubstr("an epsilon of -1"));
}

TEST(Liquid, WorkGrowsWithSynapsesAndUnfolds) {
  const std::vector<TensorType> inputs{TensorType(ElementType::float32, Shape{2, 3, 1}),
                                       {},
                                       {},
                                       TensorType(ElementType::float32, Shape{3, 2}),
                                       TensorType(ElementType::float32, Shape{4, 1, 2}),
                                       TensorType(ElementType::float32, Shape{4, 2, 2})};
  const std::vector<TensorType> outputs{TensorType(ElementType::float32, Shape{2, 3, 2}),
                                        TensorType(ElementType::float32, Shape{2, 2})};
  const double one = work(Ltc{.unfolds = 1}, inputs, outputs).flops,
               two = work(Ltc{.unfolds = 2}, inputs, outputs).flops;
  EXPECT_EQ(one, 6 * (7 * 2 + 7 * 4 + 9 * 2));
  EXPECT_EQ(two - one, 6 * (7 * 4 + 9 * 2));
}

}  // namespace
}  // namespace tessera
