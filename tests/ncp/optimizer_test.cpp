#include "tessera/ncp/optimizer.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

constexpr double kFloat = std::numeric_limits<float>::epsilon();

const std::vector<ParameterInfo> kList{{"p", {2}, true}, {"frozen", {2}, false}};

// Five steps from (1, -0.5) with gradients (sin(k + 1), 2 cos k) and a learning rate of 0.1.
std::vector<float> five_steps(const OptimizerOptions& options) {
  Optimizer optimizer(options, kList);
  ParameterSet<float> parameters = zeros<float>(kList), gradients = zeros<float>(kList);
  parameters.items[0].values = {1.0f, -0.5f};
  for (int k = 0; k < 5; ++k) {
    gradients.items[0].values = {static_cast<float>(std::sin(k + 1)), static_cast<float>(2 * std::cos(k))};
    gradients.items[1].values = {1, 1};
    optimizer.step(parameters, gradients, 0.1);
  }
  EXPECT_EQ(parameters.items[1].values, (std::vector<float>{0, 0})) << "frozen";
  return parameters.items[0].values;
}

TEST(Optimizer, StepsAreThoseOfPyTorch) {
  struct Case {
    OptimizerOptions options;
    double first, second;  // by torch.optim 2.x in double
  };
  for (const Case& c : {
           Case{{.kind = OptimizerKind::sgd}, 0.9823838350277622, -0.39610387037138794},
           Case{{.kind = OptimizerKind::sgd, .momentum = 0.9, .weight_decay = 0.01},
                0.5332723160484654,
                -0.9477135150790621},
           Case{{.kind = OptimizerKind::rmsprop}, 0.2285584191476261, -0.6028556637625995},
           Case{{.kind = OptimizerKind::rmsprop, .momentum = 0.5, .smoothing = 0.9, .epsilon = 1e-7},
                0.3346142806777933,
                -0.740115891307235},
           Case{{.kind = OptimizerKind::adam, .weight_decay = 0.01}, 0.6944388169006084, -0.7054513032726709},
           Case{{.kind = OptimizerKind::adamw, .beta1 = 0.8, .beta2 = 0.99, .weight_decay = 0.05},
                0.7071286437473899,
                -0.6548859619841187},
       }) {
    SCOPED_TRACE(name(c.options.kind));
    const std::vector<float> found = five_steps(c.options);
    // Five steps, each with a few roundings of the parameter and of what the optimiser remembers.
    EXPECT_NEAR(found[0], c.first, 5 * 8 * kFloat);
    EXPECT_NEAR(found[1], c.second, 5 * 8 * kFloat);
  }
}

TEST(Optimizer, ItsStateCanBeKeptAndGivenToAnother) {
  const OptimizerOptions options{.kind = OptimizerKind::adam};
  Optimizer one(options, kList);
  ParameterSet<float> parameters = zeros<float>(kList), gradients = zeros<float>(kList);
  gradients.items[0].values = {1, 2};
  one.step(parameters, gradients, 0.1);
  Optimizer other(options, kList);
  other.restore(one.state());
  ParameterSet<float> same = parameters;
  one.step(parameters, gradients, 0.1);
  other.step(same, gradients, 0.1);
  EXPECT_EQ(parameters.items[0].values, same.items[0].values);
  EXPECT_EQ(other.state().steps, 2);
  Optimizer plain({.kind = OptimizerKind::sgd}, kList);
  EXPECT_THROW(plain.restore(one.state()), Error);
  EXPECT_THROW(Optimizer({.momentum = 1}, kList), Error);
  EXPECT_THROW(Optimizer({.weight_decay = -1}, kList), Error);
}

TEST(Optimizer, NamesAreReadBack) {
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::rmsprop, OptimizerKind::adam, OptimizerKind::adamw})
    EXPECT_EQ(parse_optimizer(name(kind)), kind);
  for (const auto kind : {ScheduleKind::constant, ScheduleKind::exponential, ScheduleKind::cosine, ScheduleKind::step})
    EXPECT_EQ(parse_schedule(name(kind)), kind);
  EXPECT_EQ(parse_optimizer("Adam"), std::nullopt);
}

TEST(Clip, LimitsValuesThenEachNormThenAll) {
  const auto gradients = [] {
    ParameterSet<float> set = zeros<float>({{"a", {2}, true}, {"b", {1}, true}});
    set.items[0].values = {3, -4};
    set.items[1].values = {12};
    return set;
  };
  ParameterSet<float> set = gradients();
  EXPECT_DOUBLE_EQ(clip(set, {}), 13);
  EXPECT_EQ(set.items[0].values, (std::vector<float>{3, -4}));
  EXPECT_DOUBLE_EQ(clip(set, {.value = 3.5}), 13);
  EXPECT_EQ(set.items[0].values, (std::vector<float>{3, -3.5f}));
  EXPECT_EQ(set.items[1].values, (std::vector<float>{3.5f}));
  set = gradients();
  clip(set, {.norm_each = 10});
  EXPECT_EQ(set.items[0].values, (std::vector<float>{3, -4}));
  EXPECT_FLOAT_EQ(set.items[1].values[0], 10);
  set = gradients();
  EXPECT_DOUBLE_EQ(clip(set, {.norm = 6.5}), 13);
  EXPECT_FLOAT_EQ(set.items[0].values[0], 1.5f);
  EXPECT_FLOAT_EQ(set.items[1].values[0], 6);
  // Each after the one before: the norms are those of what the values were limited to.
  set = gradients();
  clip(set, {.value = 6, .norm_each = 5, .norm = 0});
  EXPECT_EQ(set.items[0].values, (std::vector<float>{3, -4}));
  EXPECT_FLOAT_EQ(set.items[1].values[0], 5);
  set = gradients();
  clip(set, {.value = 4, .norm_each = 0, .norm = std::sqrt(41.0) / 2});
  EXPECT_FLOAT_EQ(set.items[0].values[0], 1.5f);
  EXPECT_FLOAT_EQ(set.items[1].values[0], 2);
  EXPECT_THROW(clip(set, {.norm = -1}), Error);
}

TEST(Schedule, FactorsFollowTheEpochs) {
  EXPECT_EQ(factor({}, 7, 10), 1);
  EXPECT_DOUBLE_EQ(factor({.kind = ScheduleKind::exponential, .decay = 0.5}, 3, 10), 0.125);
  const Schedule step{.kind = ScheduleKind::step, .decay = 0.1, .every = 4};
  EXPECT_EQ(factor(step, 3, 10), 1);
  EXPECT_DOUBLE_EQ(factor(step, 8, 10), 0.01);
  const Schedule cosine{.kind = ScheduleKind::cosine, .floor = 0.2};
  EXPECT_DOUBLE_EQ(factor(cosine, 0, 10), 1);
  EXPECT_DOUBLE_EQ(factor(cosine, 5, 10), 0.6);
  EXPECT_DOUBLE_EQ(factor(cosine, 10, 10), 0.2);
}

}  // namespace
}  // namespace tessera::ncp
