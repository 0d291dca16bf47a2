#include "tests/targets/cpu/dense_case.h"

#include <cmath>
#include <limits>

namespace tessera::cpu {
namespace {

// Adds an input to the end of the node, for a fused operator.
int add_fused_input(KernelCase& test, Array array, bool constant) {
  Graph& g = test.graph;
  Node& node = g.nodes[0];
  const std::string name = "fused" + std::to_string(node.inputs.size());
  ValueId id = kNoValue;
  if (constant) {
    id = g.add_constant(name, std::move(array));
  } else {
    id = g.add_input(name, {array.type(), array.shape()});
    test.arrays.push_back(std::move(array));
  }
  node.inputs.push_back(id);
  ++node.fused_inputs;
  return static_cast<int>(node.inputs.size()) - 1;
}

void fuse_activation(KernelCase& test, int which, ElementType type, std::mt19937_64& random) {
  using Kind = Unary::Kind;
  constexpr Kind kKinds[] = {Kind::relu,         Kind::leaky_relu, Kind::elu,  Kind::sigmoid,  Kind::silu,
                             Kind::hard_sigmoid, Kind::hard_swish, Kind::relu, Kind::relu,     Kind::tanh,
                             Kind::softplus,     Kind::mish,       Kind::gelu, Kind::gelu_tanh};
  std::vector<FusedOp>& fused = test.graph.nodes[0].fused;
  if (which == 0) return;
  if (which != 8 && which != 9) {  // those are Clips
    Unary unary{kKinds[which - 1]};
    if (unary.kind == Kind::leaky_relu) unary.alpha = 0.1f;
    if (unary.kind == Kind::elu) unary.alpha = 1;
    if (unary.kind == Kind::hard_sigmoid) unary.alpha = 0.2f, unary.beta = 0.5f;
    fused.push_back({unary, {FusedOp::kChained}});
    return;
  }
  const auto bound = [&](float value) {
    Array array(type, Shape{});
    visit_floating_type(type, "Clip", [&](auto tag) {
      using T = typename decltype(tag)::type;
      array.as<T>()[0] = T(value);
    });
    return add_fused_input(test, std::move(array), true);
  };
  const int low = bound(which == 8 ? 0.0f : -0.5f), high = bound(which == 8 ? 6.0f : 1.5f);
  (void)random;
  test.graph.nodes[0].fused.push_back({Clip{}, {FusedOp::kChained, low, high}});
}

}  // namespace

void fuse(KernelCase& test, const Fusion& fusion, ElementType type, std::mt19937_64& random) {
  const TensorType made = infer_node(test.graph, test.graph.nodes[0]).outputs.at(0);
  fuse_activation(test, fusion.before, type, random);
  if (fusion.residual) {
    const int at = add_fused_input(test, random_array(type, made.shape(), random), false);
    std::vector<int> operands{FusedOp::kChained, at};
    if (random() % 2) std::swap(operands[0], operands[1]);
    test.graph.nodes[0].fused.push_back({Binary{Binary::Kind::add}, operands});
    fuse_activation(test, fusion.after, type, random);
  }
  if (fusion.pool) {
    MaxPool pool;
    for (int d = 2; d < made.shape().rank(); ++d) {
      const std::int64_t kernel = std::min<std::int64_t>(1 + static_cast<std::int64_t>(random() % 3), made.shape()[d]);
      pool.window.kernel.push_back(kernel);
      pool.window.strides.push_back(1 + static_cast<std::int64_t>(random() % 3));
      pool.window.pads.push_back(static_cast<std::int64_t>(random()) % kernel);
    }
    for (std::int64_t& pad : pool.window.pads) pad = std::abs(pad);
    pool.window.pads.resize(2 * pool.window.kernel.size(), 0);
    pool.ceil_mode = random() % 2 == 0;
    test.graph.nodes[0].fused.push_back({pool, {FusedOp::kChained}});
  }
  infer_types(test.graph);
}

void allow_rounding(KernelCase& test, ElementType type, std::int64_t reduction) {
  const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(reduction, 1)));
  test.reduction = reduction;
  test.magnitude = 4 * root + 4;  // of sums on the way, and of what is added to them
  // The definition rounds to the stored type after every fused operator, kernels only at the end.
  if (type == ElementType::bfloat16 && !test.graph.nodes[0].fused.empty())
    test.magnitude *= std::ldexp(1.0, 24 - 8) / (4 * root) * static_cast<double>(test.graph.nodes[0].fused.size());
}

void sprinkle(Array& array, std::mt19937_64& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  visit_floating_type(array.type(), "sprinkle", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& value : array.as<T>())
      if (random() % 64 == 0)
        value = T(pick({0.0f, -0.0f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e-40f}, random));
  });
}

}  // namespace tessera::cpu
