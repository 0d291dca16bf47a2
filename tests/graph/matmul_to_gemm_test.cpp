#include "pass_testing.h"

namespace tessera {
namespace {

TEST(MatmulToGemm, TakesMatricesWithAConstantSecond) {
  PassInputs random(41);
  Graph graph;
  const ValueId x =
      graph.add_input("x", TensorType(ElementType::float32, std::vector<std::int64_t>{TensorType::kUnknown, 5}));
  const ValueId y = graph.add("m", MatMul{}, {x, graph.add_constant("w", random.floating({5, 3}))});
  graph.outputs = {graph.add("y", Binary{Binary::Kind::add}, {y, graph.add_constant("b", random.floating({3}))})};
  const Graph after = after_pass(graph, matmul_to_gemm, {random.floating({2, 5})});
  EXPECT_EQ(node_list(after), "Gemm Binary");
  EXPECT_EQ(node_list(after_pass(after, fold_batch_norm, {random.floating({2, 5})})), "Gemm") << "the bias goes in";
}

TEST(MatmulToGemm, LeavesOtherProducts) {
  PassInputs random(42);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 5}));
  const ValueId cube = graph.add_input("cube", TensorType(ElementType::float32, Shape{3, 2, 5}));
  const ValueId w = graph.add_input("w", TensorType(ElementType::float32, Shape{5, 3}));
  const ValueId c = graph.add_constant("c", random.floating({5, 3})), v = graph.add_constant("v", random.floating({5}));
  graph.outputs = {graph.add("a", MatMul{}, {x, w}), graph.add("b", MatMul{}, {cube, c}),
                   graph.add("d", MatMul{}, {x, v})};
  expect_untouched(graph, matmul_to_gemm,
                   {random.floating({2, 5}), random.floating({3, 2, 5}), random.floating({5, 3})});
}

}  // namespace
}  // namespace tessera
