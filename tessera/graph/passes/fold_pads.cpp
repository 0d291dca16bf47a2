// Exporters write padding that a window's own attribute could say as a Pad in front of it.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>

namespace tessera {
namespace {

using internal::Rewriter;
using Dims = std::vector<std::int64_t>;

// Begins then ends of the spatial dimensions, if the node only surrounds those with zeros.
std::optional<Dims> zeros_around(const Rewriter& r, const Node& node) {
  if (std::get<Pad>(node.op).mode != Pad::Mode::constant || !r.type(node.inputs[0]).dims) return std::nullopt;
  const ValueId value = internal::input(node, 2), axes_at = internal::input(node, 3);
  if (value != kNoValue && internal::scalar_of(r, value) != 0.0) return std::nullopt;
  const std::optional<Dims> pads = internal::integers_of(r, node.inputs[1]), axes = internal::integers_of(r, axes_at);
  const int rank = r.type(node.inputs[0]).rank();
  if (!pads || (axes_at != kNoValue && !axes) || rank < 3) return std::nullopt;
  const std::size_t count = pads->size() / 2, spatial = static_cast<std::size_t>(rank) - 2;
  Dims out(2 * spatial);
  for (std::size_t i = 0; i < count; ++i) {
    const int axis = normalized_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank, Pad::kName);
    const std::int64_t begin = (*pads)[i], end = (*pads)[count + i];
    if (begin < 0 || end < 0 || (axis < 2 && (begin > 0 || end > 0))) return std::nullopt;
    if (axis < 2) continue;
    out[static_cast<std::size_t>(axis) - 2] = begin;
    out[static_cast<std::size_t>(axis) - 2 + spatial] = end;
  }
  return out;
}

bool is_unpadded(const Window& window) {
  return window.auto_pad == AutoPad::valid || std::ranges::all_of(window.pads, [](std::int64_t p) { return p == 0; });
}

bool pad_more(Window& window, const Dims& by) {
  if (window.auto_pad != AutoPad::none && window.auto_pad != AutoPad::valid) return false;
  if (window.auto_pad == AutoPad::valid || window.pads.empty()) window.pads.assign(by.size(), 0);
  window.auto_pad = AutoPad::none;
  for (std::size_t i = 0; i < by.size(); ++i) window.pads[i] += by[i];
  return true;
}

// Zeros in front of an average count as elements of it, so that afterwards all padding must.
bool pad_average(AveragePool& pool, const Dims& by) {
  if (pool.ceil_mode || (!pool.count_include_pad && !is_unpadded(pool.window)) || !pad_more(pool.window, by))
    return false;
  pool.count_include_pad = true;
  return true;
}

void fold_pad(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  const bool conv = std::holds_alternative<Conv>(node.op), average = std::holds_alternative<AveragePool>(node.op);
  if (!conv && !average) return;
  const Node* pad = r.made_by<Pad>(node.inputs[0]);
  const std::optional<Dims> by = pad == nullptr ? std::nullopt : zeros_around(r, *pad);
  if (!by) return;
  Op op = node.op;
  if (conv ? !pad_more(std::get<Conv>(op).window, *by) : !pad_average(std::get<AveragePool>(op), *by)) return;
  node.op = std::move(op);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad->inputs[0];
  r.set_inputs(node, std::move(inputs));
}

}  // namespace

bool fold_pads(Graph& graph) { return internal::rewrite_until_settled(graph, fold_pad); }

}  // namespace tessera
