// Exporters spell activations out in their own ways; here they become the operators they are. The parts that are no
// products are in internal/recognize_bounds.cpp and internal/recognize_norms.cpp.

#include "tessera/graph/passes/internal/patterns.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace internal {
namespace {

void collect(const Rewriter& r, ValueId id, Product& product, int depth) {
  const Node* node = depth > 0 && r.uses(id) != 1 ? nullptr : r.maker(id);
  const auto* op = node == nullptr || !node->fused.empty() ? nullptr : std::get_if<Binary>(&node->op);
  constexpr int kDeepest = 8;
  if (op == nullptr || depth > kDeepest) {
    product.factors.push_back(id);
    return;
  }
  const std::optional<double> first = scalar_of(r, node->inputs[0]), second = scalar_of(r, node->inputs[1]);
  if (op->kind == Binary::Kind::mul) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (const auto& number = i == 0 ? first : second)
        product.scale *= *number;
      else
        collect(r, node->inputs[i], product, depth + 1);
    }
  } else if (op->kind == Binary::Kind::div && second) {
    product.scale /= *second;
    collect(r, node->inputs[0], product, depth + 1);
  } else if (op->kind == Binary::Kind::pow && (second == 2.0 || second == 3.0)) {
    product.factors.insert(product.factors.end(), static_cast<std::size_t>(*second), node->inputs[0]);
  } else {
    product.factors.push_back(id);
  }
}

// tanh's argument in GELU: sqrt(2 / pi) * (x + 0.044715 x^3), or with x taken out of the sum.
bool is_gelu_polynomial(const Rewriter& r, ValueId id, ValueId x, ElementType type) {
  constexpr double kCubic = 0.044715;
  Product outer = product_of(r, id);
  if (!means(outer.scale, std::sqrt(2 / std::numbers::pi), type)) return false;
  const auto is_powers = [&](ValueId term, std::size_t power) {
    const Product p = product_of(r, term);
    return r.uses(term) == 1 && means(p.scale, kCubic, type) && p.factors == std::vector<ValueId>(power, x);
  };
  const auto found = std::find(outer.factors.begin(), outer.factors.end(), x);
  const bool taken_out = found != outer.factors.end();
  if (taken_out) outer.factors.erase(found);
  if (outer.factors.size() != 1) return false;
  const ValueId sum = outer.factors[0];
  if (taken_out) {
    const std::optional<ValueId> square = less(r, sum, 1);
    return square && is_powers(*square, 2);
  }
  const Node* node = r.uses(sum) == 1 ? r.maker(sum) : nullptr;
  if (node == nullptr || !is_binary(*node, Binary::Kind::add)) return false;
  return (node->inputs[0] == x && is_powers(node->inputs[1], 3)) ||
         (node->inputs[1] == x && is_powers(node->inputs[0], 3));
}

// clip(x + 3, 0, 6), which is 6 * hard_sigmoid(x).
bool is_relu6_of_x_plus_3(const Rewriter& r, ValueId id, std::optional<ValueId> x) {
  const Node* node = r.uses(id) == 1 ? r.made_by<Clip>(id) : nullptr;
  if (node == nullptr || scalar_of(r, input(*node, 1)) != 0.0 || scalar_of(r, input(*node, 2)) != 6.0) return false;
  const std::optional<ValueId> inner = less(r, node->inputs[0], 3);
  return inner && (!x || *inner == *x);
}

bool is_hard_sigmoid(const Rewriter& r, ValueId id, ValueId x) {
  const Node* node = r.uses(id) == 1 ? r.maker(id) : nullptr;
  if (node == nullptr || !is_unary(*node, Unary::Kind::hard_sigmoid) || node->inputs[0] != x) return false;
  const Unary& op = std::get<Unary>(node->op);
  return means(static_cast<double>(op.alpha), 1.0 / 6, ElementType::float32) && op.beta == 0.5f;
}

// What scale * x * f(x) is. Doubles keep constants that may have been made in float: what they give would not be ours.
std::optional<Unary::Kind> gated(const Rewriter& r, double scale, ValueId x, ValueId f) {
  const ElementType type = r.type(x).type;
  if (means(scale, 1, type)) {
    if (inside(r, f, Unary::Kind::sigmoid) == x) return Unary::Kind::silu;
    if (type != ElementType::float64 && is_hard_sigmoid(r, f, x)) return Unary::Kind::hard_swish;
    const std::optional<ValueId> softplus = inside(r, f, Unary::Kind::tanh);
    if (softplus && inside(r, *softplus, Unary::Kind::softplus) == x) return Unary::Kind::mish;
  } else if (type == ElementType::float64) {
    return std::nullopt;
  } else if (means(scale, 1.0 / 6, type)) {
    if (is_relu6_of_x_plus_3(r, f, x)) return Unary::Kind::hard_swish;
  } else if (means(scale, 0.5, type)) {
    const std::optional<ValueId> rest = less(r, f, 1);
    if (!rest) return std::nullopt;
    if (const std::optional<ValueId> of_erf = inside(r, *rest, Unary::Kind::erf)) {
      const Product p = product_of(r, *of_erf);
      if (means(p.scale, 1 / std::numbers::sqrt2, type) && p.factors == std::vector{x}) return Unary::Kind::gelu;
    }
    const std::optional<ValueId> of_tanh = inside(r, *rest, Unary::Kind::tanh);
    if (of_tanh && is_gelu_polynomial(r, *of_tanh, x, type)) return Unary::Kind::gelu_tanh;
  }
  return std::nullopt;
}

bool recognize_product(Rewriter& r, Node& node) {
  if (!is_binary(node, Binary::Kind::mul) && !is_binary(node, Binary::Kind::div)) return false;
  const ValueId y = node.outputs[0];
  if (!is_floating_type(r.type(y).type) || !r.type(y).dims) return false;
  const Product product = product_of(r, y);
  if (product.factors.size() == 1 && r.type(y).type != ElementType::float64 &&
      means(product.scale, 1.0 / 6, r.type(y).type) && is_relu6_of_x_plus_3(r, product.factors[0], std::nullopt)) {
    const ValueId x = *less(r, r.maker(product.factors[0])->inputs[0], 3);
    if (r.type(x) != r.type(y)) return false;
    r.become(node, Unary{Unary::Kind::hard_sigmoid, 1.0f / 6, 0.5f}, {x});
    return true;
  }
  if (product.factors.size() != 2) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = product.factors[i];
    if (r.type(x) != r.type(y)) continue;
    const std::optional<Unary::Kind> kind = gated(r, product.scale, x, product.factors[1 - i]);
    if (!kind) continue;
    r.become(node, Unary{*kind}, {x});
    return true;
  }
  return false;
}

// Powers that are cheaper said otherwise. (x^0.5 of minus infinity is the one result that a root does not share.)
bool recognize_power(Rewriter& r, Node& node) {
  if (!is_binary(node, Binary::Kind::pow) || !is_floating_type(r.type(node.inputs[0]).type)) return false;
  const ValueId x = node.inputs[0];
  const std::optional<double> exponent = scalar_beside(r, node.inputs[1], x);
  if (exponent == 2.0)
    r.become(node, Binary{Binary::Kind::mul}, {x, x});
  else if (exponent == 0.5)
    r.become(node, Unary{Unary::Kind::sqrt}, {x});
  else
    return false;
  return true;
}

// Dividing by a power of two is multiplying by its inverse, to the last bit.
bool recognize_division(Rewriter& r, Node& node) {
  if (!is_binary(node, Binary::Kind::div)) return false;
  const std::optional<double> divisor = scalar_of(r, node.inputs[1]);
  const ElementType type = r.type(node.inputs[1]).type;
  int exponent = 0;
  if (!divisor || !is_floating_type(type) || !std::isfinite(*divisor) ||
      std::abs(std::frexp(*divisor, &exponent)) != 0.5)
    return false;
  Array inverse = floating_array(type, r.constant(node.inputs[1])->shape(), {1 / *divisor});
  if (inverse.to_double()[0] != 1 / *divisor) return false;
  const ValueId by = r.add_constant(node.name + ".inverse", std::move(inverse));
  r.become(node, Binary{Binary::Kind::mul}, {node.inputs[0], by});
  return true;
}

}  // namespace

Product product_of(const Rewriter& r, ValueId id) {
  Product product;
  collect(r, id, product, 0);
  return product;
}

bool means(double found, double wanted, ElementType type) {
  // A few constants multiplied with each other, each rounded once.
  constexpr double kRoundings = 4;
  const double unit = type == ElementType::bfloat16 ? 0x1p-8 : type == ElementType::float16 ? 0x1p-11 : 0x1p-24;
  return std::abs(found - wanted) <= kRoundings * unit * std::abs(wanted);
}

std::optional<ValueId> inside(const Rewriter& r, ValueId id, Unary::Kind kind) {
  const Node* node = r.uses(id) == 1 ? r.maker(id) : nullptr;
  if (node == nullptr || !is_unary(*node, kind)) return std::nullopt;
  return node->inputs[0];
}

std::optional<ValueId> less(const Rewriter& r, ValueId id, double number) {
  const Node* node = r.uses(id) == 1 ? r.maker(id) : nullptr;
  if (node == nullptr || !is_binary(*node, Binary::Kind::add)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i)
    if (scalar_of(r, node->inputs[i]) == number) return node->inputs[1 - i];
  return std::nullopt;
}

}  // namespace internal

bool recognize_activations(Graph& graph) {
  using namespace internal;
  const auto is_plain = [](const Node& node) {
    return !node.outputs.empty() && node.outputs[0] != kNoValue && node.fused.empty();
  };
  const bool recognized = rewrite_until_settled(graph, [&](Rewriter& r, Rewriter::NodeAt at) {
    if (is_plain(*at))
      (void)(recognize_power(r, *at) || recognize_bounds(r, at) || recognize_product(r, *at) ||
             recognize_layer_norm(r, at) || recognize_division(r, *at));
  });
  // Means may be parts of what was looked for above.
  const bool averaged = rewrite_until_settled(graph, [&](Rewriter& r, Rewriter::NodeAt at) {
    if (is_plain(*at)) recognize_mean(r, at);
  });
  return recognized || averaged;
}

}  // namespace tessera
