// The examples of docs/ncp.md, line by line (tests/pages checks that they are the same).

#include "tessera/core/array.h"
#include "tessera/graph/graph.h"
#include "tessera/io/ncp_file.h"
#include "tessera/io/safetensors.h"
#include "tessera/ncp/graph_layer.h"
#include "tessera/ncp/runner.h"
#include "tessera/session/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <vector>

namespace tessera {
namespace {

// What PyTorch writes of a model whose layer is called rnn.
void write_from_pytorch(const ncp::Layer& layer) {
  const auto parameters = ncp::converted<float>(ncp::initial_parameters(layer, 1));
  std::vector<SafetensorsTensor> tensors;
  for (const auto& item : parameters.items)
    tensors.push_back({"rnn." + item.info.name, ElementType::float32, item.info.shape,
                       std::as_bytes(std::span<const float>(item.values))});
  save_safetensors("from_pytorch.safetensors", tensors);
}

TEST(LiquidPage, RunsAndPlansALayer) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(testing::TempDir());
  const std::vector<float> x(8 * 32 * 3, 0.5f), ts(8 * 32, 0.1f), sensors{1, 2, 3};
  const float elapsed = 0.02f;
  write_from_pytorch(ncp::CfcLayer{.inputs = 3, .units = 64});
  {
    const ncp::Layer layer = ncp::CfcLayer{.inputs = 3, .units = 64};
    const ncp::Runner runner(layer, load_ncp_parameters("from_pytorch.safetensors", layer, "rnn."));
    const auto result = runner.run({.batch = 8, .steps = 32, .input = x, .timespans = ts});

    ncp::Stepper loop(runner);  // one sample, one step at a time, no allocations
    const std::span<const float> y = loop.step(sensors, elapsed);
    EXPECT_EQ(y.size(), 64u);
    EXPECT_EQ(result.output.size(), 8u * 32 * 64);
  }
  std::filesystem::current_path(before);
}

TEST(LiquidPage, MakesAGraphOfALayer) {
  const ncp::Layer layer = ncp::CfcLayer{.inputs = 3, .units = 64};
  const auto parameters = ncp::converted<float>(ncp::initial_parameters(layer, 1));
  const Array x(ElementType::float32, Shape{8, 32, 3}), ts(ElementType::float32, Shape{8, 32, 1});
  const Graph graph = ncp::to_graph(layer, parameters, {.batch = 8, .steps = 32, .timespans = true});
  const std::vector<Array> y = Session(graph).run(std::vector{x, ts});  // "output" and "state"
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[0].shape(), (Shape{8, 32, 64}));
  EXPECT_EQ(y[1].shape(), (Shape{8, 64}));
}

}  // namespace
}  // namespace tessera
