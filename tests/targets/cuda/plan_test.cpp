// What needs no GPU: which kernels are chosen, what is refused, and what is said where there is no device.

#include "tessera/targets/cuda/plan/cuda_plan.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/plan/lower.h"
#include "tessera/targets/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Machine h200() { return find_machine(TESSERA_MACHINES_DIR "/nvidia_h200.toml"); }

std::string error_text(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

LoadedNetwork zoo_network(const std::string& name, std::int64_t batch = 1) {
  LoadedNetwork network{.model = name, .name = name, .graph = make_zoo_model(name, batch)};
  for (const ValueId id : network.graph.inputs)
    network.inputs.emplace_back(ElementType::float32, network.graph.value(id).type.shape());
  return network;
}

LoadedNetwork of_graph(tessera::Graph graph) {
  LoadedNetwork network{.model = "test", .name = "test", .graph = std::move(graph)};
  for (const ValueId id : network.graph.inputs)
    network.inputs.emplace_back(network.graph.value(id).type.type, network.graph.value(id).type.shape());
  return network;
}

TEST(CudaPlan, TakesEveryNetworkOfTheZoo) {
  for (const ZooModel& model : zoo())
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32}) {
      const CudaPlan plan(zoo_network(std::string(model.name)), h200(), {.storage = type});
      EXPECT_GT(plan.totals().device_s, 0) << model.name;
      EXPECT_GT(plan.steps().size(), 10u) << model.name;
    }
}

TEST(CudaPlan, ConvertsOrdersOnlyAtTheEnds) {
  for (const char* name : {"resnet50", "mobilenet_v2", "efficientnet_like", "unet", "resnet18"}) {
    const CudaPlan plan(zoo_network(name), h200(), {});
    EXPECT_TRUE(plan.moves().empty()) << name;  // casts at the ends change the order on the way
  }
}

// Between their kernels tokens and heads are views; windows are moved once each way.
TEST(CudaPlan, TokenNetworksAreProductsAttentionAndNorms) {
  struct Row {
    const char* name;
    int attention, moves;
  };
  for (const Row& row : {Row{"vit_b_16", 12, 3}, Row{"convnext_tiny", 0, 0}, Row{"swin_t", 12, 27}}) {
    const CudaPlan plan(zoo_network(row.name), h200(), {});
    int attention = 0, moves = 0;
    for (const Step& step : plan.kernel_plan().steps) {
      ASSERT_NE(step.node, Step::kConversion) << row.name;
      if (step.offer.view_of >= 0 || step.in_place) continue;
      const std::string_view kernel = step.kernel->name;
      attention += kernel == "attention_f16";
      for (const std::string_view name : {"transpose", "gather", "slice", "concat", "expand", "split"})
        moves += kernel == name;
      EXPECT_FALSE(kernel.starts_with("softmax") || kernel.ends_with("_values")) << row.name << " " << kernel;
      EXPECT_FALSE(kernel.starts_with("unary")) << row.name << " " << step.node;
    }
    EXPECT_EQ(attention, row.attention) << row.name;
    EXPECT_LE(moves, row.moves) << row.name;
  }
}

TEST(CudaPlan, PutsTheHeavyWorkOnTensorCores) {
  const CudaPlan plan(zoo_network("resnet50", 16), h200(), {});
  for (const StepView& step : plan.steps())
    if (step.op.starts_with("Conv")) {
      EXPECT_THAT(step.config, Not(HasSubstr("direct"))) << step.node;
    }
  const CudaPlan depthwise(zoo_network("mobilenet_v2"), h200(), {});
  int found = 0;
  for (const StepView& step : depthwise.steps()) found += step.config == "depthwise_f16";
  EXPECT_EQ(found, 17);
}

TEST(CudaPlan, ConcatsOfAUNetCopyNothing) {
  const CudaPlan plan(zoo_network("unet"), h200(), {});
  int concats = 0;
  for (const Step& step : plan.kernel_plan().steps) {
    if (step.kernel == nullptr || step.kernel->name != "concat") continue;
    ++concats;
    EXPECT_TRUE(step.in_place);
  }
  EXPECT_EQ(concats, 4);
}

TEST(CudaPlan, SaysWhyOthersWereNotTaken) {
  const CudaPlan plan(zoo_network("resnet18"), h200(), {});
  const StepView conv = plan.steps().at(1);
  ASSERT_THAT(conv.op, StartsWith("Conv"));
  bool refused = false, slower = false;
  for (const Alternative& other : conv.alternatives) {
    refused |= other.refusal.has_value() && other.refusal->message.find("is for bfloat16") != std::string::npos;
    slower |= other.time_s.has_value() && *other.time_s > conv.time_s;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(slower);
  EXPECT_EQ(plan.explain(conv.node).parts.at(0).table->rows().size(), 1 + conv.alternatives.size());
}

TEST(CudaPlan, RefusesOperatorsWithoutAKernelByName) {
  tessera::Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{1, 4, 8}});
  g.outputs = {g.add("sorted", CumSum{}, {x, g.add_constant("axis", Array::scalar<std::int64_t>(1))})};
  EXPECT_THAT(error_text([&] { CudaPlan(of_graph(g), h200(), {}); }),
              AllOf(HasSubstr("sorted"), HasSubstr("CumSum"), HasSubstr("no kernel takes it")));
}

// Nothing but the ends is cast: norms and choices compute in the type that values are stored as.
TEST(CudaPlan, NormsOfChannelsAndChoicesStayNarrow) {
  tessera::Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{1, 16, 8, 8}});
  const ValueId w = g.add_constant("w", Array(ElementType::float32, Shape{16, 16, 1, 1}));
  const ValueId ones = g.add_constant("ones", Array(ElementType::float32, Shape{16}));
  const ValueId conv = g.add("conv", Conv{}, {x, w});
  const ValueId group = g.add("group", GroupNorm{.groups = 4}, {conv, ones, ones});
  const ValueId instance = g.add("instance", InstanceNorm{}, {group, ones, ones});
  const ValueId batch = g.add("batch", BatchNorm{}, {instance, ones, ones, ones, ones});
  Array mask(ElementType::boolean, Shape{8, 8});
  mask.as<bool>()[3] = true;
  const ValueId zero = g.add_constant("zero", Array::scalar<float>(0));
  g.outputs = {g.add("where", Where{}, {g.add_constant("mask", std::move(mask)), batch, zero})};
  const CudaPlan plan(of_graph(g), h200(), {});
  int casts = 0, norms = 0, choices = 0;
  for (const StepView& step : plan.steps()) {
    casts += step.op == "Cast";
    norms += step.config == "channel_norm_f16";
    choices += step.config == "where";
  }
  EXPECT_EQ(casts, 2);
  EXPECT_EQ(norms, 3);
  EXPECT_EQ(choices, 1);
  EXPECT_TRUE(plan.moves().empty());
}

TEST(CudaPlan, RefusesNormsWhoseScalesAreValues) {
  tessera::Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{1, 16, 8, 8}});
  const ValueId scale = g.add_input("scale", {ElementType::float32, Shape{16}});
  g.outputs = {g.add("style", InstanceNorm{}, {x, scale, scale})};
  LoadedNetwork network = of_graph(g);
  EXPECT_THAT(error_text([&] { CudaPlan(std::move(network), h200(), {}); }),
              AllOf(HasSubstr("style"), HasSubstr("InstanceNorm"), HasSubstr("scales are no constants")));
}

TEST(CudaTarget, RefusesWhatItCannotHonour) {
  const Machine machine = h200();
  const Target& target = target_of(machine);
  EXPECT_EQ(target.family(), "gpu");
  EXPECT_THAT(error_text([&] { target.check_request(machine, {.threads = 2}); }),
              HasSubstr("--threads is not for GPUs"));
  EXPECT_THAT(error_text([&] { target.check_request(machine, {.storage = ElementType::int8}); }), HasSubstr("int8"));
  Machine older = machine;
  older.gpu->arch = "sm_80";
  EXPECT_THAT(error_text([&] { target.check_request(older, {}); }), AllOf(HasSubstr("sm_90a"), HasSubstr("sm_80")));
}

TEST(CudaTarget, SaysWhatIsMissingWhereThereIsNoGpu) {
  const auto missing = absence();
  if (!missing) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(error_text([] { find_machine("cuda"); }), HasSubstr(missing->text));
  const CudaPlan plan(zoo_network("resnet18"), h200(), {});  // planning needs none
  EXPECT_THAT(error_text([&] { plan.run(zoo_network("resnet18").inputs); }), HasSubstr(missing->text));
}

TEST(CudaPlan, ALimitOfMemoryIsKept) {
  EXPECT_THAT(error_text([] { CudaPlan(zoo_network("vgg16"), h200(), {.memory_limit_bytes = 1000}); }),
              HasSubstr("the limit is 1000"));
}

TEST(CudaEpilogue, KeepsWhatKernelsTakeAndSplitsTheRest) {
  tessera::Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{1, 8, 12, 12}});
  const ValueId w = g.add_constant("w", Array(ElementType::float32, Shape{8, 8, 1, 1}));
  const ValueId conv = g.add("conv", Conv{}, {x, w});
  const ValueId silu = g.add("silu", Unary{Unary::Kind::silu}, {conv});
  const ValueId sum = g.add("sum", tessera::Binary{tessera::Binary::Kind::add}, {silu, x});
  const ValueId relu = g.add("relu", Unary{Unary::Kind::relu}, {sum});
  MaxPool pool;
  pool.window.kernel = {3, 3};
  g.outputs = {g.add("pool", pool, {relu})};
  run_passes(g);
  ASSERT_EQ(g.nodes.size(), 1u) << "all of it is fused";
  split_epilogues(g);
  ASSERT_EQ(g.nodes.size(), 4u);
  EXPECT_EQ(op_text(g.nodes[0]), "Conv+Unary");
  EXPECT_EQ(op_text(g.nodes[1]), "Binary");
  EXPECT_EQ(op_text(g.nodes[3]), "MaxPool");
  EXPECT_EQ(g.nodes[3].outputs[0], g.outputs[0]);
}

}  // namespace
}  // namespace tessera::cuda
