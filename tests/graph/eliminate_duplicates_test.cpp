#include "pass_testing.h"

namespace tessera {
namespace {

using Kind = Unary::Kind;

TEST(EliminateDuplicates, ComputesOnceWhatIsTheSame) {
  PassInputs random(51);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 3}));
  const auto half = [&](const char* name, ValueId of) {
    return graph.add(name, Binary{Binary::Kind::mul},
                     {graph.add("t", Unary{Kind::tanh}, {of}), graph.add_constant("c", Array::scalar(0.5f))});
  };
  const ValueId a = half("a", x), b = half("b", x);
  graph.outputs = {graph.add("y", Binary{Binary::Kind::add}, {a, b})};
  EXPECT_EQ(node_list(after_pass(graph, eliminate_duplicates, {random.floating({2, 3})})), "Unary Binary Binary");
}

TEST(EliminateDuplicates, KeepsNamesOfOutputs) {
  PassInputs random(52);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 3}));
  const ValueId a = graph.add("a", Unary{Kind::tanh}, {x}), b = graph.add("b", Unary{Kind::tanh}, {x});
  graph.outputs = {b, graph.add("c", Unary{Kind::neg}, {a})};
  EXPECT_EQ(node_list(after_pass(graph, eliminate_duplicates, {random.floating({2, 3})})), "Unary Unary");
  graph.outputs = {a, b};
  graph.nodes.pop_back();
  expect_untouched(graph, eliminate_duplicates, {random.floating({2, 3})});
}

TEST(EliminateDuplicates, TellsAttributesOperandsAndWhatIsFusedApart) {
  PassInputs random(53);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 2}));
  const ValueId w = graph.add_input("w", TensorType(ElementType::float32, Shape{2, 2}));
  const ValueId a = graph.add("a", MatMul{}, {x, w}), b = graph.add("b", MatMul{}, {w, x}),
                c = graph.add("c", MatMul{}, {x, w});
  graph.nodes.back().fused.push_back({Unary{Kind::relu}, {FusedOp::kChained}});
  const ValueId d = graph.add("d", Unary{Kind::elu, 1, 0}, {x}), e = graph.add("e", Unary{Kind::elu, 2, 0}, {x});
  graph.outputs = {graph.add("y", Concat{0}, {a, b, c, d, e})};
  expect_untouched(graph, eliminate_duplicates, {random.floating({2, 2}), random.floating({2, 2})});
}

TEST(EliminateDuplicates, DoesNotHandOverOutputsThatWereNotAskedFor) {
  PassInputs random(54);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 3}));
  const Split split{.axis = 0, .sizes = {1, 1}, .outputs = 2};
  const auto first = graph.add_node("s", split, {x}, 2), second = graph.add_node("t", split, {x}, 2);
  graph.nodes[0].outputs[1] = kNoValue;
  graph.outputs = {graph.add("y", Concat{0}, {first[0], second[1]})};
  expect_untouched(graph, eliminate_duplicates, {random.floating({2, 3})});
}

// Both keep the half that goes out by two names; the other half is handed over, and then there is nothing more to do.
TEST(EliminateDuplicates, EndsWhereTwoNodesStayForTheirNames) {
  PassInputs random(55);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 3}));
  const Split split{.axis = 0, .sizes = {1, 1}, .outputs = 2};
  const auto first = graph.add_node("s", split, {x}, 2), second = graph.add_node("t", split, {x}, 2);
  graph.outputs = {first[1], second[1], graph.add("y", Concat{0}, {first[0], second[0]})};
  const Graph after = after_pass(graph, eliminate_duplicates, {random.floating({2, 3})});
  EXPECT_EQ(node_list(after), "Split Split Concat");
  EXPECT_EQ(after.nodes[2].inputs, (std::vector<ValueId>{first[0], first[0]}));
}

}  // namespace
}  // namespace tessera
