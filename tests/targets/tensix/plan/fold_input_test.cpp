#include "tessera/targets/tensix/network/fold_input.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/plan/accuracy.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

Graph stem(std::int64_t kernel, std::int64_t height = 20) {
  SmallNetwork net(Shape{2, 3, height, 18});
  return net.done(net.conv(net.x, 32, kernel, 2));
}

TEST(FoldInputs, MakesAStrideOfTwoASingleStep) {
  const tensix::LoweredGraph network = tensix::lower(stem(7));
  const std::vector<std::string> names = tensix::foldable_inputs(network);
  ASSERT_EQ(names.size(), 1u);
  const tensix::LoweredGraph folded = tensix::fold_inputs(network, names);
  const auto& conv = *folded.nodes[0].layer.as<tensix::ConvLayer>();
  EXPECT_EQ(conv.problem.in_channels, 12);
  EXPECT_EQ(conv.problem.window.kernel_h, 4);
  EXPECT_EQ(conv.problem.window.stride_h, 1);
  EXPECT_EQ(conv.out_h(), 10);
  EXPECT_EQ(conv.out_w(), 9);
  EXPECT_TRUE(tensix::foldable_inputs(folded).empty());
  EXPECT_THROW(tensix::fold_inputs(folded, names), Error);
}

class FoldedStem : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Kernels, FoldedStem, testing::Values(3, 5, 7));

// The card rounds both alike, so both are as near to float32.
TEST_P(FoldedStem, GivesWhatTheConvolutionGives) {
  const tensix::LoweredGraph network = tensix::lower(stem(GetParam(), 21));
  const Calibration c = calibration_of(network);
  const auto pcc = [&](const tensix::LoweredGraph& one) {
    const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 32768});
    tensix::SimulateOptions options;
    options.weights_dtype = DType::bfloat16;
    return correlation(tensix::simulate(device, one, c.inputs, options).outputs.at(0), c.outputs.at(0));
  };
  const double plain = pcc(network), folded = pcc(tensix::fold_inputs(network, tensix::foldable_inputs(network)));
  EXPECT_NEAR(plain, folded, 10 * (1 - plain));
}

TEST(FoldInputs, IsWeighedByThePlanner) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = tensix::lower(stem(7, 64));
  const CardPlan plan = plan_network(network, machine, {});
  const Calibration c = calibration_of(network);
  const auto device = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes});
  const tensix::Simulation run = run_plan(device, network, plan, c.inputs);
  EXPECT_GT(correlation(run.outputs.at(0), c.outputs.at(0)), 0.99);
}

}  // namespace
}  // namespace tessera::tensix
