#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

namespace tessera {
namespace {

Array random_array(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = normal(random);
  return out;
}

// conv -> relu -> flatten -> softmax, and the relu as an output too
Graph network() {
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{1, 3, 6, 6}});
  const ValueId w = g.add_constant("w", random_array(Shape{4, 3, 3, 3}, 1));
  const ValueId conv = g.add("conv", Conv{}, {x, w});
  const ValueId relu = g.add("relu", Unary{Unary::Kind::relu}, {conv});
  const ValueId flat = g.add("flat", Flatten{}, {relu});
  g.outputs = {g.add("prob", Softmax{}, {flat}), relu};
  return g;
}

TEST(StoreNarrow, KeepsNamesAndTypesOfInputsAndOutputs) {
  Graph g = network();
  store_narrow(g, ElementType::bfloat16);
  EXPECT_EQ(g.value(g.inputs[0]).type.type, ElementType::float32);
  ASSERT_EQ(g.outputs.size(), 2u);
  EXPECT_EQ(g.value(g.outputs[0]).name, "prob");
  EXPECT_EQ(g.value(g.outputs[1]).name, "relu");
  for (const ValueId id : g.outputs) EXPECT_EQ(g.value(id).type.type, ElementType::float32);
}

TEST(StoreNarrow, ConvolutionsReadAndMakeHalfTheBytes) {
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16}) {
    Graph g = network();
    store_narrow(g, type);
    for (const Node& node : g.nodes) {
      if (!std::holds_alternative<Conv>(node.op)) continue;
      for (const ValueId id : node.inputs) EXPECT_EQ(g.value(id).type.type, type);
      EXPECT_EQ(g.value(node.outputs[0]).type.type, type);
    }
  }
  Graph g = network();
  EXPECT_THROW(store_narrow(g, ElementType::int8), Error);
}

TEST(StoreNarrow, NamesSayTheType) {
  for (const auto& [type, suffix] :
       {std::pair{ElementType::bfloat16, ":bf16"}, std::pair{ElementType::float16, ":f16"}}) {
    Graph g = network();
    store_narrow(g, type);
    int constants = 0;
    for (const Value& value : g.values)
      constants += value.constant != nullptr && value.name == std::string("w") + suffix;
    EXPECT_EQ(constants, 1) << suffix;
  }
}

TEST(StoreNarrow, ChangesResultsByItsRoundingOnly) {
  for (const auto& [type, bits] : {std::pair{ElementType::bfloat16, 8}, std::pair{ElementType::float16, 11}}) {
    const Graph before = network();
    Graph after = before;
    store_narrow(after, type);
    const std::vector<Array> inputs{random_array(Shape{1, 3, 6, 6}, 7)};
    const std::vector<Array> wanted = evaluate(before, inputs), got = evaluate(after, inputs);
    const std::vector<double> a = got[1].to_double(), b = wanted[1].to_double();
    // 27 products of numbers of about 1, each operand rounded to so many bits, and the sum once more.
    const double allowed = std::ldexp(1.0, -bits) * 3 * std::sqrt(27.0) * 2;
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    EXPECT_LE(worst, allowed);
    EXPECT_GT(worst, 0);
  }
}

}  // namespace
}  // namespace tessera
