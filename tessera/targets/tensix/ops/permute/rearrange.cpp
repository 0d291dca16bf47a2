#include "tessera/targets/tensix/ops/permute/rearrange.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/reshape/reshape_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::tensix {
namespace {

constexpr int kFarthestReader = 6;  // nodes that are asked for the columns they want

bool is_reshape(const Op& op) {
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
         std::holds_alternative<Squeeze>(op) || std::holds_alternative<Unsqueeze>(op);
}

// One node: whether it only moves elements, and could be followed.
bool follow(const Node& node, const Lowering& graph, ElementOrder& order) {
  if (!node.fused.empty() || node.outputs.size() != 1 || !graph.value(node.outputs[0]).type.is_static()) return false;
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  if (is_reshape(node.op)) return order.reshape(out);
  if (const auto* transpose = std::get_if<Transpose>(&node.op)) {
    std::vector<std::int64_t> perm = transpose->perm;
    if (perm.empty())
      for (int d = in.rank(); d-- > 0;) perm.push_back(d);
    return order.transpose(perm);
  }
  ElementOrder moved = order;
  if (const auto* op = std::get_if<DepthToSpace>(&node.op)) {
    const std::int64_t b = op->block, c = in[1] / (b * b);
    const bool crd = op->column_row_depth;
    if (!moved.reshape(crd ? Shape{in[0], c, b, b, in[2], in[3]} : Shape{in[0], b, b, c, in[2], in[3]}) ||
        !moved.transpose(crd ? std::vector<std::int64_t>{0, 1, 4, 2, 5, 3}
                             : std::vector<std::int64_t>{0, 3, 4, 1, 5, 2}) ||
        !moved.reshape(out))
      return false;
  } else if (const auto* space = std::get_if<SpaceToDepth>(&node.op)) {
    const std::int64_t b = space->block;
    if (!moved.reshape(Shape{in[0], in[1], in[2] / b, b, in[3] / b, b}) || !moved.transpose({0, 3, 5, 1, 2, 4}) ||
        !moved.reshape(out))
      return false;
  } else {
    return false;
  }
  order = std::move(moved);
  return true;
}

bool moves_elements_only(const Op& op) {
  return is_reshape(op) || std::holds_alternative<Transpose>(op) || std::holds_alternative<DepthToSpace>(op) ||
         std::holds_alternative<SpaceToDepth>(op);
}

// The dimension that its readers would have as columns; none: they do not care.
std::optional<int> wanted_columns(const Lowering& graph, ValueId id, int far = kFarthestReader) {
  if (far == 0) return std::nullopt;
  for (const Node* reader : graph.readers(id)) {
    const Op& op = reader->op;
    const int rank = graph.value(id).type.rank();
    if (std::holds_alternative<MatMul>(op) || std::holds_alternative<Gemm>(op) || std::holds_alternative<Attention>(op))
      return rank - 1;
    if (const auto* norm = std::get_if<LayerNorm>(&op)) return graph.dim(id, norm->axis);
    if (const auto* softmax = std::get_if<Softmax>(&op)) return graph.dim(id, softmax->axis);
    if (std::holds_alternative<Conv>(op) || std::holds_alternative<ConvTranspose>(op) ||
        std::holds_alternative<MaxPool>(op) || std::holds_alternative<AveragePool>(op) ||
        std::holds_alternative<GlobalPool>(op) || std::holds_alternative<Resize>(op) ||
        std::holds_alternative<GroupNorm>(op) || std::holds_alternative<InstanceNorm>(op))
      return 1;
    if (std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) || std::holds_alternative<Clip>(op) ||
        std::holds_alternative<Concat>(op) || std::holds_alternative<Slice>(op))
      if (reader->outputs[0] != kNoValue && graph.value(reader->outputs[0]).type.rank() == rank)
        if (const auto wanted = wanted_columns(graph, reader->outputs[0], far - 1)) return wanted;
  }
  return std::nullopt;
}

bool is_view(const RearrangeLayer& layer, std::int64_t width_before, std::int64_t width_after) {
  return layer.keeps_order() && width_before == width_after;
}

// Images become rows of a dense layer, whose weights take the order that they have.
bool is_flattened_for_product(const Node& node, const Lowering& graph) {
  if (!is_reshape(node.op) || graph.value(node.outputs[0]).type.rank() != 2) return false;
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  const std::vector<const Node*> readers = graph.readers(node.outputs[0]);
  return in.rank() > 2 && in[0] == out[0] && !readers.empty() &&
         std::ranges::all_of(readers, [](const Node* each) { return std::holds_alternative<Gemm>(each->op); });
}

}  // namespace

bool RearrangeLayer::keeps_order() const { return dims.size() <= 1; }

ElementOrder::ElementOrder(const Shape& shape) : from_(shape) {
  std::int64_t stride = shape.volume();
  for (int d = 0; d < shape.rank(); ++d) {
    stride /= std::max<std::int64_t>(shape[d], 1);
    dims_.emplace_back();
    if (shape[d] != 1) dims_.back().push_back({shape[d], stride});
  }
}

Shape ElementOrder::shape() const {
  std::vector<std::int64_t> dims;
  for (const auto& axes : dims_) {
    dims.push_back(1);
    for (const Axis& axis : axes) dims.back() *= axis.size;
  }
  return Shape(std::move(dims));
}

// Neighbours that are one axis are joined.
std::vector<ElementOrder::Axis> ElementOrder::flat() const {
  std::vector<Axis> out;
  for (const auto& axes : dims_)
    for (const Axis& axis : axes) {
      if (!out.empty() && out.back().stride == axis.size * axis.stride)
        out.back() = {out.back().size * axis.size, axis.stride};
      else
        out.push_back(axis);
    }
  return out;
}

bool ElementOrder::reshape(const Shape& to) {
  std::vector<Axis> left = flat();
  std::reverse(left.begin(), left.end());  // the outermost at the back
  std::vector<std::vector<Axis>> dims;
  for (int d = 0; d < to.rank(); ++d) {
    dims.emplace_back();
    for (std::int64_t rest = to[d]; rest > 1;) {
      if (left.empty()) return false;
      Axis& axis = left.back();
      if (rest % axis.size == 0) {
        dims.back().push_back(axis);
        rest /= axis.size;
        left.pop_back();
      } else if (axis.size % rest == 0) {
        dims.back().push_back({rest, axis.stride * (axis.size / rest)});
        axis.size /= rest;
        rest = 1;
      } else {
        return false;
      }
    }
  }
  if (!left.empty()) return false;
  dims_ = std::move(dims);
  return true;
}

bool ElementOrder::transpose(const std::vector<std::int64_t>& perm) {
  if (perm.size() != dims_.size()) return false;
  std::vector<std::vector<Axis>> dims;
  for (const std::int64_t d : perm)
    dims.push_back(dims_[static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(dims_.size()) : d)]);
  dims_ = std::move(dims);
  return true;
}

std::optional<RearrangeLayer> ElementOrder::layer(int columns_before, int columns_after) const {
  // Axes do not cross the columns of the first value.
  std::int64_t column_stride = 1;
  for (int d = columns_before + 1; d < from_.rank(); ++d) column_stride *= from_[d];
  const std::int64_t cuts[] = {column_stride, column_stride * from_[columns_before]};
  std::vector<std::vector<Axis>> dims = dims_;
  for (std::vector<Axis>& axes : dims)
    for (const std::int64_t cut : cuts)
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const Axis axis = axes[i];
        if (axis.stride >= cut || axis.stride * axis.size <= cut) continue;
        if (cut % axis.stride != 0 || axis.stride * axis.size % cut != 0) return std::nullopt;
        axes[i] = {axis.stride * axis.size / cut, cut};
        axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(i) + 1, {cut / axis.stride, axis.stride});
      }
  std::vector<Axis> after;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (static_cast<int>(d) != columns_after) after.insert(after.end(), dims[d].begin(), dims[d].end());
  const auto& last = dims[static_cast<std::size_t>(columns_after)];
  after.insert(after.end(), last.begin(), last.end());
  std::vector<std::size_t> before(after.size());
  std::iota(before.begin(), before.end(), std::size_t{0});
  const auto is_column = [&](const Axis& axis) { return axis.stride >= cuts[0] && axis.stride < cuts[1]; };
  std::ranges::stable_sort(before, [&](std::size_t a, std::size_t b) {
    if (is_column(after[a]) != is_column(after[b])) return is_column(after[b]);
    return after[a].stride > after[b].stride;
  });
  // What stays together is one dimension.
  std::vector<std::size_t> place(after.size());
  for (std::size_t i = 0; i < before.size(); ++i) place[before[i]] = i;
  RearrangeLayer out;
  std::vector<std::size_t> firsts;  // of the joined ones, in the order of the result: where they were
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (i > 0 && place[i] == place[i - 1] + 1) {
      sizes.back() *= after[i].size;
    } else {
      firsts.push_back(place[i]);
      sizes.push_back(after[i].size);
    }
  }
  std::vector<std::size_t> sorted(firsts.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, {}, [&](std::size_t i) { return firsts[i]; });
  out.order.resize(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    out.dims.push_back(sizes[sorted[i]]);
    out.order[sorted[i]] = static_cast<std::int64_t>(i);
  }
  out.images = from_.rank() > 0 ? from_[0] : 1;
  return out;
}

CardLayer turned(const Shape& shape, int from, int to) {
  const std::optional<RearrangeLayer> layer = ElementOrder(shape).layer(from, to);
  check(layer.has_value(), Code::internal, "{} cannot be turned from {} to {}", shape.to_string(), from, to);
  if (is_view(*layer, shape[from], shape[to])) return ReshapeLayer{};
  return *layer;
}

std::optional<Lowered> lower_rearrangement(const Node& node, Lowering& graph) {
  if (!moves_elements_only(node.op)) return std::nullopt;
  const ValueId from = node.inputs[0];
  const Shape in = graph.shape(from), first = graph.shape(node.outputs[0]);
  const int columns = graph.columns(from);
  if (columns == 1 && is_reshape(node.op) &&
      ((first.rank() >= 2 && in[0] == first[0] && in[1] == first[1]) || is_flattened_for_product(node, graph)))
    return std::nullopt;  // a reshape has it
  ElementOrder order(in);
  if (!follow(node, graph, order))
    return Refusal{fmt::format("it makes {} of {}, and which element goes where cannot be said in dimensions",
                               first.to_string(), in.to_string()),
                   ""};
  const Node* last = &node;
  std::vector<const Node*> taken;
  for (;;) {
    const Node* next = graph.only_reader(last->outputs[0]);
    if (next == nullptr || !moves_elements_only(next->op) || is_flattened_for_product(*next, graph)) break;
    const TensorType& type = graph.value(next->outputs[0]).type;
    ElementOrder more = order;
    if (!type.is_static() || !follow(*next, graph, more)) break;
    if (!fits_card(type.type, type.shape())) break;
    order = std::move(more);
    taken.push_back(last = next);
  }
  const ValueId to = last->outputs[0];
  const Shape out = graph.shape(to);
  // The matrix as it is, if that is one of the result's; else as its readers want it.
  std::optional<RearrangeLayer> layer;
  int chosen = 0;
  bool view = false;
  const std::optional<int> wanted = wanted_columns(graph, to);
  std::vector<int> candidates;
  if (wanted) candidates.push_back(*wanted);
  candidates.push_back(out.rank() == 4 ? 1 : out.rank() - 1);
  for (int d = out.rank(); d-- > 0;) candidates.push_back(d);
  for (const int d : candidates) {
    std::optional<RearrangeLayer> each = order.layer(columns, d);
    if (!each) continue;
    const bool is = is_view(*each, in[columns], out[d]);
    if (layer && !is) continue;
    layer = std::move(each);
    chosen = d;
    view = is;
    if (is) break;
  }
  if (!layer)
    return Refusal{fmt::format("it makes {} of {}, and which element goes where cannot be said in dimensions",
                               out.to_string(), in.to_string()),
                   ""};
  for (const Node* each : taken) graph.take(*each);
  graph.set_columns(to, chosen);
  if (view) return CardLayer(ReshapeLayer{});
  return CardLayer(*std::move(layer));
}

}  // namespace tessera::tensix
