#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kUnknown = TensorType::kUnknown;

// A sequence, and at random times and a first state; some extents are known only at run time.
class Cell {
 public:
  explicit Cell(unsigned seed) : random_(seed) {
    batch_first_ = pick(2) == 0;
    const bool open = pick(2) == 0;
    x_ = input("x", sequence(inputs_), open ? std::vector{kUnknown, kUnknown, inputs_} : sequence(inputs_), -2, 2);
    switch (pick(4)) {
      case 0: break;
      case 1: times_ = input("times", {1}, {1}, 0.1F, 3); break;
      case 2:
        times_ =
            input("times", sequence(1), open ? std::vector{kUnknown, kUnknown, std::int64_t{1}} : sequence(1), 0, 3);
        break;
      default: times_ = input("times", sequence(units_), sequence(units_), 0, 3);
    }
    if (pick(2) == 0) state_ = input("state", {batch_, units_}, {batch_, units_}, -1, 1);
  }

  Graph cfc() {
    const Cfc op{.mode = std::vector{Cfc::Mode::gated, Cfc::Mode::no_gate, Cfc::Mode::pure}[pick(3)],
                 .activation = static_cast<Cfc::Activation>(pick(5)),
                 .head = static_cast<Cfc::Head>(pick(3)),
                 .batch_first = batch_first_};
    std::int64_t width = inputs_ + units_;
    std::vector<ValueId> backbone;
    for (std::size_t layer = pick(3); layer > 0; --layer) {
      const auto to = static_cast<std::int64_t>(2 + pick(6));
      backbone.push_back(constant({to, width}, -0.6F, 0.6F));
      backbone.push_back(constant({to}, -0.5F, 0.5F));
      width = to;
    }
    std::vector<ValueId> operands = {x_, times_, state_, constant({op.heads() * units_, width}, -0.8F, 0.8F),
                                     constant({op.heads() * units_}, -0.5F, 0.5F)};
    operands.push_back(op.mode == Cfc::Mode::pure ? constant({2, units_}, -1, 1) : kNoValue);
    operands.insert(operands.end(), backbone.begin(), backbone.end());
    return finished(op, operands);
  }

  Graph ltc() {
    const Ltc op{.solver = static_cast<Ltc::Solver>(pick(3)),
                 .unfolds = static_cast<int>(1 + pick(6)),
                 .batch_first = batch_first_};
    const ValueId sensory = constant({4, inputs_, units_}, 0.1F, 1), recurrent = constant({4, units_, units_}, -1, 1);
    // Some synapses are none: their weight is 0. Weights and capacitances are positive.
    for (const ValueId id : {sensory, recurrent}) {
      Array weights = *graph_.value(id).constant;
      const std::size_t each = static_cast<std::size_t>(weights.count()) / 4;
      for (std::size_t i = 0; i < each; ++i)
        weights.as<float>()[i] = pick(3) == 0 ? 0 : std::abs(weights.as<float>()[i]);
      graph_.value(id).constant = std::make_shared<const Array>(std::move(weights));
    }
    return finished(op, {x_, times_, state_, constant({3, units_}, 0.4F, 1), sensory, recurrent});
  }

  const std::vector<Array>& inputs() const { return given_; }

 private:
  std::size_t pick(int most) { return random_() % static_cast<unsigned>(most); }
  std::vector<std::int64_t> sequence(std::int64_t width) const {
    return batch_first_ ? std::vector{batch_, steps_, width} : std::vector{steps_, batch_, width};
  }
  Array numbers(std::vector<std::int64_t> dims, float low, float high) {
    Array out(ElementType::float32, Shape(std::move(dims)));
    std::uniform_real_distribution<float> uniform(low, high);
    for (float& value : out.as<float>()) value = uniform(random_);
    return out;
  }
  ValueId input(const char* name, std::vector<std::int64_t> dims, std::vector<std::int64_t> told, float low,
                float high) {
    given_.push_back(numbers(std::move(dims), low, high));
    return graph_.add_input(name, TensorType(ElementType::float32, std::move(told)));
  }
  ValueId constant(std::vector<std::int64_t> dims, float low, float high) {
    return graph_.add_constant("w" + std::to_string(constants_++), numbers(std::move(dims), low, high));
  }
  template <class Op>
  Graph finished(const Op& op, std::vector<ValueId> operands) {
    graph_.outputs = graph_.add_node("cell", op, std::move(operands), 2);
    return std::move(graph_);
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<Array> given_;
  std::int64_t batch_ = 3, steps_ = 4, inputs_ = 5, units_ = 6;
  bool batch_first_ = true;
  ValueId x_ = kNoValue, times_ = kNoValue, state_ = kNoValue;
  int constants_ = 0;
};

void expect_the_same(Graph graph, const std::vector<Array>& inputs, const std::string& what) {
  const std::vector<Array> expected = evaluate(graph, inputs);
  ASSERT_TRUE(expand_liquid_cells(graph)) << what;
  verify(graph);
  for (const Node& node : graph.nodes)
    EXPECT_FALSE(std::holds_alternative<Cfc>(node.op) || std::holds_alternative<Ltc>(node.op));
  const std::vector<Array> found = evaluate(graph, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t o = 0; o < found.size(); ++o) {
    ASSERT_EQ(found[o].shape(), expected[o].shape()) << what;
    const auto a = found[o].as<float>(), b = expected[o].as<float>();
    float largest = 1;
    for (const float value : b) largest = std::max(largest, std::abs(value));
    // The definition computes in double. Here each of 4 steps of up to 24 stages rounds sums of 11 to float, and what
    // a step is off enters the next.
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], largest * 4 * 24 * 11 * 0x1p-24F) << what;
  }
}

TEST(ExpandLiquidCells, RandomCfcCellsComputeTheSame) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Cell cell(seed);
    Graph graph = cell.cfc();
    expect_the_same(std::move(graph), cell.inputs(), "seed " + std::to_string(seed));
  }
}

TEST(ExpandLiquidCells, RandomLtcCellsComputeTheSame) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Cell cell(1000 + seed);
    Graph graph = cell.ltc();
    expect_the_same(std::move(graph), cell.inputs(), "seed " + std::to_string(seed));
  }
}

TEST(ExpandLiquidCells, CellsWhoseWeightsAreInputsStay) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 2, 3}));
  const ValueId heads = graph.add_input("heads", TensorType(ElementType::float32, Shape{8, 5}));
  const ValueId biases = graph.add_input("biases", TensorType(ElementType::float32, Shape{8}));
  graph.outputs = {graph.add("cfc", Cfc{}, {x, kNoValue, kNoValue, heads, biases})};
  EXPECT_FALSE(expand_liquid_cells(graph));
  EXPECT_TRUE(std::holds_alternative<Cfc>(graph.nodes[0].op));
}

}  // namespace
}  // namespace tessera
