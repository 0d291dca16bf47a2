#include "tessera/kernel_plan/plan.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TensorType f32(Shape shape) { return {ElementType::float32, std::move(shape)}; }

Offer offer_of(const Problem& problem, Order order, double seconds) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), order);
  offer.outputs.assign(problem.types.outputs.size(), order);
  offer.estimate = {seconds, "compute"};
  return offer;
}

Answer slow_any(const KernelInfo&, const Problem& problem) { return offer_of(problem, Order::row_major, 1.0); }
Answer fast_last(const KernelInfo&, const Problem& problem) { return offer_of(problem, Order::channels_last, 1e-3); }
Answer as_found(const KernelInfo&, const Problem& problem) { return offer_of(problem, problem.orders[0], 1e-4); }
Answer never(const KernelInfo&, const Problem&) { return Refusal{"wants a blue input"}; }

constexpr KernelInfo kSlow{.name = "slow", .op = "*", .consider = slow_any};
constexpr KernelInfo kConv{.name = "conv_last", .op = "Conv", .consider = fast_last};
constexpr KernelInfo kBlue{.name = "conv_blue", .op = "Conv", .consider = never};
constexpr KernelInfo kAmx{.name = "conv_amx", .op = "Conv", .isa = Isa::amx, .consider = fast_last};
constexpr KernelInfo kUnary{.name = "unary", .op = "Unary", .consider = as_found};
constexpr const KernelInfo* kKernels[] = {&kSlow, &kBlue, &kAmx, &kConv, &kUnary};

// x -> conv -> relu -> conv -> y
Graph two_convs() {
  Graph g;
  const ValueId x = g.add_input("x", f32({1, 4, 8, 8}));
  const ValueId w = g.add_constant("w", Array(ElementType::float32, Shape{4, 4, 1, 1}));
  const ValueId a = g.add("conv1", Conv{}, {x, w});
  const ValueId b = g.add("relu", Unary{Unary::Kind::relu}, {a});
  g.outputs = {g.add("conv2", Conv{}, {b, w})};
  return g;
}

PlanOptions options() {
  PlanOptions o;
  o.isa = Isa::avx512;
  o.machine.cpu().dram_read_bytes_per_s = 1e10;
  return o;
}

TEST(Plan, KeepsReasonForEveryRefusedKernelAndCostOfEverySlowerOne) {
  const Plan plan = make_plan(two_convs(), kKernels, options());
  const Step& conv = plan.steps[1];
  ASSERT_EQ(conv.node, 0);
  EXPECT_EQ(conv.kernel->name, "conv_last");
  ASSERT_EQ(conv.refused.size(), 2u);
  EXPECT_EQ(conv.refused[0].kernel, "conv_blue");
  EXPECT_EQ(conv.refused[0].reason, "wants a blue input");
  EXPECT_EQ(conv.refused[1].reason, "needs amx, the plan is for avx512");
  ASSERT_EQ(conv.slower.size(), 1u);
  EXPECT_EQ(conv.slower[0].kernel, "slow");
  EXPECT_EQ(conv.slower[0].estimate.seconds, 1.0);
}

TEST(Plan, ConvertsLayoutsOnlyAtTheEnds) {
  const Plan plan = make_plan(two_convs(), kKernels, options());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) names.push_back(plan.step_name(i));
  EXPECT_THAT(names, testing::ElementsAre("x to channels_last", "conv1 (Conv)", "relu (Unary)", "conv2 (Conv)",
                                          "conv2 to row_major"));
}

Answer planes(const KernelInfo&, const Problem& problem) { return offer_of(problem, Order::row_major, 1.001e-3); }
constexpr KernelInfo kPlanes{.name = "conv_planes", .op = "Conv", .consider = planes};
constexpr const KernelInfo* kBothKernels[] = {&kSlow, &kConv, &kPlanes, &kUnary};

Graph convs(int count) {
  Graph g;
  ValueId x = g.add_input("x", f32({1, 4, 32, 32}));
  const ValueId w = g.add_constant("w", Array(ElementType::float32, Shape{4, 4, 1, 1}));
  for (int i = 0; i < count; ++i) x = g.add("conv" + std::to_string(i), Conv{}, {x, w});
  g.outputs = {x};
  return g;
}

// A conversion takes 5.3 us here, and saves 1 us for each convolution.
TEST(Plan, ConvertsOnceWhereThatIsWorthItForAllThatFollow) {
  for (const int count : {1, 2, 9, 12, 30}) {
    const Plan plan = make_plan(convs(count), kBothKernels, options());
    for (const Step& step : plan.steps)
      if (step.kernel != nullptr) {
        EXPECT_EQ(step.kernel->name, count < 11 ? "conv_planes" : "conv_last") << count;
      }
    EXPECT_EQ(std::ssize(plan.steps), count < 11 ? count : count + 2);
  }
}

TEST(Plan, WithoutLayoutsEveryValueIsRowMajorBetweenSteps) {
  PlanOptions o = options();
  o.orders = false;
  const Plan plan = make_plan(two_convs(), kKernels, o);
  EXPECT_EQ(plan.steps.size(), 7u);
}

TEST(Plan, ANodeThatNoKernelTakesIsAnErrorWithEveryReason) {
  const KernelInfo* kernels[] = {&kBlue, &kAmx};
  try {
    make_plan(two_convs(), kernels, options());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("conv1"), HasSubstr("conv_blue: wants a blue input"),
                                    HasSubstr("conv_amx: needs amx")));
  }
}

TEST(Plan, AKernelThatIsLeftOutSaysSo) {
  PlanOptions o = options();
  o.without = {"conv_last"};
  const Plan plan = make_plan(two_convs(), kKernels, o);
  EXPECT_EQ(plan.steps[0].kernel->name, "slow");
  EXPECT_EQ(plan.steps[0].refused.back().reason, "left out on request");
}

TEST(Plan, MoreThanTheMemoryLimitIsAnErrorWithThePeak) {
  PlanOptions o = options();
  o.memory_limit_bytes = 1000;
  try {
    make_plan(two_convs(), kKernels, o);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_THAT(error.what(), HasSubstr("needs 2048 bytes"));
  }
}

}  // namespace
}  // namespace tessera
