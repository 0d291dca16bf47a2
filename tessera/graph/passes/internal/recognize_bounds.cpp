// Minima, maxima and rectifiers in a row are one Clip, or one relu.

#include "tessera/graph/passes/internal/patterns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Bounds {
  ValueId x = kNoValue;
  double low = -kInfinity, high = kInfinity;
};

// What a node bounds, and where; all bounds are numbers in order.
std::optional<Bounds> bounds_of(const Rewriter& r, const Node& node) {
  Bounds b;
  if (is_unary(node, Unary::Kind::relu)) {
    b = {node.inputs[0], 0, kInfinity};
  } else if (std::holds_alternative<Clip>(node.op)) {
    b.x = node.inputs[0];
    for (std::size_t i = 1; i <= 2; ++i) {
      if (input(node, i) == kNoValue) continue;
      const std::optional<double> bound = scalar_of(r, node.inputs[i]);
      if (!bound) return std::nullopt;
      (i == 1 ? b.low : b.high) = *bound;
    }
  } else if (is_binary(node, Binary::Kind::min) || is_binary(node, Binary::Kind::max)) {
    const bool second = r.constant(node.inputs[1]) != nullptr;
    b.x = node.inputs[second ? 0 : 1];
    const std::optional<double> bound = scalar_beside(r, node.inputs[second ? 1 : 0], b.x);
    if (!bound) return std::nullopt;
    (std::get<Binary>(node.op).kind == Binary::Kind::min ? b.high : b.low) = *bound;
  } else {
    return std::nullopt;
  }
  // NaN compares as false, too.
  if (!(b.low <= b.high) || !is_floating_type(r.type(b.x).type)) return std::nullopt;
  return b;
}

bool is_relu(const Bounds& b) { return b.low == 0 && b.high == kInfinity; }

void write(Rewriter& r, Node& node, const Bounds& b) {
  const ElementType type = r.type(b.x).type;
  if (is_relu(b)) return r.become(node, Unary{Unary::Kind::relu}, {b.x});
  const auto bound = [&](const char* side, double value) {
    return std::isinf(value) ? kNoValue : r.add_constant(node.name + side, floating_array(type, Shape{}, {value}));
  };
  std::vector<ValueId> inputs{b.x, bound(".low", b.low), bound(".high", b.high)};
  while (inputs.back() == kNoValue) inputs.pop_back();
  r.become(node, Clip{}, std::move(inputs));
}

// clip(alpha * x + beta, 0, 1).
bool recognize_hard_sigmoid(Rewriter& r, Node& node, const Bounds& b) {
  if (b.low != 0 || b.high != 1 || r.uses(b.x) != 1 || r.type(b.x).type == ElementType::float64) return false;
  const Node* sum = r.maker(b.x);
  if (sum == nullptr || !is_binary(*sum, Binary::Kind::add)) return false;
  const bool second = r.constant(sum->inputs[1]) != nullptr;
  const std::optional<double> beta = scalar_of(r, sum->inputs[second ? 1 : 0]);
  const ValueId scaled = sum->inputs[second ? 0 : 1];
  if (!beta || r.uses(scaled) != 1) return false;
  const Product p = product_of(r, scaled);
  if (p.factors.size() != 1 || p.factors[0] == scaled || r.type(p.factors[0]) != r.type(node.outputs[0])) return false;
  const auto alpha = static_cast<float>(p.scale);
  r.become(node, Unary{Unary::Kind::hard_sigmoid, alpha, static_cast<float>(*beta)}, {p.factors[0]});
  return true;
}

}  // namespace

bool recognize_bounds(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  const std::optional<Bounds> own = bounds_of(r, node);
  if (!own) return false;
  if (own->low == -kInfinity && own->high == kInfinity) return r.replace(node.outputs[0], own->x);
  if (recognize_hard_sigmoid(r, node, *own)) return true;
  const Node* before = r.uses(own->x) == 1 ? r.maker(own->x) : nullptr;
  const std::optional<Bounds> inner =
      before == nullptr || !before->fused.empty() ? std::nullopt : bounds_of(r, *before);
  if (inner) {
    // A bound of the first that the second moves ends up where it moves it.
    const Bounds both{inner->x, std::clamp(inner->low, own->low, own->high),
                      std::clamp(inner->high, own->low, own->high)};
    // An infinite x would pass bounds that are left out, and not those that are infinite on its own side.
    if (std::isinf(both.low) && both.low > 0) return false;
    if (std::isinf(both.high) && both.high < 0) return false;
    write(r, node, both);
    return true;
  }
  const bool plain_clip = std::holds_alternative<Clip>(node.op) && !is_relu(*own);
  if (is_unary(node, Unary::Kind::relu) || plain_clip) return false;
  write(r, node, *own);
  return true;
}

}  // namespace tessera::internal
