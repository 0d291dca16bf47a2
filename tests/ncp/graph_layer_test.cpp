#include "given.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/ncp/graph_layer.h"
#include "tessera/ncp/random_generator.h"
#include "tessera/ncp/wiring_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace tessera::ncp {
namespace {

// Weights, states and results are rounded to float; errors hardly grow from step to step.
double allowed(std::int64_t steps) {
  return 16 * std::numeric_limits<float>::epsilon() * static_cast<double>(steps + 8);
}

Array array_of(std::span<const float> values, const Shape& shape) {
  Array out(ElementType::float32, shape);
  std::ranges::copy(values, out.as<float>().begin());
  return out;
}

void expect_near(const Array& found, const std::vector<double>& wanted, double tolerance, const std::string& what) {
  const std::vector<double> values = found.to_double();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << what << " at " << i;
}

// The layer as a graph, by the definitions of its operators, against the reference of this module.
void compare(const Layer& layer, std::int64_t batch, std::int64_t steps, bool with_times, bool with_state) {
  SCOPED_TRACE(layer_to_json(layer).substr(0, 200));
  const LayerSizes size = sizes(layer);
  const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 9));
  const Given given(layer, batch, steps);
  const auto input = wide(given.input), state = with_state ? wide(given.state) : std::vector<double>{},
             timespans = with_times ? wide(given.timespans) : std::vector<double>{};
  const auto wanted =
      run_reference<double>(layer, converted<double>(parameters), {batch, steps, input, timespans, state, {}, {}});

  const Graph graph = to_graph(layer, parameters,
                               {.batch = batch, .steps = steps, .timespans = with_times, .initial_state = with_state});
  const auto sequence = [&](std::int64_t width) {
    return size.batch_first ? Shape{batch, steps, width} : Shape{steps, batch, width};
  };
  std::vector<Array> inputs{array_of(given.input, sequence(size.inputs))};
  if (with_times) inputs.push_back(array_of(given.timespans, sequence(1)));
  if (with_state) inputs.push_back(array_of(given.state, {batch, size.state}));
  const std::vector<Array> found = evaluate(graph, inputs);
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "output");
  EXPECT_EQ(graph.value(graph.outputs[1]).name, "state");
  EXPECT_EQ(found[0].shape(), size.return_sequences ? sequence(size.outputs) : (Shape{batch, size.outputs}));
  expect_near(found[0], wanted.output, allowed(steps), "output");
  expect_near(found[1], wanted.state, allowed(steps), "state");
}

void compare(const Layer& layer, std::int64_t batch, std::int64_t steps) {
  for (const bool times : {false, true})
    for (const bool state : {false, true}) compare(layer, batch, steps, times, state);
}

Wiring random_wiring(RandomGenerator& random, int inputs) {
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random.next_u64() % static_cast<std::uint64_t>(most - least + 1));
  };
  const int outputs = pick(1, 4), units = outputs + pick(4, 12);
  const std::uint32_t seed = static_cast<std::uint32_t>(pick(1, 99));
  switch (pick(0, 2)) {
    case 0: return build_wiring(AutoNcpSpec{.units = units, .outputs = outputs, .seed = seed}, inputs);
    case 1: return build_wiring(RandomSpec{.units = units, .outputs = outputs, .sparsity = 0.6, .seed = seed}, inputs);
    default: return build_wiring(FullyConnectedSpec{.units = units, .outputs = outputs, .seed = seed}, inputs);
  }
}

TEST(GraphLayer, CfcOfEveryModeActivationAndDialect) {
  for (const CfcMode mode : {CfcMode::standard, CfcMode::pure, CfcMode::no_gate})
    for (const Dialect dialect : {Dialect::torch, Dialect::keras, Dialect::mlx, Dialect::paper})
      compare(CfcLayer{.inputs = 3, .units = 5, .mode = mode, .backbone = {7, 4}, .dialect = dialect}, 2, 3);
  for (const Activation activation :
       {Activation::lecun_tanh, Activation::silu, Activation::relu, Activation::tanh, Activation::gelu})
    compare(CfcLayer{.inputs = 1, .units = 1, .activation = activation, .backbone = {3}}, 3, 2);
}

TEST(GraphLayer, CfcWithoutBackboneWithProjectionAndOfTheLastStep) {
  compare(CfcLayer{.inputs = 2, .units = 3, .backbone = {}}, 1, 4);
  compare(CfcLayer{.inputs = 2, .units = 3, .projection = 2, .return_sequences = false}, 3, 4);
  compare(CfcLayer{.inputs = 2,
                   .units = 3,
                   .backbone = {4, 4, 4},
                   .backbone_dropout = 0.2,
                   .return_sequences = false,
                   .batch_first = false},
          3, 4);
}

TEST(GraphLayer, RandomWirings) {
  RandomGenerator random(4);
  for (int round = 0; round < 12; ++round) {
    const int inputs = 1 + static_cast<int>(random.next_u64() % 5);
    const Wiring wiring = random_wiring(random, inputs);
    const bool last = random.next_u64() % 2 == 0, batch_first = random.next_u64() % 2 == 0;
    compare(
        CfcLayer{
            .inputs = inputs, .wiring = wiring, .backbone = {}, .return_sequences = !last, .batch_first = batch_first},
        3, 2);
    compare(LtcLayer{.wiring = wiring, .return_sequences = last, .batch_first = batch_first}, 2, 3);
  }
}

TEST(GraphLayer, LtcOfEverySolverMappingAndConstraint) {
  RandomGenerator random(8);
  const Wiring wiring = random_wiring(random, 3);
  for (const OdeSolver solver : {OdeSolver::semi_implicit, OdeSolver::explicit_euler, OdeSolver::runge_kutta})
    compare(LtcLayer{.wiring = wiring, .solver = solver}, 2, 3);
  for (const Mapping mapping : {Mapping::affine, Mapping::linear, Mapping::none})
    compare(LtcLayer{.wiring = wiring,
                     .ode_unfolds = 3,
                     .implicit_constraints = false,
                     .input_mapping = mapping,
                     .output_mapping = mapping,
                     .return_sequences = false},
            2, 3);
}

TEST(GraphLayer, NodesAreTheLayersTheyCameFrom) {
  const Layer layer = CfcLayer{.inputs = 3, .units = 5, .backbone = {7}, .dialect = Dialect::paper};
  const ParameterSet<float> parameters = converted<float>(initial_parameters(layer, 2));
  const Graph graph = to_graph(layer, parameters);
  const Node& node = graph.nodes.front();
  std::vector<const Array*> operands;
  for (const ValueId id : node.inputs) operands.push_back(id == kNoValue ? nullptr : graph.value(id).constant.get());
  const LayerOfNode back = layer_of(std::get<Cfc>(node.op), 3, operands);
  EXPECT_EQ(std::get<CfcLayer>(back.layer), std::get<CfcLayer>(layer));
  for (std::size_t i = 0; i < parameters.items.size(); ++i)
    EXPECT_EQ(back.parameters.items[i].values, parameters.items[i].values) << parameters.items[i].info.name;
}

TEST(GraphLayer, ExtentsMayBeOpenAndMixedMemoryIsRefused) {
  const CfcLayer layer{.inputs = 2, .units = 3, .backbone = {}};
  const Graph graph = to_graph(layer, converted<float>(initial_parameters(layer, 1)));
  EXPECT_EQ(graph.value(graph.outputs[0]).type,
            TensorType(ElementType::float32, std::vector<std::int64_t>{TensorType::kUnknown, TensorType::kUnknown, 3}));
  CfcLayer mixed = layer;
  mixed.mixed_memory = true;
  EXPECT_THAT([&] { to_graph(mixed, converted<float>(initial_parameters(mixed, 1))); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("mixed memory")));
}

}  // namespace
}  // namespace tessera::ncp
