// Operators that keep the elements in order: several in a row are one, and one that ends where it began is none.

#include "tessera/graph/passes/internal/patterns.h"

#include <algorithm>

namespace tessera::internal {
namespace {

using Dims = std::vector<std::int64_t>;

bool keeps_order(const Node& node) {
  return node.fused.empty() && (std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Flatten>(node.op) ||
                                std::holds_alternative<Squeeze>(node.op) || std::holds_alternative<Unsqueeze>(node.op));
}

// The extents as a Reshape wants them, if that determines all: at most one is unknown, and none is 0.
std::optional<Dims> as_target(const TensorType& type) {
  if (!type.dims || std::ranges::count(*type.dims, TensorType::kUnknown) > 1 || std::ranges::count(*type.dims, 0) > 0)
    return std::nullopt;
  return type.dims;  // unknown is -1 in both
}

// The constant target of a Reshape in which 0 means "as it was".
std::optional<Dims> target_of(const Rewriter& r, const Node& node) {
  const auto* op = std::get_if<Reshape>(&node.op);
  if (op == nullptr || op->allow_zero) return std::nullopt;
  return integers_of(r, node.inputs[1]);
}

bool keeps_shape(const Rewriter& r, const Node& node) {
  const TensorType &x = r.type(node.inputs[0]), &y = r.type(node.outputs[0]);
  if (!x.dims || !y.dims || x.dims->size() != y.dims->size()) return false;
  // As many elements on both sides, and all extents but one the same: then that is, too.
  if (x == y && (x.is_static() || as_target(x))) return true;
  const std::optional<Dims> target = target_of(r, node);
  if (!target) return false;
  for (std::size_t i = 0; i < target->size(); ++i) {
    const std::int64_t extent = (*x.dims)[i], wanted = (*target)[i];
    if (extent == 0 || (wanted != 0 && wanted != -1 && wanted != extent)) return false;
  }
  return true;
}

// The target of both together, where the second counts on extents that the first has kept.
std::optional<Dims> target_of_both(const Rewriter& r, const Node& first, const Node& second) {
  if (std::optional<Dims> target = as_target(r.type(second.outputs[0]))) return target;
  const std::optional<Dims> before = target_of(r, first), after = target_of(r, second);
  if (!before || !after) return std::nullopt;
  for (std::size_t i = 0; i < after->size(); ++i)
    if ((*after)[i] == 0 && (i >= before->size() || (*before)[i] != 0)) return std::nullopt;
  return after;
}

}  // namespace

bool simplify_reshape(Rewriter& r, Node& node) {
  if (!keeps_order(node)) return false;
  if (keeps_shape(r, node)) return r.replace(node.outputs[0], node.inputs[0]);
  const Node* first = r.maker(node.inputs[0]);
  if (first == nullptr || !keeps_order(*first)) return false;
  const std::optional<Dims> target = target_of_both(r, *first, node);
  if (!target) return false;
  r.become(node, Reshape{}, {first->inputs[0], r.add_constant(node.name + ".shape", integer_list(*target))});
  return true;
}

}  // namespace tessera::internal
