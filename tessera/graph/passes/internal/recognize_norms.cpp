// Layer normalisation out of its parts, and averages over images.

#include "tessera/graph/passes/internal/patterns.h"

#include <algorithm>

namespace tessera::internal {
namespace {

// The axes of a mean that keeps its dimensions, if they are the last ones: the first of them.
std::optional<std::int64_t> trailing_mean(const Rewriter& r, ValueId id, ValueId of) {
  const Node* node = r.made_by<Reduce>(id);
  if (node == nullptr || node->inputs[0] != of || !r.type(of).dims) return std::nullopt;
  const auto& op = std::get<Reduce>(node->op);
  if (op.kind != Reduce::Kind::mean || !op.keep_dims) return std::nullopt;
  std::vector<std::int64_t> axes = op.axes;
  if (axes.empty()) {
    const auto given = integers_of(r, input(*node, 1));
    if (!given) return std::nullopt;
    axes = *given;
  }
  const int rank = r.type(of).rank();
  for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank, Reduce::kName);
  std::ranges::sort(axes);
  const auto count = static_cast<std::int64_t>(axes.size());
  for (std::int64_t i = 0; i < count; ++i)
    if (axes[static_cast<std::size_t>(i)] != rank - count + i) return std::nullopt;
  return count == 0 ? std::nullopt : std::optional(rank - count);
}

bool is_square(const Rewriter& r, ValueId id, ValueId of) {
  const Node* node = r.uses(id) == 1 ? r.maker(id) : nullptr;
  if (node == nullptr) return false;
  if (is_binary(*node, Binary::Kind::mul)) return node->inputs[0] == of && node->inputs[1] == of;
  return is_binary(*node, Binary::Kind::pow) && node->inputs[0] == of && scalar_of(r, node->inputs[1]) == 2.0;
}

struct Normalized {
  ValueId x = kNoValue;
  std::int64_t axis = 0;
  float epsilon = 0;
};

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon).
std::optional<Normalized> normalized(const Rewriter& r, ValueId id) {
  const Node* quotient = r.uses(id) == 1 ? r.maker(id) : nullptr;
  if (quotient == nullptr || !is_binary(*quotient, Binary::Kind::div)) return std::nullopt;
  const ValueId centred = quotient->inputs[0];
  const Node* difference = r.maker(centred);
  const std::optional<ValueId> sum = inside(r, quotient->inputs[1], Unary::Kind::sqrt);
  if (difference == nullptr || !is_binary(*difference, Binary::Kind::sub) || !sum || r.uses(*sum) != 1)
    return std::nullopt;
  const Node* plus = r.maker(*sum);
  if (plus == nullptr || !is_binary(*plus, Binary::Kind::add)) return std::nullopt;
  const bool second = r.constant(plus->inputs[1]) != nullptr;
  const std::optional<double> epsilon = scalar_of(r, plus->inputs[second ? 1 : 0]);
  const ValueId variance = plus->inputs[second ? 0 : 1], x = difference->inputs[0];
  const Node* mean_square = r.made_by<Reduce>(variance);
  if (!epsilon || mean_square == nullptr || !is_square(r, mean_square->inputs[0], centred)) return std::nullopt;
  const auto axis = trailing_mean(r, difference->inputs[1], x),
             again = trailing_mean(r, variance, mean_square->inputs[0]);
  if (!axis || axis != again || r.type(x) != r.type(id)) return std::nullopt;
  return Normalized{x, *axis, static_cast<float>(*epsilon)};
}

// A constant of exactly the extents from the axis on.
bool covers(const Rewriter& r, ValueId constant, ValueId x, std::int64_t axis) {
  if (r.constant(constant) == nullptr) return false;
  const std::vector<std::int64_t>& dims = *r.type(x).dims;
  return *r.type(constant).dims == std::vector<std::int64_t>(dims.begin() + axis, dims.end());
}

}  // namespace

bool recognize_layer_norm(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  if (is_binary(node, Binary::Kind::mul)) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::optional<Normalized> found = normalized(r, node.inputs[i]);
      if (!found || !covers(r, node.inputs[1 - i], found->x, found->axis)) continue;
      r.become(node, LayerNorm{.axis = found->axis, .epsilon = found->epsilon}, {found->x, node.inputs[1 - i]});
      return true;
    }
  } else if (is_binary(node, Binary::Kind::add)) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Node* norm = r.uses(node.inputs[i]) == 1 ? r.made_by<LayerNorm>(node.inputs[i]) : nullptr;
      if (norm == nullptr || input(*norm, 2) != kNoValue || !r.type(norm->inputs[0]).dims) continue;
      const auto& op = std::get<LayerNorm>(norm->op);
      const std::int64_t axis = normalized_axis(op.axis, r.type(norm->inputs[0]).rank(), LayerNorm::kName);
      if (op.outputs != 1 || !covers(r, node.inputs[1 - i], norm->inputs[0], axis)) continue;
      r.become(node, op, {norm->inputs[0], norm->inputs[1], node.inputs[1 - i]});
      return true;
    }
  }
  return false;
}

bool recognize_mean(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  const auto* op = std::get_if<Reduce>(&node.op);
  if (op == nullptr || op->kind != Reduce::Kind::mean || !r.type(node.inputs[0]).dims) return false;
  const ValueId x = node.inputs[0];
  const int rank = r.type(x).rank();
  std::optional<std::vector<std::int64_t>> axes = op->axes;
  if (axes->empty()) axes = integers_of(r, input(node, 1));
  if (!axes || rank < 4 || !is_floating_type(r.type(x).type)) return false;
  for (std::int64_t& axis : *axes) axis = normalized_axis(axis, rank, Reduce::kName);
  std::ranges::sort(*axes);
  std::vector<std::int64_t> spatial;
  for (std::int64_t d = 2; d < rank; ++d) spatial.push_back(d);
  if (*axes != spatial) return false;
  if (op->keep_dims)
    r.become(node, GlobalPool{}, {x});
  else
    r.become(node, Flatten{}, {r.insert(at, node.name + ".mean", GlobalPool{}, {x})});
  return true;
}

}  // namespace tessera::internal
