#include "tessera/targets/tensix/network/batch_passes.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/network/batch_groups.h"
#include "tessera/targets/tensix/plan/accuracy.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/planning.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

Graph classifier(std::int64_t batch) {
  SmallNetwork net(Shape{batch, 8, 16, 16});
  const ValueId average = net.graph.add("average", GlobalPool{}, {net.conv(net.x, 32, 3, 2)});
  Gemm dense;
  dense.transpose_b = true;
  return net.done(
      net.graph.add("fc", dense, {net.graph.add("flat", Flatten{}, {average}), net.constant(Shape{10, 32}, 0.3f)}));
}

TEST(BatchPasses, AreForNetworksThatKeepImagesApart) {
  EXPECT_EQ(tensix::independent_images(tensix::lower(small_unet(6, 16))), 6);
  EXPECT_EQ(tensix::independent_images(tensix::lower(classifier(3))), 3);
  SmallNetwork net(Shape{2, 8, 16, 16});
  Concat rows;
  rows.axis = 0;
  const Graph joined = net.done(net.graph.add("join", rows, {net.conv(net.x, 8, 3), net.x}));
  const tensix::LoweredGraph mixed = tensix::lower(joined, {.host_fallback = true});
  EXPECT_EQ(tensix::independent_images(mixed), std::nullopt);
  try {
    tensix::with_images(mixed, 1);
    FAIL() << "images were torn apart";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("cannot go through the card in passes"), std::string::npos) << error.message();
  }
}

TEST(BatchPasses, AreTheNetworkForFewerOrMoreImages) {
  for (const std::int64_t images : {1, 4, 7}) {
    EXPECT_EQ(network_digest(tensix::with_images(tensix::lower(small_unet(6, 16)), images)),
              network_digest(tensix::lower(small_unet(images, 16))));
    EXPECT_EQ(network_digest(tensix::with_images(tensix::lower(classifier(6)), images)),
              network_digest(tensix::lower(classifier(images))));
  }
  EXPECT_THROW(tensix::with_images(tensix::lower(classifier(6)), 0), Error);
}

TEST(BatchPasses, FillTheLastOneWithZerosAndLeaveThemOutAgain) {
  Array batch(ElementType::float32, Shape{5, 2, 3});
  for (std::size_t i = 0; i < 30; ++i) batch.as<float>()[i] = static_cast<float>(i + 1);
  std::vector<Array> parts;
  for (const std::int64_t first : {0, 2, 4}) parts.push_back(tensix::images_of(batch, first, 2));
  EXPECT_EQ(parts[2].shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(parts[2].as<float>()[5], 30);
  for (std::size_t i = 6; i < 12; ++i) EXPECT_EQ(parts[2].as<float>()[i], 0);
  const Array again = tensix::joined_images(parts, 5);
  EXPECT_EQ(again.shape(), batch.shape());
  EXPECT_TRUE(std::ranges::equal(again.bytes(), batch.bytes()));
  EXPECT_THROW(tensix::joined_images(parts, 7), Error);
  EXPECT_THROW(tensix::images_of(batch, 5, 1), Error);
}

struct Case {
  std::int64_t batch, pass, grouped;
};
class PlansInPasses : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Batches, PlansInPasses, testing::Values(Case{4, 2, 1}, Case{5, 2, 2}, Case{3, 4, 4}));

TEST_P(PlansInPasses, ComputeEveryImageOfTheBatch) {
  const auto [batch, size, grouped] = GetParam();
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = tensix::lower(small_unet(batch, 16));
  const tensix::LoweredGraph pass = tensix::group_images(tensix::with_images(network, size), grouped);
  CardPlan plan = Planning(pass, machine, {}, {}).plan(std::vector<StepPrecision>(network.nodes.size())).value();
  plan.batch = batch;
  plan.pass_images = size;
  plan.grouped_images = grouped;
  plan.network_digest = network_digest(network);
  EXPECT_EQ(plan.passes(), (batch + size - 1) / size);
  const Calibration c = calibration_of(network);
  const auto device = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes});
  std::size_t steps = 0, results = 0;
  RunPlanHooks hooks;
  hooks.on_step = [&](const tensix::SimulatedStep&) { ++steps; };
  hooks.on_result = [&](const tensix::LoweredNode& node, const Array& result) {
    const auto there = c.values.find(network.graph.value(node.outputs[0]).name);
    ASSERT_NE(there, c.values.end());
    ASSERT_EQ(result.shape(), there->second.shape());
    for (std::int64_t image = 0; image < batch; ++image)
      EXPECT_GT(correlation(tensix::images_of(result, image, 1), tensix::images_of(there->second, image, 1)), 0.97)
          << node.name << ", image " << image;
    ++results;
  };
  const tensix::Simulation run = run_plan(device, network, plan, c.inputs, hooks);
  EXPECT_EQ(results, network.nodes.size());
  EXPECT_EQ(steps, run.steps.size());  // of one pass
  ASSERT_EQ(run.outputs.at(0).shape(), c.outputs.at(0).shape());
  EXPECT_GT(correlation(run.outputs.at(0), c.outputs.at(0)), 0.98);
  // On a card one pass follows the other.
  const auto bare = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes, .values = false});
  for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(run_plan(bare, network, plan, c.inputs)) << "pass " << i + 1;
}

// A batch that does not fit as a whole is not slower by the image than one that does.
TEST(BatchPasses, KeepTheTimeOfAnImageAsTheBatchGrows) {
  const Machine machine = load_machine("wormhole_n150");
  const auto planned = [&](std::int64_t batch) {
    const tensix::LoweredGraph network = tensix::lower(small_unet(batch, 16, 1056, 160));
    CardPlan plan = plan_network(network, machine, {});
    EXPECT_EQ(plan.batch, batch);
    double kernels = 0;
    for (const tensix::SimulatedStep& step : rehearse_plan(machine, network, plan).steps) kernels += step.time.ns;
    EXPECT_NEAR(plan.kernels_ns, static_cast<double>(plan.passes()) * kernels, 1e-6 * plan.kernels_ns);
    return plan;
  };
  const CardPlan two = planned(2), eight = planned(8);
  EXPECT_EQ(two.pass_images, 0);
  EXPECT_GT(eight.passes(), 1);
  EXPECT_LE(eight.device_ns / 8, two.device_ns / 2);
}

}  // namespace
}  // namespace tessera::tensix
