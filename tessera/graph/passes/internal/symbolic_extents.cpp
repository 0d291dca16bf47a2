#include "tessera/graph/passes/internal/symbolic_extents.h"

#include <algorithm>
#include <optional>

namespace tessera::internal {
namespace {

using Dims = SymbolicDims;

template <class... Xs>
bool is_any(const Op& op) {
  return (std::holds_alternative<Xs>(op) || ...);
}

bool keeps_shape(const Op& op) {
  return is_any<Unary, Clip, Cast, Softmax, BatchNorm, InstanceNorm, GroupNorm, LayerNorm, RmsNorm, LpNorm, Lrn,
                MeanVarianceNorm, Dropout, QuantizeLinear, DequantizeLinear, CumSum>(op);
}

// Works on each sample of a batch, which is dimension 0.
bool keeps_batch(const Op& op) {
  return is_any<Conv, ConvTranspose, MaxPool, AveragePool, LpPool, GlobalPool, DepthToSpace, SpaceToDepth>(op);
}

Dims without_names(std::size_t rank) { return Dims(rank, kNameless); }

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out = without_names(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t in_a = out.size() - a.size(), in_b = out.size() - b.size();
    const std::int64_t x = i < in_a ? 1 : a[i - in_a], y = i < in_b ? 1 : b[i - in_b];
    if (x == y || y == 1)
      out[i] = x;
    else if (x == 1)
      out[i] = y;
  }
  return out;
}

// A -1 stands for the one name that both sides do not share, if the rest has as many elements.
void resolve_rest(const Dims& x, Dims& y, std::size_t rest) {
  Dims names_left;
  std::int64_t had = 1, given = 1;
  for (std::int64_t d : x) {
    if (is_named(d))
      names_left.push_back(d);
    else
      had *= d;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i == rest) continue;
    if (y[i] >= 0) {
      given *= y[i];
      continue;
    }
    const auto found = std::find(names_left.begin(), names_left.end(), y[i]);
    if (found == names_left.end()) return;
    names_left.erase(found);
  }
  if (names_left.size() == 1 && had == given && had > 0) y[rest] = names_left[0];
}

std::optional<Dims> reshaped(const Reshape& op, const Dims& x, const std::vector<std::int64_t>& wanted) {
  Dims out = wanted;
  std::optional<std::size_t> rest;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !op.allow_zero && i < x.size()) out[i] = x[i];
    if (wanted[i] == -1) rest = i;
  }
  if (rest) resolve_rest(x, out, *rest);
  return out;
}

std::vector<std::int64_t> integers(const Graph& graph, const Node& node, std::size_t i) {
  const ValueId id = i < node.inputs.size() ? node.inputs[i] : kNoValue;
  return id == kNoValue || !graph.value(id).constant ? std::vector<std::int64_t>()
                                                     : graph.value(id).constant->to_int64();
}

bool is_given(const Node& node, std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; }

// Everything but the named axes.
Dims except(Dims x, const std::vector<std::int64_t>& axes) {
  for (std::int64_t axis : axes)
    x[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis)] = kNameless;
  return x;
}

Dims permuted(const Transpose& op, const Dims& x) {
  Dims out;
  for (std::size_t i = 0; i < x.size(); ++i)
    out.push_back(x[op.perm.empty() ? x.size() - 1 - i : static_cast<std::size_t>(op.perm[i])]);
  return out;
}

Dims only_first(const Dims& x, std::size_t rank) {
  Dims out = without_names(rank);
  if (!out.empty() && !x.empty()) out[0] = x[0];
  return out;
}

// What can be said of the extents of every output; x are those of the first input.
std::optional<Dims> followed(const Graph& graph, const Node& node, const Dims& x, SymbolicExtents& extents) {
  if (keeps_shape(node.op)) return x;
  if (keeps_batch(node.op)) return only_first(x, x.size());
  if (std::holds_alternative<Binary>(node.op) && graph.value(node.inputs[1]).type.dims)
    return broadcast(x, extents.of(graph, node.inputs[1]));
  if (const auto* op = std::get_if<Transpose>(&node.op)) return permuted(*op, x);
  if (const auto* op = std::get_if<Concat>(&node.op)) return except(x, {op->axis});
  if (const auto* op = std::get_if<Split>(&node.op)) return except(x, {op->axis});
  if (const auto* op = std::get_if<Flatten>(&node.op); op != nullptr && op->axis == 1) return only_first(x, 2);
  if (const auto* op = std::get_if<Gemm>(&node.op); op != nullptr && !op->transpose_a) return only_first(x, 2);
  if (std::holds_alternative<MatMul>(node.op) && x.size() >= 2 && graph.value(node.inputs[1]).type.dims &&
      graph.value(node.inputs[1]).type.rank() == 2)
    return except(x, {-1});
  if (const auto* op = std::get_if<Reshape>(&node.op); op != nullptr && graph.value(node.inputs[1]).constant)
    return reshaped(*op, x, integers(graph, node, 1));
  if (const auto* op = std::get_if<Reduce>(&node.op); op != nullptr && op->keep_dims && !op->axes.empty())
    return except(x, op->axes);
  if (const auto* op = std::get_if<Resize>(&node.op); op != nullptr && !op->axes.empty()) return except(x, op->axes);
  if (std::holds_alternative<Slice>(node.op) && is_given(node, 3)) {
    const std::vector<std::int64_t> axes = integers(graph, node, 3);
    if (!axes.empty()) return except(x, axes);
  }
  if (const auto* op = std::get_if<Unsqueeze>(&node.op)) {
    const std::vector<std::int64_t> axes = op->axes.empty() ? integers(graph, node, 1) : op->axes;
    if (axes == std::vector<std::int64_t>{0}) {
      Dims out = x;
      out.insert(out.begin(), 1);
      return out;
    }
    if (!axes.empty() && std::ranges::all_of(axes, [](std::int64_t a) { return a > 0; }))
      return only_first(x, x.size() + axes.size());
  }
  return std::nullopt;
}

}  // namespace

SymbolicDims SymbolicExtents::of(const Graph& graph, ValueId id) {
  const std::vector<std::int64_t>& known = *graph.value(id).type.dims;
  SymbolicDims& dims = dims_[id];
  if (dims.size() != known.size()) dims = without_names(known.size());
  for (std::size_t d = 0; d < known.size(); ++d) {
    if (known[d] != TensorType::kUnknown) dims[d] = known[d];
    if (dims[d] == kNameless) dims[d] = next_--;
  }
  return dims;
}

void SymbolicExtents::tell(const Graph& graph, ValueId id, const SymbolicDims& dims) {
  if (id == kNoValue || !graph.value(id).type.dims || graph.value(id).type.dims->size() != dims.size()) return;
  dims_[id] = dims;
}

void SymbolicExtents::follow(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNoValue || !graph.value(node.inputs[0]).type.dims) return;
  std::optional<Dims> dims = followed(graph, node, of(graph, node.inputs[0]), *this);
  if (!dims) return;
  for (const FusedOp& fused : node.fused)
    if (keeps_batch(fused.op)) dims = only_first(*dims, dims->size());
  for (ValueId id : node.outputs) tell(graph, id, *dims);
}

}  // namespace tessera::internal
