#include "tessera/targets/tensix/plan/plan_accuracy.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/network/batch_groups.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/planning.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera::tensix {
namespace {

Machine n150() { return load_machine("wormhole_n150"); }

// `channels` decides whether images side by side share blocks of 16.
Graph small_network(std::int64_t batch, std::int64_t channels) {
  SmallNetwork net(Shape{batch, 3, 20, 12});
  const ValueId y = net.conv(net.x, channels, 3);
  return net.done(net.conv(net.add(net.conv(y, channels, 3), y), channels, 1));
}

CardPlan planned(const tensix::LoweredGraph& network, std::int64_t images) {
  const tensix::LoweredGraph together = tensix::group_images(network, images);
  CardPlan plan = Planning(together, n150(), {}, {}).plan(std::vector<StepPrecision>(network.nodes.size())).value();
  plan.grouped_images = images;
  plan.network_digest.clear();
  return plan;
}

std::vector<Array> results(const tensix::LoweredGraph& network, const CardPlan& plan, const std::vector<Array>& inputs,
                           std::int64_t valued_images) {
  const auto device = Device::open(
      n150(), {.l1_small_bytes = plan.request.l1_small_bytes, .values = true, .valued_images = valued_images});
  std::vector<Array> out;
  RunPlanHooks hooks;
  hooks.on_result = [&](const tensix::LoweredNode&, const Array& result) { out.push_back(result); };
  run_plan(device, network, plan, inputs, hooks);
  return out;
}

struct Case {
  std::int64_t batch, channels, images;
};
class PlanAccuracy : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Batches, PlanAccuracy,
                         testing::Values(Case{1, 24, 1}, Case{3, 24, 1}, Case{5, 16, 1}, Case{4, 24, 2},
                                         Case{4, 16, 4}));

// Some images of a batch alone have the bits that they have among all.
TEST_P(PlanAccuracy, FirstImagesAreThoseOfTheWholeBatch) {
  const auto [batch, channels, images] = GetParam();
  const tensix::LoweredGraph network = tensix::lower(small_network(batch, channels));
  const CardPlan plan = planned(network, images);
  EXPECT_EQ(images_to_measure(network, plan), images);
  const Calibration c = calibration_of(network);
  const std::vector<Array> all = results(network, plan, c.inputs, 0), some = results(network, plan, c.inputs, 1);
  ASSERT_EQ(all.size(), some.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto a = all[i].as<float>(), b = some[i].as<float>();
    ASSERT_EQ(a.size(), b.size());
    const std::size_t first = a.size() / static_cast<std::size_t>(batch) * static_cast<std::size_t>(images);
    EXPECT_TRUE(std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(first), b.begin())) << i;
    EXPECT_EQ(std::ranges::equal(a, b), batch == images) << i;
  }
}

TEST_P(PlanAccuracy, IsThatOfTheImagesItIsMeasuredWith) {
  const auto [batch, channels, images] = GetParam();
  const tensix::LoweredGraph network = tensix::lower(small_network(batch, channels));
  const CardPlan plan = planned(network, images);
  const Calibration all = calibration_of(network), few = calibration_of(tensix::lower(small_network(images, channels)));
  const NodeAccuracy found = measure_plan(few, n150(), network, plan);
  // Of the run of everything, with the same first images.
  std::vector<Array> inputs = all.inputs;
  std::ranges::copy(few.inputs[0].as<float>(), inputs[0].as<float>().begin());
  const std::vector<Array> whole = results(network, plan, inputs, 0);
  Array first(ElementType::float32, few.outputs[0].shape());
  std::ranges::copy_n(whole.back().as<float>().begin(), static_cast<std::ptrdiff_t>(first.count()),
                      first.as<float>().begin());
  EXPECT_EQ(found.pcc, correlation(first, few.outputs[0]));
  ASSERT_EQ(found.nodes.size(), network.nodes.size());
  for (const auto& node : found.nodes) {
    ASSERT_TRUE(node);
    EXPECT_GT(*node, 0.98);
  }
}

// Why precisions alone do not tell.
TEST(PlanAccuracyOfGroups, DiffersWhereImagesShareBlocks) {
  const auto image_of_pair = [](std::int64_t channels) {
    const tensix::LoweredGraph two = tensix::lower(small_network(2, channels));
    Calibration c = calibration_of(two);
    const Array apart = results(two, planned(two, 1), c.inputs, 0)[0];
    const Array together = results(two, planned(two, 2), c.inputs, 0)[0];
    return std::ranges::equal(apart.as<float>(), together.as<float>());
  };
  EXPECT_FALSE(image_of_pair(24));
}

TEST(PlanAccuracyOfOthers, IsMeasuredOnTheWholeBatchWhereImagesMeet) {
  // Images become rows of one: nothing says which of them are whose.
  SmallNetwork net(Shape{4, 8, 8, 8});
  const ValueId y = net.conv(net.x, 8, 3);
  const std::int64_t to[] = {1, 32, 8, 8};
  const ValueId shape = net.graph.add_constant("shape", Array::of<std::int64_t>(Shape{4}, to));
  const Graph graph = net.done(net.graph.add("merge", Reshape{}, {y, shape}));
  const tensix::LoweredGraph network = tensix::lower(graph, {.host_fallback = true});
  EXPECT_EQ(images_to_measure(network, CardPlan{}), 4);
}

TEST(PlanAccuracyOfOthers, RefusesACalibrationOfOtherShapes) {
  const tensix::LoweredGraph network = tensix::lower(small_network(4, 24));
  const CardPlan plan = planned(network, 2);
  EXPECT_THROW(measure_plan(calibration_of(tensix::lower(small_network(1, 24))), n150(), network, plan), Error);
}

// The budget is held by the plan that is handed out, on the batch that it is for.
TEST(AccuracyBudgetOfBatches, IsHeldByThePlanItself) {
  const tensix::LoweredGraph one = tensix::lower(small_network(1, 24)), four = tensix::lower(small_network(4, 24));
  CardPlanRequest request;
  request.min_pcc = 0.9995;
  request.budget_s = 1e9;
  CardPlanHooks hooks;
  std::vector<std::int64_t> asked;
  hooks.calibration = [&](std::int64_t images) {
    asked.push_back(images);
    return calibration_of(tensix::lower(small_network(images, 24)));
  };
  hooks.kept = std::make_shared<KeptAccuracy>();
  for (const tensix::LoweredGraph* network : {&one, &four}) {
    const CardPlan plan = plan_network(*network, n150(), request, hooks);
    ASSERT_TRUE(plan.pcc);
    EXPECT_GE(*plan.pcc, request.min_pcc);
    const Calibration c = calibration_of(tensix::lower(small_network(plan.grouped_images, 24)));
    EXPECT_EQ(*plan.pcc, measure_plan(c, n150(), *network, plan).pcc);
  }
  std::ranges::sort(asked);
  EXPECT_EQ(std::ranges::adjacent_find(asked), asked.end());  // each once
}

}  // namespace
}  // namespace tessera::tensix
