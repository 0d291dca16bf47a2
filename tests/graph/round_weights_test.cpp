#include "tessera/core/error.h"
#include "tessera/core/tile_codec.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of very different sizes, so that shared exponents hurt.
Array random_array(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = std::ldexp(normal(random), static_cast<int>(random() % 12));
  return out;
}

// What a matrix comes back as from the tiles of a card.
std::vector<float> through_tiles(const std::vector<float>& x, Extent2d extent, DType dtype) {
  std::vector<std::byte> tiles(static_cast<std::size_t>(tiled_bytes(extent, dtype, {})));
  pack_tiles(x.data(), extent, dtype, {}, Rounding::host, tiles.data());
  std::vector<float> y(x.size());
  unpack_tiles(tiles.data(), extent, dtype, {}, y.data());
  return y;
}

const Array& weights_of(const Graph& graph) { return *graph.value(graph.nodes.at(0).inputs.at(1)).constant; }

Graph one_node(Op op, const Shape& x, Array weights) {
  Graph g;
  const ValueId in = g.add_input("x", {ElementType::float32, x});
  const ValueId w = g.add_constant("w", std::move(weights));
  g.outputs = {g.add("y", std::move(op), {in, w})};
  return g;
}

TEST(RoundWeights, GivesWhatTilesOfTheWeightMatrixHold) {
  for (const DType dtype : {DType::bfloat8_b, DType::bfloat4_b, DType::bfloat16})
    for (const std::int64_t groups : {1, 2}) {
      SCOPED_TRACE(testing::Message() << name(dtype) << ", " << groups << " groups");
      const std::int64_t oc = 42, ic = 6, taps = 6, each = oc / groups, rows = ic / groups * taps;
      Conv conv;
      conv.groups = groups;
      const Array before = random_array(Shape{oc, ic / groups, 3, 2}, 3);
      Graph g = one_node(conv, Shape{1, ic, 7, 7}, before);
      round_weights(g, dtype);
      for (std::int64_t group = 0; group < groups; ++group) {
        // The matrix that TTNN tilizes: a row for each input channel and tap, a column for each output channel.
        std::vector<float> matrix(static_cast<std::size_t>(rows * each));
        const auto at = [&](const Array& w, std::int64_t row, std::int64_t column) {
          return w.as<float>()[static_cast<std::size_t>((group * each + column) * rows + row)];
        };
        for (std::int64_t i = 0; i < rows * each; ++i)
          matrix[static_cast<std::size_t>(i)] = at(before, i / each, i % each);
        const std::vector<float> wanted = through_tiles(matrix, {rows, each}, dtype);
        for (std::int64_t i = 0; i < rows * each; ++i)
          ASSERT_EQ(at(weights_of(g), i / each, i % each), wanted[static_cast<std::size_t>(i)]) << i;
      }
    }
}

TEST(RoundWeights, TakesProductsEitherWayRound) {
  const std::int64_t k = 20, n = 37;
  const Array kn = random_array(Shape{k, n}, 5);
  Array nk(ElementType::float32, Shape{n, k});
  for (std::int64_t i = 0; i < k * n; ++i)
    nk.as<float>()[static_cast<std::size_t>(i % n * k + i / n)] = kn.as<float>()[static_cast<std::size_t>(i)];
  const std::vector<float> flat(kn.as<float>().begin(), kn.as<float>().end());
  const std::vector<float> wanted = through_tiles(flat, {k, n}, DType::bfloat8_b);
  Graph product = one_node(MatMul{}, Shape{3, k}, kn), gemm = one_node(Gemm{}, Shape{3, k}, kn);
  Gemm turned;
  turned.transpose_b = true;
  Graph transposed = one_node(turned, Shape{3, k}, nk);
  for (Graph* g : {&product, &gemm, &transposed}) round_weights(*g, DType::bfloat8_b);
  for (std::int64_t i = 0; i < k * n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(weights_of(product).as<float>()[at], wanted[at]);
    ASSERT_EQ(weights_of(gemm).as<float>()[at], wanted[at]);
    ASSERT_EQ(weights_of(transposed).as<float>()[static_cast<std::size_t>(i % n * k + i / n)], wanted[at]);
  }
}

TEST(RoundWeights, ASecondTimeChangesNothing) {
  for (const DType dtype : {DType::bfloat8_b, DType::bfloat4_b, DType::bfloat16}) {
    Graph once = one_node(Conv{}, Shape{1, 5, 7, 7}, random_array(Shape{50, 5, 3, 3}, 8));
    round_weights(once, dtype);
    Graph twice = once;
    round_weights(twice, dtype);
    EXPECT_EQ(weights_of(once), weights_of(twice));
  }
}

TEST(RoundWeights, LeavesDepthwiseWeightsBiasesAndOtherOperatorsAlone) {
  Conv depthwise;
  depthwise.groups = 8;
  const Array w = random_array(Shape{8, 1, 3, 3}, 1);
  Graph g = one_node(depthwise, Shape{1, 8, 9, 9}, w);
  round_weights(g, DType::bfloat4_b);
  EXPECT_EQ(weights_of(g), w);
  const Array addend = random_array(Shape{1, 8, 9, 9}, 2);
  Graph sum = one_node(Binary{Binary::Kind::add}, Shape{1, 8, 9, 9}, addend);
  round_weights(sum, DType::bfloat4_b);
  EXPECT_EQ(weights_of(sum), addend);
}

TEST(RoundWeights, InfinitiesStayAndPushTheirNeighboursToZero) {
  Array w = random_array(Shape{16, 1, 1, 1}, 4);
  w.as<float>()[3] = -kInfinity;
  Graph g = one_node(Conv{}, Shape{1, 1, 2, 2}, w);
  round_weights(g, DType::bfloat8_b);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(weights_of(g).as<float>()[i], i == 3 ? -kInfinity : 0.0f);
}

TEST(RoundWeights, RefusesTypesThatWeightsAreNotKeptIn) {
  Graph g = one_node(Conv{}, Shape{1, 1, 2, 2}, random_array(Shape{1, 1, 1, 1}, 4));
  EXPECT_THROW(round_weights(g, DType::uint8), Error);
}

}  // namespace
}  // namespace tessera
