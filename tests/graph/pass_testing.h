#pragma once

// A pass may change a graph but not what it computes: both are run by the references on random inputs.

#include "tessera/graph/evaluate.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/passes/pass.h"

#include "op_testing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tessera {

class PassInputs {
 public:
  explicit PassInputs(unsigned seed) : random_(seed) {}

  // Uniform in [-range, range).
  Array floating(Shape shape, double range = 1, ElementType type = ElementType::float32) {
    Array out(type, std::move(shape));
    std::uniform_real_distribution<double> draw(-range, range);
    visit_floating_type(type, "a test", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T& v : out.as<T>()) v = static_cast<T>(static_cast<float>(draw(random_)));
    });
    return out;
  }
  // Away from 0 on the positive side.
  Array positive(Shape shape) {
    Array out(ElementType::float32, std::move(shape));
    std::uniform_real_distribution<float> draw(0.5f, 2.0f);
    for (float& v : out.as<float>()) v = draw(random_);
    return out;
  }

 private:
  std::mt19937 random_;
};

inline double rounding_unit(ElementType type) {
  switch (type) {
    case ElementType::float16: return 0x1p-11;
    case ElementType::bfloat16: return 0x1p-8;
    case ElementType::float64: return 0x1p-53;
    default: return 0x1p-24;
  }
}

// The most products that any one result of the graph is a sum of.
inline std::int64_t longest_reduction(const Graph& graph) {
  std::int64_t longest = 1;
  for (const Node& node : graph.nodes) {
    if (!std::holds_alternative<Conv>(node.op) && !std::holds_alternative<ConvTranspose>(node.op) &&
        !std::holds_alternative<Gemm>(node.op) && !std::holds_alternative<MatMul>(node.op))
      continue;
    const TensorType& w = graph.value(node.inputs[1]).type;
    if (w.is_static() && w.rank() > 0)
      longest = std::max(longest, w.shape().volume() / std::max<std::int64_t>(w.shape()[0], 1));
  }
  return longest;
}

// Operands rounded anew: each product may be off by a few units, and errors add up along the chain of nodes.
inline double pass_tolerance(const Graph& graph, const Array& wanted) {
  double largest = 0;
  for (double v : wanted.to_double())
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  return rounding_unit(wanted.type()) * (largest + 1) * (std::sqrt(static_cast<double>(longest_reduction(graph))) + 2) *
         4 * (static_cast<double>(graph.nodes.size()) + 2);
}

inline void expect_same_values(const Array& found, const Array& wanted, double tolerance) {
  ASSERT_EQ(found.type(), wanted.type());
  ASSERT_EQ(found.shape(), wanted.shape());
  const std::vector<double> f = found.to_double(), w = wanted.to_double();
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (std::isnan(w[i]) || std::isinf(w[i])) {
      EXPECT_TRUE(std::isnan(w[i]) ? std::isnan(f[i]) : f[i] == w[i])
          << "element " << i << ": " << f[i] << ", not " << w[i];
      continue;
    }
    ASSERT_LE(std::abs(f[i] - w[i]), tolerance) << "element " << i << ": " << f[i] << ", not " << w[i];
  }
}

// Outputs keep their names and, as far as they are known, their types; values are as before.
inline void expect_same_results(const Graph& before, const Graph& after, const std::vector<Array>& inputs) {
  ASSERT_NO_THROW(verify(after));
  ASSERT_EQ(before.outputs.size(), after.outputs.size());
  const std::vector<Array> wanted = evaluate(before, inputs), found = evaluate(after, inputs);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE(before.value(before.outputs[i]).name);
    EXPECT_EQ(after.value(after.outputs[i]).name, before.value(before.outputs[i]).name);
    expect_same_values(found[i], wanted[i], pass_tolerance(before, wanted[i]));
  }
}

// The graph after the pass, which must say truly whether it changed anything and leave nothing for a second run.
inline Graph after_pass(const Graph& before, bool (*pass)(Graph&), const std::vector<Array>& inputs,
                        bool must_change = true) {
  Graph after = before;
  EXPECT_EQ(pass(after), must_change);
  verify(after);
  infer_types(after);
  expect_same_results(before, after, inputs);
  EXPECT_FALSE(pass(after)) << "a second run changed something";
  return after;
}

inline void expect_untouched(const Graph& before, bool (*pass)(Graph&), const std::vector<Array>& inputs) {
  const Graph after = after_pass(before, pass, inputs, false);
  ASSERT_EQ(after.nodes.size(), before.nodes.size());
  for (std::size_t i = 0; i < after.nodes.size(); ++i) {
    EXPECT_TRUE(after.nodes[i].op == before.nodes[i].op) << after.nodes[i].name;
    EXPECT_EQ(after.nodes[i].inputs, before.nodes[i].inputs) << after.nodes[i].name;
    EXPECT_EQ(after.nodes[i].fused.size(), before.nodes[i].fused.size()) << after.nodes[i].name;
  }
}

// "Conv+Unary+Binary MaxPool": nodes in order, with what is fused.
inline std::string node_list(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += (text.empty() ? "" : " ") + std::string(name(node.op));
    for (const FusedOp& fused : node.fused) text += "+" + std::string(name(fused.op));
  }
  return text;
}

}  // namespace tessera
