// Transposes that exporters put around every operator of a network of another layout: each moves towards the outputs
// until it meets one that undoes it.

#include "tessera/graph/passes/internal/patterns.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

using internal::Rewriter;
using Dims = std::vector<std::int64_t>;

Dims permutation(const Rewriter& r, const Node& node) {
  Dims perm = std::get<Transpose>(node.op).perm;
  if (!perm.empty()) return perm;
  perm.resize(static_cast<std::size_t>(r.type(node.inputs[0]).rank()));
  std::iota(perm.rbegin(), perm.rend(), 0);
  return perm;
}

bool is_identity(const Dims& perm) { return std::ranges::is_sorted(perm); }

// A Transpose of known rank that makes a value for this reader alone.
struct Moved {
  ValueId x = kNoValue;
  Dims perm;
};
std::optional<Moved> moved(const Rewriter& r, ValueId id, std::size_t readers = 1) {
  const Node* node = id != kNoValue && r.uses(id) == readers ? r.made_by<Transpose>(id) : nullptr;
  if (node == nullptr || !r.type(node->inputs[0]).dims) return std::nullopt;
  return Moved{node->inputs[0], permutation(r, *node)};
}

// Only extents of 1 change places: the elements stay in order, and a shape says it all.
std::optional<Dims> as_reshape(const Rewriter& r, const Node& node, const Dims& perm) {
  const Dims& from = *r.type(node.inputs[0]).dims;
  std::int64_t last = -1;
  Dims target;
  for (std::int64_t p : perm) {
    const std::int64_t extent = from[static_cast<std::size_t>(p)];
    if (extent == 0) return std::nullopt;
    target.push_back(extent);
    if (extent == 1) continue;
    if (p < last) return std::nullopt;
    last = p;
  }
  if (std::ranges::count(target, TensorType::kUnknown) > 1) return std::nullopt;
  return target;  // an unknown extent is -1, which a Reshape works out
}

bool simplify(Rewriter& r, Node& node) {
  if (!r.type(node.inputs[0]).dims) return false;
  Dims perm = permutation(r, node);
  if (is_identity(perm)) return r.replace(node.outputs[0], node.inputs[0]);
  if (const Node* first = r.made_by<Transpose>(node.inputs[0])) {
    const Dims before = permutation(r, *first);
    for (std::int64_t& p : perm) p = before[static_cast<std::size_t>(p)];
    r.become(node, Transpose{perm}, {first->inputs[0]});
    return true;
  }
  const std::optional<Dims> target = as_reshape(r, node, perm);
  if (!target) return false;
  r.become(node, Reshape{}, {node.inputs[0], r.add_constant(node.name + ".shape", internal::integer_list(*target))});
  return true;
}

// The operator works on what was not transposed, and its node transposes what it makes.
void sink(Rewriter& r, Rewriter::NodeAt at, Op op, std::vector<ValueId> inputs, const Dims& perm) {
  const ValueId made = r.insert(at, at->name, std::move(op), std::move(inputs));
  at->name += ".transpose";
  r.become(*at, Transpose{perm}, {made});
}

// A constant beside a transposed value, seen from before.
ValueId untransposed(Rewriter& r, ValueId id, const Dims& perm) {
  const Array& array = *r.constant(id);
  if (array.count() == 1) return id;
  Dims full = array.shape().dims();
  full.insert(full.begin(), perm.size() - full.size(), 1);
  Transpose back;
  back.perm.resize(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    back.perm[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  const Array whole = array.reshaped(Shape(full));
  const Array* operand = &whole;
  return r.add_constant(r.graph().value(id).name, reference(Op(back), {&operand, 1})[0]);
}

bool sink_binary(Rewriter& r, Rewriter::NodeAt at) {
  const Node& node = *at;
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  const std::size_t readers = a == b ? 2 : 1;
  const std::optional<Moved> first = moved(r, a, readers), second = moved(r, b, readers);
  if (first && second && first->perm == second->perm) {
    sink(r, at, node.op, {first->x, second->x}, first->perm);
    return true;
  }
  const std::optional<Moved>& one = first ? first : second;
  const ValueId other = first ? b : a;
  if (!one || r.constant(other) == nullptr || !r.type(y).dims || r.type(y).dims->size() != one->perm.size() ||
      r.type(other).dims->size() > one->perm.size())
    return false;
  const Moved from = *one;
  const ValueId beside = untransposed(r, other, from.perm);
  sink(r, at, node.op, first ? std::vector{from.x, beside} : std::vector{beside, from.x}, from.perm);
  return true;
}

bool sink_concat(Rewriter& r, Rewriter::NodeAt at) {
  const Node& node = *at;
  std::vector<ValueId> inputs;
  std::optional<Dims> perm;
  for (ValueId id : node.inputs) {
    const std::optional<Moved> from = moved(r, id);
    if (!from || (perm && *perm != from->perm)) return false;
    perm = from->perm;
    inputs.push_back(from->x);
  }
  const int axis = normalized_axis(std::get<Concat>(node.op).axis, static_cast<int>(perm->size()), Concat::kName);
  sink(r, at, Concat{(*perm)[static_cast<std::size_t>(axis)]}, std::move(inputs), *perm);
  return true;
}

bool sink_reduce(Rewriter& r, Rewriter::NodeAt at, const Moved& from) {
  Reduce op = std::get<Reduce>(at->op);
  if (op.axes.empty()) {
    const auto given = internal::integers_of(r, internal::input(*at, 1));
    if (!given || given->empty()) return false;
    op.axes = *given;
  }
  const int rank = static_cast<int>(from.perm.size());
  std::vector<bool> gone(from.perm.size());
  for (std::int64_t& axis : op.axes) {
    axis = from.perm[static_cast<std::size_t>(normalized_axis(axis, rank, Reduce::kName))];
    gone[static_cast<std::size_t>(axis)] = true;
  }
  Dims perm = from.perm;
  if (!op.keep_dims) {
    // Dimensions close ranks where others have gone.
    std::erase_if(perm, [&](std::int64_t p) { return gone[static_cast<std::size_t>(p)]; });
    for (std::int64_t& p : perm) p -= std::count(gone.begin(), gone.begin() + p, true);
  }
  if (is_identity(perm)) {
    r.become(*at, op, {from.x});
    return true;
  }
  sink(r, at, op, {from.x}, perm);
  return true;
}

bool sink_pad(Rewriter& r, Rewriter::NodeAt at, const Moved& from) {
  const auto pads = internal::integers_of(r, at->inputs[1]);
  const std::size_t rank = from.perm.size();
  if (!pads || internal::input(*at, 3) != kNoValue || pads->size() != 2 * rank) return false;
  Dims before(2 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    before[static_cast<std::size_t>(from.perm[i])] = (*pads)[i];
    before[static_cast<std::size_t>(from.perm[i]) + rank] = (*pads)[rank + i];
  }
  std::vector<ValueId> inputs{from.x, r.add_constant(at->name + ".pads", internal::integer_list(before))};
  if (at->inputs.size() > 2) inputs.push_back(at->inputs[2]);
  sink(r, at, at->op, std::move(inputs), from.perm);
  return true;
}

void move_transpose(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  if (!node.fused.empty() || node.outputs.size() != 1 || node.outputs[0] == kNoValue || node.inputs.empty()) return;
  if (std::holds_alternative<Transpose>(node.op) && simplify(r, node)) return;
  if (internal::simplify_reshape(r, node)) return;
  if (std::holds_alternative<Binary>(node.op)) {
    sink_binary(r, at);
    return;
  }
  if (std::holds_alternative<Concat>(node.op)) {
    sink_concat(r, at);
    return;
  }
  const std::optional<Moved> from = moved(r, node.inputs[0]);
  if (!from) return;
  if (std::holds_alternative<Unary>(node.op) || std::holds_alternative<Clip>(node.op) ||
      std::holds_alternative<Cast>(node.op)) {
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = from->x;
    sink(r, at, node.op, std::move(inputs), from->perm);
  } else if (const auto* softmax = std::get_if<Softmax>(&node.op); softmax != nullptr && !softmax->flatten) {
    Softmax op = *softmax;
    op.axis = from->perm[static_cast<std::size_t>(
        normalized_axis(op.axis, static_cast<int>(from->perm.size()), Softmax::kName))];
    sink(r, at, op, {from->x}, from->perm);
  } else if (std::holds_alternative<Reduce>(node.op)) {
    sink_reduce(r, at, *from);
  } else if (std::holds_alternative<Pad>(node.op)) {
    sink_pad(r, at, *from);
  }
}

}  // namespace

bool eliminate_transposes(Graph& graph) { return internal::rewrite_until_settled(graph, move_transpose); }

}  // namespace tessera
