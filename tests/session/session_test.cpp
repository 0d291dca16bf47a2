#include "tessera/session/session.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/profile.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/ops/control_flow_run.h"
#include "tessera/graph/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string_view>
#include <thread>

namespace tessera {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kUnknown = TensorType::kUnknown;

TensorType f32(std::vector<std::int64_t> dims) { return {ElementType::float32, std::move(dims)}; }

Array random_array(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = normal(random);
  return out;
}

// The distance between two outputs, as a part of the largest number in the wanted one.
double distance(const Array& got, const Array& wanted) {
  EXPECT_EQ(got.type(), wanted.type());
  EXPECT_EQ(got.shape(), wanted.shape());
  if (got.shape() != wanted.shape()) return INFINITY;
  const std::vector<double> a = got.to_double(), b = wanted.to_double();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

void expect_same(const Session& session, const Graph& graph, const std::vector<Array>& inputs, double allowed = 1e-5) {
  const std::vector<Array> got = session.run(inputs), wanted = evaluate(graph, inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(distance(got[i], wanted[i]), allowed) << "output " << i;
}

// x [?, 3, ?, ?] -> conv -> relu -> global average -> flatten
Graph small_net() {
  Graph g;
  const ValueId x = g.add_input("x", f32({kUnknown, 3, kUnknown, kUnknown}));
  const ValueId w = g.add_constant("w", random_array(Shape{8, 3, 3, 3}, 1));
  ValueId y = g.add("conv", Conv{.window = {.pads = {1, 1, 1, 1}}}, {x, w});
  y = g.add("relu", Unary{Unary::Kind::relu}, {y});
  y = g.add("pool", GlobalPool{}, {y});
  g.outputs = {g.add("y", Flatten{}, {y})};
  return g;
}

TEST(Session, RunsInputsOfAnyShapeWithAPlanForEach) {
  const Graph graph = small_net();
  const Session session(graph);
  for (const Shape& shape : {Shape{1, 3, 8, 8}, Shape{2, 3, 5, 9}, Shape{1, 3, 8, 8}})
    expect_same(session, graph, {random_array(shape, 2)});
  EXPECT_EQ(session.plans_made(), 2u);
}

TEST(Session, KeepsABoundedNumberOfPlans) {
  SessionOptions options;
  options.max_plans = 2;
  const Session session(small_net(), options);
  const auto run = [&](std::int64_t height) { session.run({random_array(Shape{1, 3, height, 4}, 2)}); };
  run(4), run(5), run(4), run(6);
  EXPECT_EQ(session.plans_made(), 3u);
  run(4);  // used after 5 was: still there
  EXPECT_EQ(session.plans_made(), 3u);
  run(5);
  EXPECT_EQ(session.plans_made(), 4u);
}

TEST(Session, SaysWhatIsWrongWithAnInput) {
  const Session session(small_net());
  const auto refusal = [&](const std::map<std::string, Array>& inputs) -> std::string {
    try {
      session.run(inputs);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal({}), HasSubstr("input 'x' (float32[?, 3, ?, ?]) is missing"));
  EXPECT_THAT(refusal({{"x", random_array(Shape{1, 4, 8, 8}, 1)}}),
              HasSubstr("input 'x' must be float32[?, 3, ?, ?], not [1, 4, 8, 8] float32"));
  EXPECT_THAT(refusal({{"x", random_array(Shape{1, 3, 8, 8}, 1)}, {"z", random_array(Shape{1}, 1)}}),
              HasSubstr("no input 'z', only x"));
}

TEST(Session, MayBeUsedFromSeveralThreads) {
  const Graph graph = small_net();
  const Session session(graph);
  std::vector<std::thread> threads;
  std::vector<double> worst(4);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const std::vector<Array> inputs{random_array(Shape{1, 3, 6 + i % 3, 7}, t * 100 + static_cast<unsigned>(i))};
        worst[t] = std::max(worst[t], distance(session.run(inputs)[0], evaluate(graph, inputs)[0]));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const double w : worst) EXPECT_LE(w, 1e-5);
}

TEST(Session, RunsWhatDependsOnValuesInStages) {
  // The positive numbers of x * 2, then more arithmetic on however many there are.
  Graph g;
  const ValueId x = g.add_input("x", f32({10}));
  const ValueId two = g.add_constant("two", Array::of<float>(Shape{1}, std::vector<float>{2}));
  const ValueId zero = g.add_constant("zero", Array::of<float>(Shape{1}, std::vector<float>{0}));
  const ValueId doubled = g.add("doubled", Binary{Binary::Kind::mul}, {x, two});
  const ValueId positive = g.add("positive", Binary{Binary::Kind::greater}, {doubled, zero});
  const ValueId where = g.add("where", NonZero{}, {positive});
  const ValueId rows = g.add("rows", Transpose{}, {where});
  const ValueId picked = g.add("picked", GatherND{}, {doubled, rows});
  g.outputs = {g.add("y", Unary{Unary::Kind::sqrt}, {picked}), doubled, x, two};
  const Session session(g);
  for (unsigned seed = 0; seed < 4; ++seed) {
    const std::vector<Array> inputs{random_array(Shape{10}, seed)};
    const std::vector<Array> got = session.run(inputs), wanted = evaluate(g, inputs);
    ASSERT_EQ(got.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(distance(got[i], wanted[i]), 1e-6);
  }
}

std::shared_ptr<const Graph> branch(const std::string& name, Unary::Kind kind) {
  auto g = std::make_shared<Graph>();
  g->name = name;
  const ValueId x = g->add_input("x", {ElementType::float32, std::nullopt});
  g->outputs = {g->add("y", Unary{kind}, {x})};
  return g;
}

TEST(Session, TakesTheBranchThatTheInputAsksFor) {
  Graph g;
  const ValueId flag = g.add_input("flag", {ElementType::boolean, std::vector<std::int64_t>{}});
  const ValueId x = g.add_input("x", f32({kUnknown}));
  const If op{branch("then", Unary::Kind::neg), branch("else", Unary::Kind::exp), 1};
  g.outputs = {g.add("y", op, {flag, x})};
  const Session session(g);
  for (const bool taken : {true, false, true}) {
    const std::vector<Array> inputs{Array::scalar<bool>(taken), random_array(Shape{5}, 3)};
    EXPECT_LE(distance(session.run(inputs)[0], evaluate(g, inputs)[0]), 1e-6);
  }
}

TEST(Session, TakesABranchThatOnlyTheRunDecides) {
  Graph g;
  const ValueId x = g.add_input("x", f32({kUnknown}));
  const ValueId zero = g.add_constant("zero", Array::scalar<float>(0));
  const ValueId sum = g.add("sum", Reduce{.axes = {}, .keep_dims = false}, {x});
  const ValueId positive = g.add("positive", Binary{Binary::Kind::greater}, {sum, zero});
  const If op{branch("then", Unary::Kind::neg), branch("else", Unary::Kind::exp), 1};
  const ValueId y = g.add("y", op, {positive, x});
  g.outputs = {g.add("z", Unary{Unary::Kind::abs}, {y})};
  const Session session(g);
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::vector<Array> inputs{random_array(Shape{5}, seed)};
    EXPECT_LE(distance(session.run(inputs)[0], evaluate(g, inputs)[0]), 1e-6);
  }
}

TEST(Session, RunsLoopsWithWhateverTheBodyMakes) {
  // Six times: y = relu(y * w), and each y is collected.
  auto body = std::make_shared<Graph>();
  body->add_input("i", {ElementType::int64, Shape{}});
  const ValueId go = body->add_input("go", {ElementType::boolean, Shape{}});
  const ValueId y = body->add_input("y", {ElementType::float32, std::nullopt});
  const ValueId w = body->add_input("w", {ElementType::float32, std::nullopt});
  const ValueId product = body->add("product", MatMul{}, {y, w});
  const ValueId next = body->add("next", Unary{Unary::Kind::relu}, {product});
  body->outputs = {go, next, next};
  Graph g;
  const ValueId trips = g.add_input("trips", {ElementType::int64, Shape{}});
  const ValueId x = g.add_input("x", f32({kUnknown, 8}));
  const ValueId weights = g.add_constant("weights", random_array(Shape{8, 8}, 9));
  Loop loop;
  loop.body = body;
  loop.carried = 1;
  loop.captures = 1;
  const std::vector<ValueId> out = g.add_node("loop", loop, {trips, kNoValue, x, weights}, 2);
  g.outputs = {g.add("last", Unary{Unary::Kind::neg}, {out[0]}), out[1]};
  const Session session(g);
  for (const std::int64_t n : {6, 0, 2}) {
    const std::vector<Array> inputs{Array::scalar<std::int64_t>(n), random_array(Shape{3, 8}, 4)};
    const std::vector<Array> got = session.run(inputs), wanted = evaluate(g, inputs);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_LE(distance(got[i], wanted[i]), 1e-5) << n << " iterations, output " << i;
  }
}

TEST(Session, RunsANetworkOfTheZooAsItIsDefinedOnEveryInstructionSet) {
  const Graph graph = make_zoo_model("mobilenet_v2");
  const std::vector<Array> inputs{random_array(Shape{1, 3, 224, 224}, 1)};
  const Array wanted = evaluate(graph, inputs)[0];
  for (const Isa isa : usable_isas()) {
    SessionOptions options;
    options.isa = isa;
    // Sums of up to 1280 products of numbers about 1, through 53 layers.
    EXPECT_LE(distance(Session(graph, options).run(inputs)[0], wanted), 53 * 1280 * std::ldexp(1.0, -24)) << name(isa);
  }
}

// Kernels are chosen and sums made in the same way for any number of them.
TEST(Session, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const char* network : {"resnet18", "mobilenet_v2"}) {
    const Graph graph = make_zoo_model(network);
    const Array x = random_array(graph.value(graph.inputs[0]).type.shape(), 5);
    std::vector<Array> alone;
    for (const int threads : {1, 2, 3}) {
      Session session(graph, {.threads = threads});
      const std::vector<Array> results = session.run({x});
      if (alone.empty()) alone = results;
      EXPECT_TRUE(std::ranges::equal(results[0].bytes(), alone[0].bytes())) << network << " on " << threads;
    }
  }
}

std::int64_t parts_of(const Session& session, const std::vector<Array>& inputs) {
  std::int64_t parts = 0;
  for (const auto& plan : session.plans(inputs))
    parts += std::ranges::count_if(plan->buffers, [](const PlanBuffer& buffer) { return buffer.part_of >= 0; });
  return parts;
}

// The kernels of a session's plans, for another session.
std::map<std::string, std::string> kernels_of(const Session& session, const std::vector<Array>& inputs) {
  std::map<std::string, std::string> kernels;
  for (const auto& plan : session.plans(inputs))
    for (const Step& step : plan->steps)
      if (step.kernel != nullptr)
        kernels[plan->graph.nodes[static_cast<std::size_t>(step.node)].name] = step.kernel->name;
  return kernels;
}

TEST(Session, MakesPartsOfAConcatInPlaceAndGivesTheSameBits) {
  for (const char* network : {"yolo_like", "unet", "shallow_unet", "efficientnet_like"})
    for (const ElementType storage : {ElementType::float32, ElementType::bfloat16}) {
      const Graph graph = make_zoo_model(network);
      const std::vector<Array> inputs{random_array(graph.value(graph.inputs[0]).type.shape(), 5)};
      const Session alone(graph, {.threads = 1, .storage = storage});
      const std::map<std::string, std::string> kernels = kernels_of(alone, inputs);
      const Session copying(graph, {.storage = storage, .passes_off = {"place_parts"}, .kernels = kernels});
      EXPECT_EQ(parts_of(copying, inputs), 0);
      const std::vector<Array> wanted = copying.run(inputs);
      const Session both(graph, {.threads = 2, .storage = storage});
      for (const Session* session : {&alone, &both}) {
        const std::vector<Array> results = session->run(inputs);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          EXPECT_TRUE(std::ranges::equal(results[i].bytes(), wanted[i].bytes()))
              << network << " on " << session->threads() << " threads";
      }
      if (std::string_view(network) != "efficientnet_like") {
        EXPECT_GE(parts_of(both, inputs), 4) << network;
      }
    }
}

TEST(Session, PreparingTellsWhatThePlansNeed) {
  const Graph graph = make_zoo_model("shallow_unet");
  const std::vector<Array> inputs{random_array(graph.value(graph.inputs[0]).type.shape(), 5)};
  const Session session(graph);
  const PlanSummary summary = session.prepare(inputs);
  const auto plans = session.plans(inputs);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(summary.stages, 1u);
  EXPECT_EQ(summary.steps, plans[0]->steps.size());
  EXPECT_EQ(summary.arena_bytes, plans[0]->arena_bytes);
  EXPECT_EQ(summary.arena_lower_bound_bytes, plans[0]->arena_lower_bound_bytes);
  EXPECT_GE(summary.arena_bytes, summary.arena_lower_bound_bytes);
  EXPECT_GT(summary.arena_lower_bound_bytes, 0);
  EXPECT_GT(summary.weight_bytes, 0);
}

TEST(Session, ShowsEveryValueWhetherItLiesInAnotherOrNot) {
  const Graph graph = make_zoo_model("shallow_unet");
  const std::vector<Array> inputs{random_array(graph.value(graph.inputs[0]).type.shape(), 5)};
  const Session session(graph);
  std::map<std::string, Array> alone;
  Session(graph, {.passes_off = {"place_parts"}, .kernels = kernels_of(session, inputs)})
      .observe(inputs, [&](const std::string& name, const Array& array) { alone.insert_or_assign(name, array); });
  std::size_t seen = 0;
  session.observe(inputs, [&](const std::string& name, const Array& array) {
    ++seen;
    EXPECT_TRUE(array == alone.at(name)) << name;
  });
  EXPECT_EQ(seen, alone.size());
}

// A step that only looks at an input in another way makes nothing of its own.
TEST(Session, ShowsViewsOfInputs) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4}));
  graph.outputs = {graph.add("flat", Flatten{1}, {x})};
  const Array input = random_array(Shape{2, 3, 4}, 3);
  int seen = 0;
  Session(graph).observe({input}, [&](const std::string& name, const Array& array) {
    ++seen;
    EXPECT_EQ(name, "flat");
    EXPECT_TRUE(array == input.reshaped(Shape{2, 12}));
  });
  EXPECT_EQ(seen, 1);
}

TEST(Session, StoresValuesInHalfTheBytesOnRequest) {
  const Graph graph = make_zoo_model("mobilenet_v2");
  const std::vector<Array> inputs{random_array(Shape{1, 3, 224, 224}, 1)};
  SessionOptions options;
  options.storage = ElementType::bfloat16;
  const Session full(graph), half(graph, options);
  const double d = distance(half.run(inputs)[0], full.run(inputs)[0]);
  EXPECT_GT(d, std::ldexp(1.0, -16));  // it is not float32 all through
  EXPECT_LT(d, 53 * std::ldexp(1.0, -8));
  for (const auto& plan : half.plans(inputs))
    for (const PlanBuffer& buffer : plan->buffers)
      if (buffer.place == PlanBuffer::Place::arena && buffer.value != kNoValue) {
        const Value& value = plan->graph.value(buffer.value);
        if (value.name != "x" && value.name != "classifier") {  // the network's own input and output
          EXPECT_EQ(value.type.type, ElementType::bfloat16) << value.name;
        }
      }
  for (const auto& plan : half.plans(inputs))
    for (const Step& step : plan->steps) EXPECT_TRUE(step.kernel == nullptr || step.kernel->name != "reference");
}

TEST(Session, ProfilesEveryStepOfARun) {
  const Session session(small_net());
  const SessionProfile profile = session.profile({random_array(Shape{1, 3, 8, 8}, 2)}, 3, 1);
  ASSERT_GE(profile.steps.size(), 2u);
  double sum = 0;
  for (const ProfiledStep& step : profile.steps) sum += step.seconds;
  EXPECT_GT(sum, 0);
  EXPECT_LE(profile.min_seconds, profile.seconds);
}

// While nobody stops it: carries a list, which may double, and collects it.
Graph looping_net(bool collects, bool doubles) {
  auto body = std::make_shared<Graph>();
  body->add_input("i", {ElementType::int64, Shape{}});
  const ValueId condition = body->add_input("c", {ElementType::boolean, Shape{}});
  const ValueId in = body->add_input("in", f32({kUnknown}));
  const ValueId out = doubles ? body->add("out", Concat{0}, {in, in}) : body->add("out", Unary{Unary::Kind::neg}, {in});
  body->outputs = {body->add("go", Unary{Unary::Kind::identity}, {condition}), out};
  if (collects) body->outputs.push_back(body->add("slice", Unary{Unary::Kind::abs}, {out}));
  Graph graph;
  const ValueId trips = graph.add_input("trips", {ElementType::int64, Shape{}});
  const ValueId x = graph.add_input("x", f32({kUnknown}));
  graph.outputs = graph.add_node("loop", Loop{body, 1, 0}, {trips, kNoValue, x}, collects ? 2 : 1);
  return graph;
}

std::string error_of_loop(const Graph& graph, const SessionOptions& options, std::int64_t trips) {
  try {
    Session(graph, options).run(std::vector<Array>{Array::scalar(trips), random_array(Shape{1000}, 1)});
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Session, AMemoryLimitHoldsInLoops) {
  SessionOptions options;
  options.memory_limit_bytes = 1 << 20;
  for (const bool collects : {true, false}) {
    const Graph graph = looping_net(collects, !collects);
    EXPECT_EQ(error_of_loop(graph, options, 5), "") << collects;
    EXPECT_THAT(error_of_loop(graph, options, 300), HasSubstr("the limit is 1048576 B")) << collects;
  }
  EXPECT_EQ(error_of_loop(looping_net(true, false), {}, 300), "");
}

TEST(Session, LoopsEndAtTheirLimit) {
  SessionOptions options;
  options.loop_limit = 50;
  EXPECT_EQ(error_of_loop(looping_net(false, false), options, 50), "");
  EXPECT_THAT(error_of_loop(looping_net(false, false), options, 51), HasSubstr("Loop: more than 50 iterations"));
  EXPECT_EQ(error_of_loop(looping_net(false, false), {}, 51), "");
}

TEST(Session, LoopsCanBeInterrupted) {
  int calls = 0;
  on_loop_iteration() = [&] {
    if (++calls == 10) throw std::runtime_error("stop");
  };
  EXPECT_THROW(error_of_loop(looping_net(false, false), {}, 1'000'000'000), std::runtime_error);
  on_loop_iteration() = {};
  EXPECT_EQ(calls, 10);
}

TEST(Session, AMemoryLimitIsAPlanningConstraint) {
  SessionOptions options;
  options.memory_limit_bytes = 64;
  const Session session(small_net(), options);
  try {
    session.run({random_array(Shape{1, 3, 8, 8}, 2)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_THAT(error.what(), HasSubstr("the limit is 64"));
  }
}

}  // namespace
}  // namespace tessera
