#include "tessera/targets/apple/plan/apple_plan.h"

#include "tests/error_of.h"

#include "tessera/graph/zoo/zoo.h"
#include "tessera/io/plan_document.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/apple/plan/kernels.h"
#include "tessera/targets/apple/plan/primitives.h"
#include "tessera/targets/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tessera::apple {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Network {
 public:
  explicit Network(Shape shape) : x(graph.add_input("x", TensorType(ElementType::float32, shape))) {}

  ValueId conv(const char* name, ValueId in, std::int64_t channels, bool bias = true) {
    const std::int64_t from = graph.value(in).type.shape()[1];
    std::vector<ValueId> inputs{in, graph.add_constant(std::string(name) + ".w", ones(Shape{channels, from, 3, 3}))};
    if (bias) inputs.push_back(graph.add_constant(std::string(name) + ".b", ones(Shape{channels})));
    return graph.add(name, Conv{.window = {.pads = {1, 1, 1, 1}}}, inputs);
  }
  ValueId unary(const char* name, Unary::Kind kind, ValueId in) { return graph.add(name, Unary{kind}, {in}); }
  ValueId binary(const char* name, Binary::Kind kind, ValueId a, ValueId b) {
    return graph.add(name, Binary{kind}, {a, b});
  }

  std::vector<std::string> kernels(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    const ApplePlan plan = plan_for_mlx(loaded(), load_machine("apple_m1"));
    std::vector<std::string> out;
    for (const PlannedKernel& kernel : plan.kernels) out.push_back(kernel.what);
    return out;
  }
  LoadedNetwork loaded() const { return {.model = "net", .name = "net", .graph = graph}; }

  static Array ones(const Shape& shape) {
    Array array(ElementType::float32, shape);
    for (float& value : array.as<float>()) value = 1;
    return array;
  }

  Graph graph;
  ValueId x;
};

TEST(ApplePlan, JoinsWhatIsComputedElementByElement) {
  Network net(Shape{1, 4, 8, 8});
  const ValueId y = net.unary("r", Unary::Kind::relu, net.conv("c", net.x, 4));
  EXPECT_THAT(net.kernels({y}), ElementsAre("convolution", "compiled: add, relu"));
}

TEST(ApplePlan, WhatTwoReadIsWritten) {
  Network net(Shape{1, 4, 8, 8});
  const ValueId a = net.unary("a", Unary::Kind::tanh, net.x);
  const ValueId b = net.binary("b", Binary::Kind::add, net.unary("s", Unary::Kind::exp, a), net.conv("c", a, 4, false));
  EXPECT_THAT(net.kernels({b}), ElementsAre("tanh", "convolution", "compiled: exp, add"));
}

TEST(ApplePlan, WhatIsAskedForIsWritten) {
  Network net(Shape{1, 4, 8, 8});
  const ValueId a = net.unary("a", Unary::Kind::tanh, net.x);
  const ValueId b = net.unary("b", Unary::Kind::exp, a);
  EXPECT_THAT(net.kernels({a, b}), ElementsAre("tanh", "exp"));
}

// Both operands of the sum are read by nobody else, though one value is read twice within the kernel.
TEST(ApplePlan, JoinsBranchesThatMeet) {
  Network net(Shape{1, 4, 8, 8});
  const ValueId a = net.unary("a", Unary::Kind::abs, net.x), s = net.unary("s", Unary::Kind::sin, net.x);
  const ValueId y = net.binary("y", Binary::Kind::mul, s, net.unary("e", Unary::Kind::exp, a));
  EXPECT_THAT(net.kernels({y}), ElementsAre("compiled: abs, sin, exp, multiply"));
}

TEST(ApplePlan, AKernelTakesSoManyOperationsInARow) {
  Network net(Shape{1, 4, 8, 8});
  ValueId at = net.x;
  for (int i = 0; i < 13; ++i) at = net.unary(("f" + std::to_string(i)).c_str(), Unary::Kind::sin, at);
  EXPECT_THAT(net.kernels({at}),
              ElementsAre("compiled: sin, sin", "compiled: sin, sin, sin, sin, sin, sin, and 5 more"));
}

// Work of a kernel: nine multiply-adds for each pixel and pair of channels, four bytes for each number.
TEST(ApplePlan, CountsWorkAndTime) {
  Network net(Shape{2, 4, 8, 8});
  net.graph.outputs = {net.conv("c", net.x, 16, false)};
  const Machine machine = load_machine("apple_m1");
  const ApplePlan plan = plan_for_mlx(net.loaded(), machine);
  ASSERT_EQ(plan.kernels.size(), 1u);
  const PlannedKernel& kernel = plan.kernels[0];
  EXPECT_DOUBLE_EQ(kernel.flops, 2.0 * 9 * 4 * 16 * 2 * 64);
  EXPECT_DOUBLE_EQ(kernel.read_bytes, 4.0 * (2 * 4 * 64 + 16 * 4 * 9));
  EXPECT_DOUBLE_EQ(kernel.written_bytes, 4.0 * 2 * 16 * 64);
  EXPECT_DOUBLE_EQ(kernel.compute_s, kernel.flops / machine.unified->gpu_flop_per_s);
  EXPECT_DOUBLE_EQ(kernel.memory_s, (kernel.read_bytes + kernel.written_bytes) / machine.unified->memory_bytes_per_s);
  EXPECT_DOUBLE_EQ(kernel.launch_s, machine.unified->launch_ns * 1e-9);
  EXPECT_EQ(plan.batch, 2);
  EXPECT_EQ(plan.weight_bytes, 4 * 16 * 4 * 9);
  EXPECT_EQ(plan.input_bytes, 4 * 2 * 4 * 64);
  EXPECT_EQ(plan.value_bytes, 4 * 2 * 16 * 64);
}

// x and its successor at a time; the last one alone.
TEST(ApplePlan, FreesWhatIsReadLast) {
  Network net(Shape{1, 4, 8, 8});
  net.graph.outputs = {net.conv("c3", net.conv("c2", net.conv("c1", net.x, 8, false), 16, false), 2, false)};
  EXPECT_EQ(plan_for_mlx(net.loaded(), load_machine("apple_m1")).value_bytes, 4 * 64 * (8 + 16));
}

TEST(ApplePlan, RefusesWhatNoMemoryHolds) {
  Network net(Shape{1 << 14, 16, 256, 256});
  net.graph.outputs = {net.unary("y", Unary::Kind::relu, net.x)};
  EXPECT_THAT(error_of([&] { plan_for_mlx(net.loaded(), load_machine("apple_m1")); }),
              AllOf(HasSubstr("at once"), HasSubstr("17179869184 B at most"), HasSubstr("a smaller batch")));
}

TEST(ApplePlan, NamesEveryOperatorThatMlxCodeIsNotWrittenFor) {
  Network net(Shape{1, 4, 8, 8});
  const ValueId a =
      net.graph.add("cs", CumSum{}, {net.x, net.graph.add_constant("axis", Array::scalar<std::int64_t>(1))});
  net.graph.outputs = {net.graph.add("lrn", Lrn{}, {a})};
  EXPECT_THAT(error_of([&] { plan_for_mlx(net.loaded(), load_machine("apple_m1")); }),
              AllOf(HasSubstr("2 of 2 operators"), HasSubstr("'cs' (CumSum)"), HasSubstr("'lrn' (Lrn)")));
}

TEST(ApplePlanLong, EveryNetworkOfTheZooHasOneOnEveryChip) {
  for (const ZooModel& listed : zoo())
    for (const char* chip : {"apple_m1", "apple_m1_ultra"}) {
      const std::string name(listed.name);
      const Machine machine = load_machine(chip);
      const LoadedNetwork network{.model = name, .name = name, .graph = make_zoo_model(name, 1)};
      const auto plan = target_of(machine).plan(network, machine, {});
      const PlanTotals totals = plan->totals();
      EXPECT_GT(totals.kernels_s, 0) << name;
      EXPECT_GT(totals.device_s, totals.kernels_s) << name;
      EXPECT_FALSE(plan->explain(plan->steps().back().node).parts.empty());
    }
}

TEST(ApplePlan, SurvivesAFile) {
  const Machine machine = load_machine("apple_m1");
  const LoadedNetwork network{.model = "digits", .name = "resnet18", .graph = make_zoo_model("resnet18", 1)};
  const Target& target = target_of(machine);
  const auto plan = target.plan(network, machine, {});
  const std::string text = encode_plan_document(*plan);
  const PlanDocument document = parse_plan_document(text);
  EXPECT_EQ(document.target, "unified");
  const auto again = target.read(document.body);
  EXPECT_EQ(encode_plan_document(*again), text);
  target.check_machine(*again, machine);
  EXPECT_THAT(error_of([&] { target.check_machine(*again, load_machine("apple_m1_max")); }),
              HasSubstr("the plan is for apple_m1, this machine is apple_m1_max"));
  again->attach(network.graph, "resnet18");
  EXPECT_THAT(error_of([&] { again->attach(make_zoo_model("vgg16", 1), "vgg16"); }),
              HasSubstr("'vgg16' is not the network"));
}

TEST(ApplePlan, RefusesBodiesThatAreNone) {
  const Machine machine = load_machine("apple_m1");
  Network net(Shape{1, 4, 8, 8});
  net.graph.outputs = {net.unary("y", Unary::Kind::relu, net.x)};
  const AppleNetworkPlan plan(plan_for_mlx(net.loaded(), machine));
  const nlohmann::json good = nlohmann::json::parse(plan.body());
  for (const auto& [path, value] : std::vector<std::pair<std::string, nlohmann::json>>{{"/batch", 0},
                                                                                       {"/batch", "1"},
                                                                                       {"/kernels", 3},
                                                                                       {"/kernels/0/flops", -1},
                                                                                       {"/kernels/0/flops", 1e300},
                                                                                       {"/kernels/0/launches", 1.5},
                                                                                       {"/weight_bytes", -4}}) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(path)] = value;
    EXPECT_NE(error_of([&] { parse_apple_plan(bad.dump()); }), "no error") << path;
  }
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_THAT(error_of([&] { parse_apple_plan(bad.dump()); }), HasSubstr(key));
  }
}

TEST(AppleTarget, RefusesOptionsOfOtherMachines) {
  const Machine machine = load_machine("apple_m1");
  EXPECT_THAT(error_of([&] { target_of(machine).check_request(machine, {.min_pcc = 0.99}); }),
              HasSubstr("--min-pcc does not apply"));
}

}  // namespace
}  // namespace tessera::apple
