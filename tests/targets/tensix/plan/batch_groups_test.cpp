#include "tessera/targets/tensix/network/batch_groups.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/concat/concat_layer.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/plan/accuracy.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/planning.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

TEST(BatchGroups, AreDivisorsOfTheBatch) {
  EXPECT_EQ(tensix::image_groups(tensix::lower(small_unet(6, 16))), (std::vector<std::int64_t>{2, 3, 6}));
  EXPECT_TRUE(tensix::image_groups(tensix::lower(small_unet(1, 16))).empty());
  EXPECT_THROW(tensix::group_images(tensix::lower(small_unet(6, 16)), 4), Error);
}

TEST(BatchGroups, AreNotForNetworksThatMixImagesOrChannels) {
  SmallNetwork net(Shape{4, 8, 16, 16});
  const ValueId flat = net.graph.add("flat", Flatten{}, {net.graph.add("average", GlobalPool{}, {net.x})});
  Gemm dense;
  dense.transpose_b = true;
  const Graph graph = net.done(net.graph.add("fc", dense, {flat, net.constant(Shape{10, 8}, 0.3f)}));
  EXPECT_TRUE(tensix::image_groups(tensix::lower(graph)).empty());
}

TEST(BatchGroups, KeepEveryImageToItself) {
  const tensix::LoweredGraph network = tensix::lower(small_unet(4, 16));
  const tensix::LoweredGraph together = tensix::group_images(network, 2);
  const auto& conv = *together.nodes[0].layer.as<tensix::ConvLayer>();
  EXPECT_EQ(conv.problem.batch, 2);
  EXPECT_EQ(conv.problem.in_channels, 6);
  EXPECT_EQ(conv.problem.out_channels, 32);
  EXPECT_EQ(conv.problem.groups, 2);
  EXPECT_EQ(conv.weights->shape(), (Shape{32, 3, 3, 3}));
  EXPECT_EQ(conv.bias->count(), 32);
  bool joins = false;
  for (const tensix::LoweredNode& node : together.nodes)
    if (const auto* concat = node.layer.as<tensix::ConcatLayer>()) {
      EXPECT_EQ(concat->groups, 2);
      joins = true;
    }
  EXPECT_TRUE(joins);
}

struct Case {
  std::int64_t batch, channels, images;
};
class GroupedPlans : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Batches, GroupedPlans, testing::Values(Case{4, 16, 4}, Case{4, 32, 2}, Case{2, 16, 2}));

// A plan of the network with its images together, run as a plan of the network itself.
TEST_P(GroupedPlans, GiveWhatTheNetworkGives) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = tensix::lower(small_unet(GetParam().batch, GetParam().channels));
  const tensix::LoweredGraph together = tensix::group_images(network, GetParam().images);
  const std::vector<StepPrecision> precisions(network.nodes.size());
  CardPlan plan = Planning(together, machine, {}, {}).plan(precisions).value();
  plan.grouped_images = GetParam().images;
  plan.network_digest.clear();
  const Calibration c = calibration_of(network);
  const auto device = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes});
  std::size_t results = 0;
  RunPlanHooks hooks;
  hooks.on_result = [&](const tensix::LoweredNode& node, const Array& result) {
    const auto there = c.values.find(network.graph.value(node.outputs[0]).name);
    ASSERT_NE(there, c.values.end());
    ASSERT_EQ(result.shape(), there->second.shape());
    EXPECT_GT(correlation(result, there->second), 0.98) << node.name;
    ++results;
  };
  const tensix::Simulation run = run_plan(device, network, plan, c.inputs, hooks);
  EXPECT_EQ(results, network.nodes.size());
  ASSERT_EQ(run.outputs.at(0).shape(), c.outputs.at(0).shape());
  EXPECT_GT(correlation(run.outputs.at(0), c.outputs.at(0)), 0.98);
}

TEST(BatchGroups, AreChosenWhereTheyAreFaster) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph narrow = tensix::lower(small_unet(4, 16, 128, 64));
  const CardPlan plan = plan_network(narrow, machine, {});
  EXPECT_GT(plan.grouped_images, 1);
  EXPECT_EQ(plan.batch, 4);
  EXPECT_EQ(plan.model_inputs, (std::vector<std::string>{"x float32[4, 3, 128, 64]"}));
  const std::vector<StepPrecision> precisions(narrow.nodes.size());
  EXPECT_LT(plan.device_ns, Planning(narrow, machine, {}, {}).plan(precisions).value().device_ns);
  const Calibration c = calibration_of(narrow);
  const auto device = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes});
  EXPECT_GT(correlation(run_plan(device, narrow, plan, c.inputs).outputs.at(0), c.outputs.at(0)), 0.98);
}

}  // namespace
}  // namespace tessera::tensix
