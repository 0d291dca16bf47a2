#include "tessera/graph/passes/internal/strided_view.h"

#include <algorithm>

namespace tessera::internal {
namespace {

using Dims = std::vector<std::int64_t>;

// The same elements in the same order with other extents, if that is possible without moving them.
std::optional<StridedView> with_extents(const StridedView& view, const Dims& wanted) {
  StridedView out = view;
  out.dims.clear();
  std::vector<StridedView::Dimension> from;
  for (const auto& d : view.dims)
    if (d.size != 1) from.push_back(d);
  std::size_t i = 0;
  std::int64_t left = 1, stride = 0;  // of the extents taken up so far, and what is left of them
  for (const std::int64_t size : wanted) {
    if (size == 0) return std::nullopt;
    if (size == 1) {
      out.dims.push_back({1, 0});
      continue;
    }
    if (left == 1) {
      if (i == from.size()) return std::nullopt;
      left = from[i].size;
      stride = from[i].stride;
      ++i;
    }
    while (left % size != 0) {
      // The next extent goes on where this one ends.
      if (i == from.size() || stride != from[i].stride * from[i].size) return std::nullopt;
      left *= from[i].size;
      stride = from[i].stride;
      ++i;
    }
    left /= size;
    out.dims.push_back({size, stride * left});
  }
  if (left != 1 || i != from.size()) return std::nullopt;
  return out;
}

std::optional<StridedView> permuted(StridedView view, Dims perm) {
  if (perm.empty())
    for (std::size_t d = view.dims.size(); d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  StridedView out = view;
  for (std::size_t d = 0; d < perm.size(); ++d)
    out.dims[d] =
        view.dims[static_cast<std::size_t>(normalized_axis(perm[d], static_cast<int>(perm.size()), Transpose::kName))];
  return out;
}

std::optional<StridedView> one_of(const Rewriter& r, const Node& node, StridedView view) {
  const auto index = integers_of(r, node.inputs[1]);
  if (!index || index->size() != 1 || r.type(node.inputs[1]).rank() > 1) return std::nullopt;
  const int axis = normalized_axis(std::get<Gather>(node.op).axis, static_cast<int>(view.dims.size()), Gather::kName);
  auto& d = view.dims[static_cast<std::size_t>(axis)];
  view.offset += ((*index)[0] < 0 ? (*index)[0] + d.size : (*index)[0]) * d.stride;
  if (r.type(node.inputs[1]).rank() == 0)
    view.dims.erase(view.dims.begin() + axis);
  else
    d.size = 1;
  return view;
}

std::optional<StridedView> part_of(const Rewriter& r, const Node& node, StridedView view, ValueId id) {
  const int axis = normalized_axis(std::get<Split>(node.op).axis, static_cast<int>(view.dims.size()), Split::kName);
  auto& d = view.dims[static_cast<std::size_t>(axis)];
  for (const ValueId part : node.outputs) {
    if (part == kNoValue || !r.type(part).is_static()) return std::nullopt;
    const std::int64_t size = r.type(part).shape()[axis];
    if (part == id) {
      d.size = size;
      return view;
    }
    view.offset += size * d.stride;
  }
  return std::nullopt;
}

std::optional<StridedView> slice_of(const Rewriter& r, const Node& node, StridedView view, ValueId id) {
  const auto starts = integers_of(r, input(node, 1));
  if (!starts) return std::nullopt;
  Dims axes, steps(starts->size(), 1);
  for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (input(node, 3) != kNoValue) {
    const auto given = integers_of(r, node.inputs[3]);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (input(node, 4) != kNoValue) {
    const auto given = integers_of(r, node.inputs[4]);
    if (!given) return std::nullopt;
    steps = *given;
  }
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const int axis = normalized_axis(axes[i], static_cast<int>(view.dims.size()), Slice::kName);
    auto& d = view.dims[static_cast<std::size_t>(axis)];
    if (steps[i] < 1) return std::nullopt;
    const std::int64_t start =
        (*starts)[i] < 0 ? std::max<std::int64_t>(0, (*starts)[i] + d.size) : std::min((*starts)[i], d.size);
    view.offset += start * d.stride;
    d = {r.type(id).shape()[axis], d.stride * steps[i]};
  }
  return view;
}

std::optional<StridedView> scaled(const Rewriter& r, const Node& node) {
  const auto& op = std::get<Binary>(node.op);
  const auto by = scalar_beside(r, node.inputs[1], node.inputs[0]);
  if (!by || *by == 0 || (op.kind != Binary::Kind::mul && op.kind != Binary::Kind::div)) return std::nullopt;
  StridedView view = strided_view(r, node.inputs[0]);
  view.scale *= op.kind == Binary::Kind::mul ? *by : 1 / *by;
  return view;
}

std::optional<StridedView> behind(const Rewriter& r, ValueId id) {
  const Node* node = r.maker(id);
  if (node == nullptr || !node->fused.empty() || node->inputs.empty()) return std::nullopt;
  if (std::holds_alternative<Binary>(node->op)) return scaled(r, *node);
  const bool extents = std::holds_alternative<Reshape>(node->op) || std::holds_alternative<Flatten>(node->op) ||
                       std::holds_alternative<Squeeze>(node->op) || std::holds_alternative<Unsqueeze>(node->op);
  const bool moves = extents || std::holds_alternative<Transpose>(node->op) ||
                     std::holds_alternative<Gather>(node->op) || std::holds_alternative<Split>(node->op) ||
                     std::holds_alternative<Slice>(node->op);
  if (!moves || !r.type(node->inputs[0]).is_static()) return std::nullopt;
  StridedView view = strided_view(r, node->inputs[0]);
  if (extents) return with_extents(view, r.type(id).shape().dims());
  if (const auto* transpose = std::get_if<Transpose>(&node->op)) return permuted(std::move(view), transpose->perm);
  if (std::holds_alternative<Gather>(node->op)) return one_of(r, *node, std::move(view));
  if (std::holds_alternative<Split>(node->op)) return part_of(r, *node, std::move(view), id);
  return slice_of(r, *node, std::move(view), id);
}

}  // namespace

StridedView StridedView::whole(ValueId id, const Shape& shape) {
  StridedView view{.root = id, .offset = 0, .dims = {}, .scale = 1};
  std::int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    view.dims.insert(view.dims.begin(), {shape[d], stride});
    stride *= shape[d];
  }
  return view;
}

StridedView strided_view(const Rewriter& r, ValueId id) {
  if (auto view = behind(r, id)) return *view;
  return StridedView::whole(id, r.type(id).shape());
}

}  // namespace tessera::internal
