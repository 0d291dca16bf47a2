// fuse_attention, products_of_tokens and merge_moves: what they find, and that results stay what they were.

#include "pass_testing.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace tessera {
namespace {

ValueId list(Graph& g, std::initializer_list<std::int64_t> values) {
  return g.add_constant("list" + std::to_string(g.values.size()), int64s(values));
}

ValueId number(Graph& g, float value) {
  return g.add_constant("number" + std::to_string(g.values.size()), Array::scalar<float>(value));
}

// Attention of packed tokens N T (3 heads D), in one of the ways in which networks spell it out.
struct Spelling {
  std::int64_t batch = 2, tokens = 5, heads = 3, size = 4;
  bool bias = false, mask = false, scale_scores = false, split = false;
};

Graph spelled(const Spelling& s, PassInputs& random) {
  Graph g;
  const std::int64_t channels = s.heads * s.size;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{s.batch, s.tokens, 3 * channels}});
  std::array<ValueId, 3> qkv{};
  if (s.split) {
    const auto parts = g.add_node("parts", Split{2, {channels, channels, channels}, 3}, {x}, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const ValueId cut =
          g.add("cut" + std::to_string(i), Reshape{}, {parts[i], list(g, {s.batch, s.tokens, s.heads, s.size})});
      qkv[i] = g.add("part" + std::to_string(i), Transpose{{0, 2, 1, 3}}, {cut});
    }
  } else {
    const ValueId cut = g.add("cut", Reshape{}, {x, list(g, {s.batch, s.tokens, 3, s.heads, s.size})});
    const ValueId turned = g.add("turned", Transpose{{2, 0, 3, 1, 4}}, {cut});
    for (std::size_t i = 0; i < 3; ++i)
      qkv[i] = g.add("part" + std::to_string(i), Gather{0},
                     {turned, g.add_constant("at" + std::to_string(i),
                                             Array::scalar<std::int64_t>(static_cast<std::int64_t>(i)))});
  }
  if (!s.scale_scores) qkv[0] = g.add("scaled", Binary{Binary::Kind::mul}, {qkv[0], number(g, 0.5f)});
  const ValueId keys = g.add("keys", Transpose{{0, 1, 3, 2}}, {qkv[1]});
  ValueId scores = g.add("scores", MatMul{}, {qkv[0], keys});
  if (s.scale_scores) scores = g.add("divided", Binary{Binary::Kind::div}, {scores, number(g, 2)});
  if (s.bias)
    scores = g.add("biased", Binary{Binary::Kind::add},
                   {scores, g.add_constant("bias", random.floating(Shape{1, s.heads, s.tokens, s.tokens}))});
  if (s.mask) {
    scores = g.add("windows", Reshape{}, {scores, list(g, {s.batch / 2, 2, s.heads, s.tokens, s.tokens})});
    scores = g.add("masked", Binary{Binary::Kind::add},
                   {scores, g.add_constant("mask", random.floating(Shape{1, 2, 1, s.tokens, s.tokens}, 4))});
    scores = g.add("joined", Reshape{}, {scores, list(g, {s.batch, s.heads, s.tokens, s.tokens})});
  }
  const ValueId weights = g.add("weights", Softmax{}, {scores});
  const ValueId values = g.add("values", MatMul{}, {weights, qkv[2]});
  const ValueId back = g.add("back", Transpose{{0, 2, 1, 3}}, {values});
  g.outputs = {g.add("y", Reshape{}, {back, list(g, {s.batch, s.tokens, channels})})};
  return g;
}

TEST(FuseAttention, ReadsPackedTokensWhateverTheSpelling) {
  PassInputs random(1);
  for (const Spelling& s :
       {Spelling{}, Spelling{.bias = true}, Spelling{.batch = 4, .bias = true, .mask = true},
        Spelling{.batch = 4, .mask = true}, Spelling{.scale_scores = true}, Spelling{.bias = true, .split = true},
        Spelling{.batch = 1}, Spelling{.tokens = 1}, Spelling{.heads = 1}}) {
    const Graph before = spelled(s, random);
    const std::vector<Array> inputs{random.floating(before.value(before.inputs[0]).type.shape())};
    Graph after = after_pass(before, fuse_attention, inputs);
    EXPECT_THAT(node_list(after), testing::HasSubstr("Attention"));
    EXPECT_THAT(node_list(after), testing::Not(testing::HasSubstr("MatMul")));
    run_passes(after);
    expect_same_results(before, after, inputs);
    EXPECT_EQ(node_list(after), "Attention");
    EXPECT_FLOAT_EQ(std::get<Attention>(after.nodes.at(0).op).scale, 0.5f);
    EXPECT_EQ(std::get<Attention>(after.nodes[0].op).heads, s.heads);
  }
}

TEST(FuseAttention, TakesPlainOperandsAndABiasThatIsComputed) {
  PassInputs random(2);
  Graph g;
  const ValueId q = g.add_input("q", {ElementType::float32, Shape{2, 3, 5, 4}}),
                k = g.add_input("k", {ElementType::float32, Shape{2, 3, 4, 7}}),
                v = g.add_input("v", {ElementType::float32, Shape{2, 3, 7, 6}}),
                b = g.add_input("b", {ElementType::float32, Shape{2, 3, 5, 7}});
  const ValueId scores = g.add("biased", Binary{Binary::Kind::add}, {b, g.add("scores", MatMul{}, {q, k})});
  g.outputs = {g.add("y", MatMul{}, {g.add("weights", Softmax{}, {scores}), v})};
  std::vector<Array> inputs;
  for (const ValueId id : g.inputs) inputs.push_back(random.floating(g.value(id).type.shape()));
  const Graph after = after_pass(g, fuse_attention, inputs);
  EXPECT_THAT(node_list(after), testing::HasSubstr("Attention"));
}

TEST(FuseAttention, LeavesScoresThatAreReadElsewhere) {
  PassInputs random(3);
  Graph g = spelled({}, random);
  const auto softmax = std::ranges::find_if(g.nodes, [](const Node& n) { return n.name == "weights"; });
  g.outputs.push_back(softmax->outputs[0]);
  expect_untouched(g, fuse_attention, {random.floating(g.value(g.inputs[0]).type.shape())});
}

TEST(ProductsOfTokens, GivesBiasActivationAndResidualToTheProduct) {
  PassInputs random(4);
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{2, 3, 8}});
  const ValueId w = g.add_constant("w", random.floating(Shape{8, 6})),
                b = g.add_constant("b", random.floating(Shape{6}));
  const ValueId w2 = g.add_constant("w2", random.floating(Shape{6, 8}));
  ValueId y = g.add("biased", Binary{Binary::Kind::add}, {g.add("product", MatMul{}, {x, w}), b});
  y = g.add("gelu", Unary{Unary::Kind::gelu}, {y});
  g.outputs = {g.add("sum", Binary{Binary::Kind::add}, {x, g.add("second", MatMul{}, {y, w2})})};
  const std::vector<Array> inputs{random.floating(Shape{2, 3, 8})};
  Graph after = after_pass(g, products_of_tokens, inputs);
  run_passes(after);
  expect_same_results(g, after, inputs);
  EXPECT_EQ(node_list(after), "Reshape Gemm+Unary Gemm+Binary Reshape");
}

TEST(ProductsOfTokens, MakesASumBehindATransposeBeforeIt) {
  PassInputs random(5);
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{2, 8, 3, 5}});
  const ValueId w = g.add_constant("w", random.floating(Shape{8, 8})),
                s = g.add_constant("s", random.floating(Shape{8}));
  const ValueId tokens = g.add("tokens", Transpose{{0, 2, 3, 1}}, {x});
  const ValueId scaled = g.add("scaled", Binary{Binary::Kind::mul}, {g.add("product", MatMul{}, {tokens, w}), s});
  g.outputs = {g.add("sum", Binary{Binary::Kind::add}, {x, g.add("image", Transpose{{0, 3, 1, 2}}, {scaled})})};
  Graph after = after_pass(g, products_of_tokens, {random.floating(Shape{2, 8, 3, 5})});
  infer_types(after);
  fold_batch_norm(after);
  infer_types(after);
  fuse_epilogue(after);
  EXPECT_THAT(node_list(after), testing::HasSubstr("Gemm+Binary"));
  EXPECT_THAT(node_list(after), testing::EndsWith("Transpose"));
}

TEST(ProductsOfTokens, SeesWidePatchesAsRows) {
  PassInputs random(6);
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{2, 3, 32, 48}});
  Conv conv;
  conv.window.kernel = conv.window.strides = {16, 16};
  g.outputs = {g.add(
      "y", conv,
      {x, g.add_constant("w", random.floating(Shape{5, 3, 16, 16})), g.add_constant("b", random.floating(Shape{5}))})};
  const Graph after = after_pass(g, products_of_tokens, {random.floating(Shape{2, 3, 32, 48})});
  EXPECT_EQ(node_list(after), "Reshape Transpose Reshape Gemm Reshape Transpose");
}

TEST(MergeMoves, AShiftAndWindowsAreOneGather) {
  PassInputs random(7);
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{2, 4, 6, 3}});
  const auto slice = [&](const std::string& name, ValueId from, std::int64_t begin, std::int64_t end) {
    return g.add(name, Slice{}, {from, list(g, {begin}), list(g, {end}), list(g, {1}), list(g, {1})});
  };
  const ValueId shifted = g.add("shifted", Concat{1}, {slice("last", x, -1, 100), slice("first", x, 0, -1)});
  const ValueId cut = g.add("cut", Reshape{}, {shifted, list(g, {2, 2, 2, 3, 2, 3})});
  const ValueId turned = g.add("turned", Transpose{{0, 1, 3, 2, 4, 5}}, {cut});
  g.outputs = {g.add("windows", Reshape{}, {turned, list(g, {12, 4, 3})})};
  const Graph after = after_pass(g, merge_moves, {random.floating(Shape{2, 4, 6, 3})});
  EXPECT_EQ(node_list(after), "Reshape Gather Reshape");
}

TEST(MergeMoves, RowsOfTwoValuesStayWhereTheyAre) {
  PassInputs random(8);
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{2, 4, 3}}),
                y = g.add_input("y", {ElementType::float32, Shape{2, 1, 3}});
  g.outputs = {g.add("turned", Transpose{{1, 0, 2}}, {g.add("both", Concat{1}, {x, y})})};
  expect_untouched(g, merge_moves, {random.floating(Shape{2, 4, 3}), random.floating(Shape{2, 1, 3})});
}

}  // namespace
}  // namespace tessera
