#include "tessera/targets/tensix/network/graph_values.h"

#include "tests/targets/tensix/small_network.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::tensix {
namespace {

double relative_error(const Array& found, const Array& expected) {
  const auto a = found.as<float>(), b = expected.as<float>();
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    apart += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(apart / size);
}

double error_of(const SmallNetwork& network, const GraphPrecision& precision) {
  const Array wanted = evaluate(network.graph, network.inputs)[0];
  return relative_error(graph_values(network.graph, network.inputs, precision)[0], wanted);
}

GraphPrecision precision(DType weights, DType activations, MathFidelity fidelity, bool float32) {
  GraphPrecision out{weights, activations, {}};
  out.compute = {.fidelity = fidelity, .fp32_dest_acc_en = float32, .packer_l1_acc = true};
  return out;
}

TEST(GraphValues, LessPrecisionMakesMoreErrors) {
  SmallNetwork network = small_network();
  run_passes(network.graph);
  const auto error = [&](DType w, DType a, MathFidelity f, bool float32) {
    return error_of(network, precision(w, a, f, float32));
  };
  constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16, kBfp8 = DType::bfloat8_b, kBfp4 = DType::bfloat4_b;
  // 5 layers deep; each cuts weights to 9 stored bits and activations to 10, and all cuts go the same way. (That is why
  // bfloat16, which is rounded, comes close.)
  EXPECT_LT(error(kF32, kF32, MathFidelity::hifi4, true), 5 * (0x1p-9 + 0x1p-10));
  EXPECT_LT(error(kBf16, kBf16, MathFidelity::hifi4, true), error(kBfp8, kBfp8, MathFidelity::hifi4, true));
  EXPECT_LT(error(kBfp8, kBfp8, MathFidelity::hifi4, true), error(kBfp4, kBfp8, MathFidelity::hifi4, true));
  EXPECT_LT(error(kBf16, kBf16, MathFidelity::hifi4, false), error(kBf16, kBf16, MathFidelity::lofi, false));
  EXPECT_LT(error(kBf16, kBf16, MathFidelity::hifi4, true), error(kBf16, kBf16, MathFidelity::hifi4, false));
}

// Blocks of 7 bits fit into the slices of the first two phases, but what pools write is bfloat16.
TEST(GraphValues, ConvolutionsOfBfloat8NeedTwoPhasesOnly) {
  SmallNetwork network = small_network();
  run_passes(network.graph);
  std::vector<Array> seen[2];
  for (const int i : {0, 1})
    graph_values(
        network.graph, network.inputs,
        precision(DType::bfloat8_b, DType::bfloat8_b, i == 0 ? MathFidelity::hifi2 : MathFidelity::hifi4, false),
        [&](const Node& node, const Array& y) {
          if (std::holds_alternative<Conv>(node.op)) seen[i].push_back(y);
        });
  ASSERT_EQ(seen[0].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(seen[0][i], seen[1][i]) << i;
}

TEST(GraphValues, AreTheSameWhetherOrNotActivationsAreFused) {
  SmallNetwork fused = small_network(), plain = small_network();
  run_passes(fused.graph);
  run_passes(plain.graph, {.off = {"fuse_epilogue"}});
  ASSERT_GT(plain.graph.nodes.size(), fused.graph.nodes.size());
  // A rectifier of its own is exact, on numbers that were packed before: so is one on Dst.
  const GraphPrecision p = precision(DType::bfloat16, DType::bfloat16, MathFidelity::hifi2, false);
  EXPECT_EQ(graph_values(fused.graph, fused.inputs, p)[0], graph_values(plain.graph, plain.inputs, p)[0]);
}

TEST(GraphValues, ValuesAreThoseOfTheirTypes) {
  SmallNetwork network = small_network();
  run_passes(network.graph);
  graph_values(network.graph, network.inputs, precision(DType::bfloat16, DType::bfloat16, MathFidelity::hifi4, true),
               [](const Node& node, const Array& y) {
                 for (const float v : y.as<float>())
                   ASSERT_EQ(v, float_from_bfloat16(bfloat16_from_float_host(v))) << node.name;
               });
}

TEST(GraphValues, RefuseInputsThatTheGraphDoesNotTake) {
  const SmallNetwork network = small_network();
  try {
    graph_values(network.graph, {}, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("takes 1 inputs, 0 were given"));
  }
}

TEST(GraphValues, PartialResultsHaveTheTypeOfDstOnlyWhereThePackerAddsThemUp) {
  ComputeConfig compute{.fp32_dest_acc_en = true, .packer_l1_acc = true};
  EXPECT_EQ(partials_dtype(compute, DType::bfloat8_b, 3, false), DType::float32);
  EXPECT_EQ(partials_dtype(compute, DType::bfloat8_b, 2, true), DType::float32);
  EXPECT_EQ(partials_dtype(compute, DType::bfloat8_b, 2, false), DType::bfloat8_b);
  compute.fp32_dest_acc_en = false;
  EXPECT_EQ(partials_dtype(compute, DType::bfloat8_b, 3, false), DType::bfloat16);
  compute.packer_l1_acc = false;
  EXPECT_EQ(partials_dtype(compute, DType::bfloat8_b, 3, false), DType::bfloat8_b);
}

}  // namespace
}  // namespace tessera::tensix
