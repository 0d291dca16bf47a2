#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/io/plan_document.h"
#include "tessera/io/plan_file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/session/session.h"
#include "tessera/targets/registry.h"
#include "tessera/targets/tensix/contract/card_plan_table.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tests/targets/tensix/plan/sample_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <string>

namespace tessera {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string error_text(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

LoadedNetwork small_network() {
  LoadedNetwork network{.model = "resnet18", .name = "resnet18", .graph = make_zoo_model("resnet18", 1)};
  for (const ValueId id : network.graph.inputs) {
    const TensorType& type = network.graph.value(id).type;
    network.inputs.emplace_back(type.type, type.shape());
  }
  return network;
}

TEST(Registry, FindsTargetsByMachineAndLanguage) {
  EXPECT_EQ(target_of(find_machine("cpu")).family(), "cpu");
  EXPECT_EQ(target_of(find_machine("wormhole_n150")).family(), "tensix");
  EXPECT_EQ(find_language("ttnn").target.family(), "tensix");
  EXPECT_TRUE(find_language("ttnn").language.follows_plan);
  EXPECT_EQ(find_language("mlx").target.family(), "unified");
  EXPECT_EQ(find_language("nki").target.family(), "neuron");
  EXPECT_THAT(error_text([] { find_language("cuda"); }), HasSubstr("--emit cuda: it is ttnn, mlx or nki"));
}

TEST(Target, CountsTheImagesOfTheFirstInput) {
  EXPECT_EQ(batch_of(Graph()), 1);
  const std::vector<std::pair<Shape, std::int64_t>> cases{
      {Shape{}, 1}, {Shape{0, 3}, 1}, {Shape{1, 3}, 1}, {Shape{2}, 2}, {Shape{5, 3, 2}, 5}};
  for (const auto& [shape, images] : cases) {
    Graph graph;
    graph.add_input("x", TensorType(ElementType::float32, shape));
    graph.add_input("y", TensorType(ElementType::float32, Shape{7}));
    EXPECT_EQ(batch_of(graph), images) << shape.to_string();
  }
}

TEST(PlanRequest, GoalsAreCalledAsOnTheCommandLine) {
  EXPECT_EQ(name(BatchGoal::latency), "latency");
  EXPECT_EQ(name(BatchGoal::throughput), "throughput");
}

TEST(CompareArithmetic, RowsAreWhatWasAskedForAndErrorsArePartsOfTheResult) {
  const auto ramp = [](const Shape& shape, float size) {
    Array array(ElementType::float32, shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.as<float>()[static_cast<std::size_t>(i)] = size * (1 + 0.01f * static_cast<float>(i * 37 % 101));
    return array;
  };
  LoadedNetwork network{.model = "m", .name = "m", .graph = {}};
  const ValueId x = network.graph.add_input("x", TensorType(ElementType::float32, Shape{32, 64}));
  network.graph.outputs = {network.graph.add("y", MatMul{}, {x, network.graph.add_constant("w", ramp({64, 32}, 30))})};
  network.inputs = {ramp({32, 64}, 5)};
  SimulateHooks hooks;
  hooks.reference = [](const Graph& graph, const std::vector<Array>& inputs, ReferenceDepth) {
    ReferenceValues found;
    found.outputs = evaluate(graph, inputs, [&](const Node& node, const std::vector<const Array*>& outputs) {
      found.values.emplace(graph.value(node.outputs[0]).name, *outputs[0]);
    });
    return found;
  };
  const ArithmeticRequest request{
      .types = {"bfloat16/bfloat16"}, .fidelities = {"HiFi4"}, .accumulations = {"float32"}};
  const Machine machine = find_machine("wormhole_n150");
  const json rows = json::parse(target_of(machine).compare_arithmetic(network, machine, request, hooks).json)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["accumulation"], "float32");
  // Results are of the order of 10,000. Both operands and the result keep 8 bits.
  EXPECT_GT(rows[0]["relative_error"].get<double>(), 0);
  EXPECT_LT(rows[0]["relative_error"].get<double>(), 3 * std::ldexp(1, -8));
}

// A file of a liquid layer is read by the target itself; networks are loaded for it.
TEST(EmitMlx, ANetworkIsLoadedAndALayersFileIsNot) {
  int loads = 0;
  EmitRequest request{.language = "mlx", .script = "net.py", .model = "resnet18", .load = [&] {
                        ++loads;
                        return small_network();
                      }};
  const Target& mlx = find_language("mlx").target;
  EXPECT_THAT(mlx.emit(request).script.text, HasSubstr("resnet18"));
  EXPECT_EQ(loads, 1);
  request.model = "no such layer.safetensors";
  EXPECT_THAT(error_text([&] { mlx.emit(request); }), HasSubstr("no such layer.safetensors"));
  EXPECT_EQ(loads, 1);
}

TEST(PlanDocument, IsKnownByItsFirstBrace) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "looks_like_plan";
  for (const auto& [text, plan] :
       {std::pair{"{}", true}, {" \t\r\n{", true}, {"\t[", false}, {"x{", false}, {" \t", false}}) {
    write_file_atomically(file, std::string_view(text));
    EXPECT_EQ(looks_like_plan(file), plan) << text;
  }
  EXPECT_FALSE(looks_like_plan(file.string() + ".none"));
}

TEST(CardPlanSummary, NamesSlidesOnlyWhereThereAreSome) {
  using tensix::PlannedMove;
  tensix::CardPlan plan = tensix::good_plan();
  const auto moves = [&] {
    const std::string text = tensix::card_plan_summary(plan);
    const std::size_t at = text.find("  moves ");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(moves(), "  moves       0 reshards, 0 spills, 0 restores; 0 reshards within convolutions");
  plan.steps[1].moves = {{PlannedMove::Kind::spill, "x", tensix::kDramMemoryConfig, 10, ""},
                         {PlannedMove::Kind::slide, "y", tensix::kL1MemoryConfig, 10, ""}};
  EXPECT_EQ(moves(), "  moves       0 reshards, 1 spill, 0 restores, 1 slide; 0 reshards within convolutions");
}

TEST(CardPlanTable, NoBytesAreADash) {
  EXPECT_EQ(tensix::bytes_of_core(0).text(), "-");
  EXPECT_EQ(tensix::bytes_of_core(1).text(), "1");
  EXPECT_EQ(tensix::bytes_of_core(12345).text(), "12,345");
}

TEST(Registry, SaysWhichFamiliesAreNotPlannedFor) {
  Machine unknown = find_machine("nvidia_h200");
  unknown.family = "abacus";
  EXPECT_THAT(error_text([&] { target_of(unknown); }), AllOf(HasSubstr("family abacus"), HasSubstr("nvidia_h200")));
  const Machine trainium = find_machine("trainium1");
  EXPECT_THAT(error_text([&] { target_of(trainium).check_request(trainium, {}); }),
              AllOf(HasSubstr("not planned for 'trainium1' yet"), HasSubstr("neuron")));
}

TEST(Targets, RefuseFieldsThatTheyCannotHonour) {
  const Machine cpu = find_machine("cpu"), card = find_machine("wormhole_n150");
  EXPECT_THAT(error_text([&] { target_of(cpu).check_request(cpu, {.pins = {{"*", "shard", "BLOCK"}}}); }),
              HasSubstr("--pin is for cards"));
  EXPECT_THAT(error_text([&] { target_of(card).check_request(card, {.threads = 2}); }),
              HasSubstr("--threads is for this machine's own processor"));
  target_of(cpu).check_request(cpu, {.threads = 2});
  target_of(card).check_request(card, {.min_pcc = 0.99, .mesh = 2});
  const Machine other = load_machine(TESSERA_MACHINES_DIR "/cpu_avx2.toml");
  target_of(other).check_request(other, {.threads = 2});
  EXPECT_THAT(error_text([&] { target_of(other).check_request(other, {.kernels = {{"a", "b"}}}); }),
              HasSubstr("'cpu_avx2', on which nothing is run"));
}

// Without a plan the operators choose for themselves.
TEST(CardTarget, SimulatesWithAPlanAndWithout) {
  LoadedNetwork network{.model = "one", .name = "one", .graph = {}};
  Graph& graph = network.graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 16, 8, 8}));
  const ValueId w = graph.add_constant("w", Array(ElementType::float32, Shape{16, 16, 3, 3}));
  graph.outputs = {graph.add("layer", Conv{.window = {.pads = {1, 1, 1, 1}}}, {x, w})};
  network.inputs.emplace_back(ElementType::float32, Shape{1, 16, 8, 8});
  const Machine card = find_machine("wormhole_n150");
  const auto plan = target_of(card).plan(network, card, {});
  for (const NetworkPlan* given :
       {static_cast<const NetworkPlan*>(nullptr), static_cast<const NetworkPlan*>(plan.get())}) {
    SimulateHooks hooks;
    hooks.reference = [](const Graph& graph_of, const std::vector<Array>& inputs, ReferenceDepth) {
      return ReferenceValues{.outputs = evaluate(graph_of, inputs), .values = {}};
    };
    const auto run = target_of(card).simulate(network, given, card, {}, hooks);
    ASSERT_EQ(run->result().outputs.size(), 1u);
    EXPECT_EQ(run->result().outputs[0].shape(), (Shape{1, 16, 8, 8}));
    EXPECT_FALSE(run->result().trace.steps.empty());
  }
}

// Kernels of the file's instruction set, whatever this machine has; nothing of it can be run.
TEST(CpuPlan, IsMadeForOtherProcessors) {
  const LoadedNetwork network = small_network();
  for (const char* device : {"cpu_avx2", "cpu_avx512", "cpu_zen4", "cpu_amx"}) {
    const Machine machine = find_machine(device);
    const Target& target = target_of(machine);
    const auto plan = target.plan(network, machine, {});
    EXPECT_EQ(plan->machine(), device);
    EXPECT_GT(plan->totals().device_s, 0);
    ASSERT_FALSE(plan->steps().empty());
    const std::string kernel = plan->steps().front().config;
    EXPECT_THAT(kernel, HasSubstr(machine.cpu->isa.substr(0, 4) == "avx2" ? "avx2" : "avx512")) << device;
    EXPECT_THAT(error_text([&] { target.run(*plan, machine, network.inputs); }), HasSubstr("does not run here"));
    const std::string told = error_text([&] { target.plan(network, machine, {.isa = Isa::amx}); });
    EXPECT_THAT(told, HasSubstr(machine.cpu->isa == "amx" ? "" : "at most, not amx")) << device;
  }
}

TEST(CpuPlan, IsThePlanOfASession) {
  const Machine machine = find_machine("cpu");
  const LoadedNetwork network = small_network();
  const auto plan = target_of(machine).plan(network, machine, {.threads = 1});
  SessionOptions options;
  options.threads = 1;
  const Session session(network.graph, options);
  std::vector<std::string> kernels;
  double seconds = 0;
  for (const auto& stage : session.plans(network.inputs))
    for (const Step& step : stage->steps) {
      seconds += step.offer.estimate.seconds;
      if (step.node != Step::kConversion) kernels.emplace_back(step.kernel->name);
    }
  const std::vector<StepView> steps = plan->steps();
  ASSERT_EQ(steps.size(), kernels.size());
  for (std::size_t s = 0; s < steps.size(); ++s) EXPECT_EQ(steps[s].config, kernels[s]);
  EXPECT_DOUBLE_EQ(plan->totals().kernels_s, seconds);
  EXPECT_EQ(plan->batch(), 1);
  EXPECT_THAT(error_text([&] { plan->explain("nothing_of_that_name"); }), HasSubstr("no node"));
  EXPECT_EQ(plan->explain(steps[0].node).parts.at(0).table->rows().size(), 1 + steps[0].alternatives.size());
}

TEST(CpuPlan, IsADocumentWhoseKernelsAreRead) {
  const Machine machine = find_machine("cpu");
  const auto plan = target_of(machine).plan(small_network(), machine, {.threads = 1});
  const std::string text = encode_plan_document(*plan);
  const json out = json::parse(text);
  EXPECT_EQ(out["schema"], 2);
  EXPECT_EQ(out["target"], "cpu");
  EXPECT_EQ(out["steps"].size(), plan->steps().size());
  const PlanFile whole = parse_plan_file(text), old = parse_plan_file(plan->body());
  EXPECT_EQ(whole.kernels, old.kernels);
  EXPECT_EQ(whole.kernels.at(out["steps"][0]["node"]), out["steps"][0]["config"].get<std::string>());
  EXPECT_EQ(parse_plan_document(plan->body()).target, "cpu");  // as schema 1 had it
}

TEST(CpuPlan, RunsAndTellsWhatItDid) {
  const Machine machine = find_machine("cpu");
  const LoadedNetwork network = small_network();
  const auto plan = target_of(machine).plan(network, machine, {.threads = 1});
  const RunResult run = target_of(machine).run(*plan, machine, network.inputs);
  EXPECT_TRUE(run.trace.measured);
  EXPECT_EQ(run.trace.steps.size(), plan->steps().size() + plan->moves().size());
  ASSERT_EQ(run.outputs.size(), 1u);
  SessionOptions options;
  options.threads = 1;
  EXPECT_TRUE(
      std::ranges::equal(run.outputs[0].bytes(), Session(network.graph, options).run(network.inputs)[0].bytes()));
}

TEST(CardPlanOfTheContract, SaysWhatTheCardPlanSays) {
  const tensix::CardPlan card = tensix::good_plan();
  const auto plan = target_of_family("tensix").read(tensix::encode_card_plan(card));
  EXPECT_EQ(plan->machine(), card.machine);
  EXPECT_EQ(plan->batch(), card.batch);
  const std::vector<StepView> steps = plan->steps();
  ASSERT_EQ(steps.size(), card.steps.size());
  std::size_t moves = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    EXPECT_EQ(steps[s].node, card.steps[s].node);
    EXPECT_EQ(steps[s].config, card.steps[s].predicted.config);
    EXPECT_NEAR(steps[s].time_s * 1e9, card.steps[s].predicted.time.ns, 1e-3);
    EXPECT_EQ(steps[s].bound.resource, name(card.steps[s].predicted.time.bound_by));
    ASSERT_EQ(steps[s].alternatives.size(), card.steps[s].alternatives.size());
    for (std::size_t a = 0; a < steps[s].alternatives.size(); ++a)
      EXPECT_EQ(steps[s].alternatives[a].refusal.has_value(), !steps[s].alternatives[a].time_s.has_value());
    moves += card.steps[s].moves.size();
  }
  EXPECT_EQ(plan->moves().size(), moves);
  EXPECT_NEAR(plan->totals().device_s * 1e9, card.device_ns, 1e-3);
  EXPECT_EQ(plan->memory().at(0).peak_bytes, card.l1_peak_bytes);
}

// Every choice and number of a plan file of schema 1 is in the document that is written now.
TEST(CardPlanOfTheContract, KeepsTheContentOfOlderPlanFiles) {
  for (const char* name : {"residual_wormhole_n150.json", "unet_blackhole_p150.json"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path file = std::filesystem::path(TESSERA_TEST_DATA) / "card_plan" / name;
    const std::string old = read_text_file(file);
    const ReadPlan read = read_plan(file);
    EXPECT_EQ(read.plan->family(), "tensix");
    const json document = json::parse(encode_plan_document(*read.plan));
    EXPECT_EQ(document["body"], json::parse(old));
    EXPECT_EQ(tensix::encode_card_plan(tensix::parse_card_plan(document.dump())), old);
    for (std::size_t s = 0; s < document["steps"].size(); ++s)
      EXPECT_EQ(document["steps"][s]["node"], document["body"]["steps"][s]["node"]);
  }
}

TEST(PlanDocuments, OfLaterSchemasAndOtherKindsAreRefused) {
  EXPECT_THAT(error_text([] { parse_plan_document(R"({"kind": "tessera plan", "schema": 3})"); }),
              AllOf(HasSubstr("schema 3"), HasSubstr("newer tessera")));
  EXPECT_THAT(error_text([] { parse_plan_document(R"({"a": 1})"); }), HasSubstr("no plan"));
  EXPECT_THAT(error_text([] {
                parse_plan_file(R"({"kind": "tessera plan", "schema": 2, "target": "tensix",
                                                  "machine": "wormhole_n150", "body": {}})");
              }),
              HasSubstr("the plan is for wormhole_n150"));
}

}  // namespace
}  // namespace tessera
