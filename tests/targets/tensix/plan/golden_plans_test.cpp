// Whole plans of two small networks for two cards, line by line as they were looked at last. After a change that is
// meant to change plans:
//
//   TESSERA_RENEW_GOLDEN=1 build/tests/tessera_tensix_plan_test --gtest_filter='*GoldenPlans*'
//
// writes tests/targets/tensix/plan/golden/*.txt anew; the difference is part of the change, and to be read.

#include "plan_text.h"

#include "tessera/core/file.h"
#include "tessera/graph/graph.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/plan/plan_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

namespace tessera::tensix {
namespace {

namespace fs = std::filesystem;

class Builder {
 public:
  explicit Builder(std::string name) { graph.name = std::move(name); }

  ValueId input(const Shape& shape) { return graph.add_input("x", TensorType(ElementType::float32, shape)); }
  ValueId conv(const std::string& name, ValueId x, std::int64_t from, std::int64_t to, std::int64_t kernel,
               std::int64_t stride = 1) {
    Conv conv;
    conv.window.kernel = {kernel, kernel};
    conv.window.strides = {stride, stride};
    conv.window.pads = std::vector<std::int64_t>(4, kernel / 2);
    const float size = std::sqrt(2.0f / static_cast<float>(from * kernel * kernel));
    return graph.add(name, conv,
                     {x, constant(name + ".weight", Shape{to, from, kernel, kernel}, size),
                      constant(name + ".bias", Shape{to}, 0.1f)});
  }
  ValueId relu(const std::string& name, ValueId x) { return graph.add(name, Unary{Unary::Kind::relu}, {x}); }
  ValueId pool(const std::string& name, ValueId x) {
    MaxPool pool;
    pool.window.kernel = pool.window.strides = {2, 2};
    return graph.add(name, pool, {x});
  }
  ValueId constant(const std::string& name, const Shape& shape, float scale) {
    Array out(ElementType::float32, shape);
    std::normal_distribution<float> normal;
    for (float& v : out.as<float>()) v = scale * normal(random_);
    return graph.add_constant(name, out);
  }

  Graph graph;

 private:
  std::mt19937_64 random_{7};
};

// Two bottlenecks as ResNet has them, the second with a stride and a convolution on its shortcut.
Graph residual() {
  Builder b("residual");
  ValueId x = b.relu("stem.relu", b.conv("stem", b.input(Shape{1, 3, 56, 56}), 3, 64, 3));
  for (const auto& [name, from, to, stride] :
       {std::tuple{std::string("block1"), 64, 64, 1}, std::tuple{std::string("block2"), 64, 128, 2}}) {
    const ValueId shortcut = stride == 1 ? x : b.conv(name + ".downsample", x, from, to, 1, stride);
    ValueId y = b.relu(name + ".relu1", b.conv(name + ".conv1", x, from, from / 2, 1));
    y = b.relu(name + ".relu2", b.conv(name + ".conv2", y, from / 2, from / 2, 3, stride));
    y = b.conv(name + ".conv3", y, from / 2, to, 1);
    x = b.relu(name + ".relu3", b.graph.add(name + ".sum", Binary{Binary::Kind::add}, {y, shortcut}));
  }
  x = b.graph.add("flat", Flatten{}, {b.graph.add("average", GlobalPool{}, {x})});
  Gemm dense;
  dense.transpose_b = true;
  x = b.graph.add("fc", dense,
                  {x, b.constant("fc.weight", Shape{100, 128}, 0.1f), b.constant("fc.bias", Shape{100}, 0.1f)});
  b.graph.outputs = {x};
  verify(b.graph);
  return std::move(b.graph);
}

// One step down and up again, joined with what was before.
Graph unet() {
  Builder b("unet");
  const ValueId x = b.input(Shape{1, 3, 64, 64});
  const ValueId down = b.relu("enc.relu", b.conv("enc", x, 3, 32, 3));
  const ValueId middle = b.relu("mid.relu", b.conv("mid", b.pool("pool", down), 32, 64, 3));
  ConvTranspose transposed;
  transposed.window.kernel = transposed.window.strides = {2, 2};
  const ValueId up =
      b.graph.add("up", transposed,
                  {middle, b.constant("up.weight", Shape{64, 32, 2, 2}, 0.1f), b.constant("up.bias", Shape{32}, 0.1f)});
  Concat join;
  join.axis = 1;
  const ValueId both = b.graph.add("join", join, {up, down});
  b.graph.outputs = {b.conv("head", b.relu("dec.relu", b.conv("dec", both, 64, 32, 3)), 32, 1, 1)};
  verify(b.graph);
  return std::move(b.graph);
}

void expect_golden(const Graph& graph, const std::string& machine) {
  const tensix::LoweredGraph network = tensix::lower(graph, {.host_fallback = true});
  CardPlanRequest request;
  request.budget_s = 120;  // the machine that tests run on is no part of what is compared
  CardPlan plan = plan_network(network, load_machine(TESSERA_MACHINES_DIR "/" + machine + ".toml"), request);
  plan.model = graph.name;
  const std::string text = plan_text(plan);
  const fs::path file = fs::path(TESSERA_GOLDEN_PLANS) / fmt::format("{}_{}.txt", graph.name, machine);
  if (std::getenv("TESSERA_RENEW_GOLDEN") != nullptr) {
    write_file_atomically(file, text, Directories::create);
    return;
  }
  const std::string expected = read_text_file(file);
  EXPECT_EQ(text, expected) << file
                            << ": if this should be so, see the head of golden_plans_test.cpp for how to renew it";
}

class GoldenPlans : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cards, GoldenPlans, testing::Values("wormhole_n150", "blackhole_p150"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(GoldenPlans, AResidualNetwork) { expect_golden(residual(), GetParam()); }
TEST_P(GoldenPlans, AUNet) { expect_golden(unet(), GetParam()); }

}  // namespace
}  // namespace tessera::tensix
