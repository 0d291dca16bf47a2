#include "tests/targets/cpu/dense_case.h"
#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/kernel_case.h"
#include "tests/targets/cpu/one_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Planar {
  Shape x, w;
  Window window = {};
  bool bias = true;
  std::int64_t groups = 1;
  Fusion fusion = {};
  bool nasty = false;
};

KernelCase make(const Planar& p, std::mt19937_64& random) {
  const ElementType type = ElementType::float32;
  Array x = random_array(type, p.x, random);
  if (p.nasty) sprinkle(x, random);
  std::vector<Operand> operands{input(std::move(x)), constant(random_array(type, p.w, random))};
  if (p.bias) operands.push_back(constant(random_array(type, Shape{p.w[0]}, random)));
  KernelCase test = one_node(Conv{p.window, p.groups}, std::move(operands));
  fuse(test, p.fusion, type, random);
  test.orders.resize(test.graph.nodes[0].inputs.size(), Order::row_major);
  allow_rounding(test, type, p.w.volume() / p.w[0] + 1);
  test.ulps = 8;
  return test;
}

// How many of the kernels that agreed are over planes.
std::int64_t run(const Planar& p, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const std::vector<std::string> names = expect_kernels_agree(make(p, random));
  return std::count_if(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with("planar_conv2d"); });
}

TEST(Conv2dPlanar, AgreesForTheLayersOfNetworks) {
  EXPECT_GE(run({Shape{2, 24, 14, 14}, Shape{40, 24, 1, 1}}), 1);
  EXPECT_GE(run({Shape{1, 3, 33, 35}, Shape{32, 3, 7, 7}, {{7, 7}, {2, 2}, {}, {3, 3, 3, 3}}}), 1);
  EXPECT_GE(run({Shape{1, 3, 32, 32}, Shape{24, 3, 3, 3}, {{3, 3}, {2, 2}, {}, {0, 0, 1, 1}}}), 1);
  EXPECT_GE(run({Shape{1, 20, 15, 15}, Shape{70, 20, 3, 3}, {{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}, false}), 1);
  EXPECT_GE(run({Shape{1, 16, 7, 7}, Shape{200, 16, 1, 1}}), 1);
  EXPECT_GE(run({Shape{3, 5, 19}, Shape{9, 5, 3}, {{3}, {1}, {2}, {2, 1}}}), 1);
}

TEST(Conv2dPlanar, PassesOnWhatIsNotANumber) {
  EXPECT_GE(run({Shape{1, 9, 12, 12}, Shape{17, 9, 3, 3}, {{3, 3}, {}, {}, {1, 1, 1, 1}}, true, 1, {}, true}), 1);
}

TEST(Conv2dPlanar, RefusesGroupsAndPanelsThatDoNotFit) {
  std::mt19937_64 random(1);
  const auto reasons = [&](const Planar& p) {
    std::vector<std::string> out;
    const KernelCase test = make(p, random);
    for (const CpuKernel& kernel : kernels())
      if (kernel.info.name.starts_with("planar_conv2d") && kernel.info.isa <= host_isa())
        if (const auto result = run_kernel(kernel, test); std::holds_alternative<Refusal>(result))
          out.push_back(std::get<Refusal>(result).message);
    return out;
  };
  EXPECT_THAT(reasons({Shape{1, 8, 5, 5}, Shape{8, 4, 3, 3}, {}, true, 2}), Contains("2 groups"));
  EXPECT_THAT(reasons({Shape{1, 20000, 2, 2}, Shape{1, 20000, 1, 1}}), Contains(HasSubstr("a panel would have")));
}

TEST(Conv2dPlanar, LeavesInnerLayersToChannelsLast) {
  std::mt19937_64 random(1);
  KernelCase test = make({Shape{1, 8, 5, 5}, Shape{8, 8, 3, 3}}, random);
  const ValueId y = test.graph.outputs[0];
  test.graph.outputs = {test.graph.add("z", Unary{Unary::Kind::relu}, {y})};
  for (const CpuKernel& kernel : kernels())
    if (kernel.info.name.starts_with("planar_conv2d") && kernel.info.isa <= host_isa()) {
      EXPECT_THAT(std::get<Refusal>(run_kernel(kernel, test)).message, HasSubstr("channels last"));
    }
}

TEST(Conv2dPlanar, AgreesForRandomProblems) {
  for (Fuzz fuzz; fuzz.next();) {
    Planar p;
    const std::int64_t ic = fuzz.pick(1, 12), oc = fuzz.pick(1, 40), kh = fuzz.pick(1, 5), kw = fuzz.pick(1, 5);
    p.x = Shape{fuzz.pick(1, 2), ic, fuzz.pick(9, 24), fuzz.pick(9, 40)};
    p.w = Shape{oc, ic, kh, kw};
    p.window = {{kh, kw}, {fuzz.pick(1, 3), fuzz.pick(1, 3)}, {}, {}};
    if (fuzz.pick(0, 3) == 0) p.window.dilations = {fuzz.pick(1, 2), fuzz.pick(1, 2)};
    for (int i = 0; i < 4; ++i) p.window.pads.push_back(fuzz.pick(0, 3));
    p.bias = fuzz.pick(0, 1) == 1;
    p.fusion.before = static_cast<int>(fuzz.pick(0, kActivations));
    p.fusion.residual = fuzz.pick(0, 2) == 0;
    p.nasty = fuzz.pick(0, 3) == 0;
    EXPECT_GE(run(p, fuzz.random()), 1);
  }
}

}  // namespace
}  // namespace tessera::cpu
