#include "tests/targets/cpu/conv2d_case.h"
#include "tests/targets/cpu/fuzz.h"

#include "tessera/core/isa.h"
#include "tessera/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera::cpu {
namespace {

using testing::HasSubstr;

std::vector<const CpuKernel*> usable() {
  std::vector<const CpuKernel*> list;
  for (const CpuKernel& kernel : kernels())
    if (kernel.info.name.starts_with("winograd_") && kernel.info.isa <= host_isa()) list.push_back(&kernel);
  return list;
}

std::ptrdiff_t winograds(const std::vector<std::string>& names) {
  return std::ranges::count_if(names, [](const std::string& name) { return name.starts_with("winograd_"); });
}

// All of Winograd's kernels take it, in whichever order the input is, and agree with the definition.
void expect_all(KernelCase test) {
  for (const Order order : {Order::row_major, Order::channels_last}) {
    test.orders = {order};
    EXPECT_EQ(winograds(expect_kernels_agree(test)), std::ssize(usable())) << name(order);
  }
}
void expect_all(const Conv2dSpec& spec, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  expect_all(conv2d_case(spec, random));
}

std::string refusal(const Conv2dSpec& spec) {
  std::mt19937_64 random(1);
  const auto answer = run_kernel(*usable().at(0), conv2d_case(spec, random));
  const auto* refused = std::get_if<Refusal>(&answer);
  return refused ? refused->message : "";
}

TEST(Winograd, AgreesOnEveryRemainderOfATile) {
  for (std::int64_t extent = 1; extent <= 15; ++extent) {
    expect_all({.ic = 3, .oc = 5, .spatial = {extent, 16 - extent}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}});
    if (extent >= 3) expect_all({.ic = 2, .oc = 3, .spatial = {extent, extent + 1}, .kernel = {3, 3}});
  }
}

TEST(Winograd, AgreesOnOddNumbersOfChannels) {
  for (const std::int64_t ic : {1, 15, 17, 40})
    for (const std::int64_t oc : {1, 31, 33, 70})
      expect_all({.n = 2, .ic = ic, .oc = oc, .spatial = {9, 7}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}});
}

TEST(Winograd, AgreesOnUnevenPads) {
  expect_all({.ic = 7, .oc = 9, .spatial = {8, 11}, .kernel = {3, 3}, .pads = {0, 2, 1, 0}});
  expect_all({.ic = 7, .oc = 9, .spatial = {1, 1}, .kernel = {3, 3}, .pads = {4, 5, 3, 7}});
}

// Few tiles and many weights: threads share them out. Many tiles: threads take blocks of their own.
TEST(WinogradLong, AgreesHoweverTheWorkIsCut) {
  expect_all({.ic = 200, .oc = 260, .spatial = {8, 9}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}});
  expect_all({.ic = 256, .oc = 96, .spatial = {40, 41}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}});
  expect_all({.n = 3, .ic = 20, .oc = 300, .spatial = {50, 31}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}});
}

TEST(WinogradLong, AgreesOnEveryEpilogue) {
  for (int before = 0; before <= kActivations; ++before)
    for (int after = -1; after <= kActivations; after += 3)
      expect_all({.ic = 6,
                  .oc = 35,
                  .spatial = {7, 8},
                  .kernel = {3, 3},
                  .pads = {1, 1, 1, 1},
                  .bias = before % 2 == 0,
                  .fusion = {.before = before, .residual = after >= 0, .after = std::max(after, 0)}});
}

// A graph of a convolution and its pool.
KernelCase pooled_case(std::int64_t height, std::int64_t width, const MaxPool& pool, std::mt19937_64& random) {
  KernelCase test = conv2d_case(
      {.n = 2, .ic = 5, .oc = 19, .spatial = {height, width}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}}, random);
  test.graph.nodes[0].fused.push_back({pool, {FusedOp::kChained}});
  return test;
}

TEST(Winograd, PoolsTwoByTwoInTheSamePass) {
  std::mt19937_64 random(3);
  MaxPool pool;
  pool.window.kernel = {2, 2};
  pool.window.strides = {2, 2};
  for (std::int64_t extent = 2; extent <= 15; ++extent) expect_all(pooled_case(extent, 17 - extent, pool, random));
  pool.window.kernel = {3, 3};
  const auto refused = run_kernel(*usable().at(0), pooled_case(9, 9, pool, random));
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_THAT(std::get<Refusal>(refused).message, HasSubstr("2x2"));
}

TEST(Winograd, RefusesOtherWindowsWithTheReason) {
  EXPECT_THAT(refusal({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {5, 3}}), HasSubstr("5x3"));
  EXPECT_THAT(refusal({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {3, 3}, .strides = {2, 1}}), HasSubstr("2x1"));
  EXPECT_THAT(refusal({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {3, 3}, .dilations = {1, 2}}), HasSubstr("1x2"));
  EXPECT_THAT(refusal({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {3, 3}, .groups = 2}), HasSubstr("2 groups"));
}

TEST(Winograd, TakesItsInputAsItIs) {
  std::mt19937_64 random(1);
  KernelCase test = conv2d_case({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {3, 3}}, random);
  const KernelMachine machine;
  for (const CpuKernel* kernel : usable())
    for (const Order order : {Order::row_major, Order::channels_last}) {
      const Node& node = test.graph.nodes.at(0);
      Problem problem{test.graph, node, infer_node(test.graph, node), {}, machine, 2};
      problem.orders.assign(node.inputs.size(), Order::row_major);
      problem.orders[0] = order;
      const Answer answer = kernel->info.consider(kernel->info, problem);
      ASSERT_TRUE(std::holds_alternative<Offer>(answer)) << kernel->info.name;
      EXPECT_EQ(std::get<Offer>(answer).inputs[0], order);
      EXPECT_EQ(std::get<Offer>(answer).outputs[0],
                kernel->info.name.starts_with("winograd_planes_") ? Order::row_major : Order::channels_last);
    }
}

double largest_error(const CpuKernel& kernel, const KernelCase& test, const std::vector<double>& wanted) {
  const auto answer = run_kernel(kernel, test);
  if (!std::holds_alternative<std::vector<Array>>(answer)) return -1;
  const std::vector<double> got = std::get<std::vector<Array>>(answer).at(0).to_double();
  double error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) error = std::max(error, std::abs(got[i] - wanted[i]));
  return error;
}

// What KernelInfo::rounding promises, beside the error of plain sums of the same layer.
TEST(Winograd, RoundsNoMoreThanItSays) {
  for (const std::int64_t channels : {8, 64, 200}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(channels));
    const KernelCase test = conv2d_case(
        {.ic = channels, .oc = 32, .spatial = {24, 24}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}, .bias = false}, random);
    const std::vector<double> wanted = evaluate(test.graph, test.arrays).at(0).to_double();
    double plain = 0;
    for (const CpuKernel& kernel : kernels())
      if (kernel.info.name.starts_with("conv2d_f32") && kernel.info.isa <= host_isa())
        plain = std::max(plain, largest_error(kernel, test, wanted));
    ASSERT_GT(plain, 0);
    for (const CpuKernel* kernel : usable())
      EXPECT_LE(largest_error(*kernel, test, wanted), kernel->info.rounding * plain)
          << kernel->info.name << " with " << channels << " channels";
  }
}

TEST(Winograd, Fuzz) {
  fuzz([](std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Conv2dSpec spec;
    spec.n = 1 + below(3), spec.ic = 1 + below(70), spec.oc = 1 + below(70);
    spec.kernel = {3, 3};
    spec.pads = {below(3), below(3), below(3), below(3)};
    spec.spatial = {3 + below(30), 3 + below(30)};
    spec.bias = random() % 2;
    spec.fusion = {.before = static_cast<int>(below(kActivations + 1)),
                   .residual = random() % 2 == 0,
                   .after = static_cast<int>(below(kActivations + 1))};
    expect_all(spec, random());
  });
}

}  // namespace
}  // namespace tessera::cpu
