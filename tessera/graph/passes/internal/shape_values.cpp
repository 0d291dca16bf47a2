#include "tessera/graph/passes/internal/shape_values.h"

#include "tessera/graph/ops/internal/expect.h"

#include <algorithm>

namespace tessera::internal {
namespace {

constexpr std::int64_t kLongest = 64;  // no shape is longer, nor anything made of one

std::int64_t position(std::int64_t at, std::int64_t count) {
  return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
}

bool is_list(const Rewriter& r, ValueId id) { return r.type(id).dims && r.type(id).rank() <= 1; }

std::optional<ShapeList> gathered(const Rewriter& r, const Node& node, const ShapeList& x) {
  const auto indices = integers_of(r, node.inputs[1]);
  if (!indices || r.type(node.inputs[1]).rank() > 1 || r.type(node.inputs[0]).rank() != 1) return std::nullopt;
  ShapeList out;
  for (std::int64_t i : *indices) {
    const std::int64_t at = i < 0 ? i + static_cast<std::int64_t>(x.size()) : i;
    if (at < 0 || at >= static_cast<std::int64_t>(x.size())) return std::nullopt;
    out.push_back(x[static_cast<std::size_t>(at)]);
  }
  return out;
}

std::optional<ShapeList> sliced(const Rewriter& r, const Node& node, const ShapeList& x) {
  const auto starts = integers_of(r, node.inputs[1]), ends = integers_of(r, node.inputs[2]);
  const ValueId steps = input(node, 4);
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || (steps != kNoValue && scalar_of(r, steps) != 1.0))
    return std::nullopt;
  const auto count = static_cast<std::int64_t>(x.size());
  const std::int64_t first = position((*starts)[0], count), last = std::max(first, position((*ends)[0], count));
  return ShapeList(x.begin() + first, x.begin() + last);
}

std::optional<ShapeList> computed(const Binary& op, const ShapeList& a, const ShapeList& b, SymbolicExtents& extents) {
  using Kind = Binary::Kind;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  if (op.kind != Kind::add && op.kind != Kind::sub && op.kind != Kind::mul && op.kind != Kind::div) return std::nullopt;
  const bool sum = op.kind == Kind::add || op.kind == Kind::sub,
             either_way = op.kind == Kind::add || op.kind == Kind::mul;
  const std::int64_t neutral = sum ? 0 : 1;
  ShapeList out;
  const std::size_t count = a.size() == 1 ? b.size() : a.size();  // one element broadcast with none is none
  for (std::size_t i = 0; i < count; ++i) {
    const ShapeElement &p = a[a.size() == 1 ? 0 : i], &q = b[b.size() == 1 ? 0 : i];
    ShapeElement result{false, 0};
    bool overflow = false;
    if (p.known && q.known) {
      result.known = true;
      switch (op.kind) {
        case Kind::add: overflow = __builtin_add_overflow(p.value, q.value, &result.value); break;
        case Kind::sub: overflow = __builtin_sub_overflow(p.value, q.value, &result.value); break;
        case Kind::mul: overflow = __builtin_mul_overflow(p.value, q.value, &result.value); break;
        default:
          if (p.value < 0 || q.value <= 0) return std::nullopt;
          result.value = p.value / q.value;
      }
    } else if (q.known && q.value == neutral) {
      result = p;
    } else if (either_way && p.known && p.value == neutral) {
      result = q;
    } else {
      result.value = extents.new_name();
    }
    if (overflow) return std::nullopt;
    out.push_back(result);
  }
  return out;
}

ShapeList shape_of(const ShapeOf& op, const SymbolicDims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t first = position(op.start, rank), last = std::max(first, op.end ? position(*op.end, rank) : rank);
  ShapeList out;
  for (std::int64_t d = first; d < last; ++d) {
    const std::int64_t extent = dims[static_cast<std::size_t>(d)];
    out.push_back({!is_named(extent), extent});
  }
  return out;
}

bool keeps_elements(const Node& node) {
  const auto* cast = std::get_if<Cast>(&node.op);
  return is_unary(node, Unary::Kind::identity) || std::holds_alternative<Squeeze>(node.op) ||
         std::holds_alternative<Unsqueeze>(node.op) || std::holds_alternative<Reshape>(node.op) ||
         std::holds_alternative<Flatten>(node.op) ||
         (cast != nullptr && (cast->to == ElementType::int64 || cast->to == ElementType::int32));
}

}  // namespace

std::optional<ShapeList> ShapeValues::of(const Rewriter& r, ValueId id) const {
  if (id == kNoValue) return std::nullopt;
  if (const auto found = lists_.find(id); found != lists_.end()) return found->second;
  const Array* array = r.constant(id);
  if (array == nullptr || !is_integer(array->type()) || array->type() == ElementType::uint64 ||
      array->count() > kLongest)
    return std::nullopt;
  ShapeList out;
  for (std::int64_t v : array->to_int64()) out.push_back({true, v});
  return out;
}

void ShapeValues::follow(const Rewriter& r, SymbolicExtents& extents, const Node& node) {
  if (!node.fused.empty() || node.outputs.empty() || node.outputs[0] == kNoValue || node.inputs.empty() ||
      node.inputs[0] == kNoValue)
    return;
  const ValueId x = node.inputs[0];
  std::optional<ShapeList> made;
  if (const auto* shape = std::get_if<ShapeOf>(&node.op)) {
    if (r.type(x).dims) made = shape_of(*shape, extents.of(r.graph(), x));
  } else if (std::holds_alternative<Concat>(node.op)) {
    made.emplace();
    for (ValueId id : node.inputs) {
      const std::optional<ShapeList> part = is_list(r, id) ? of(r, id) : std::nullopt;
      if (!part) return;
      made->insert(made->end(), part->begin(), part->end());
    }
  } else if (const std::optional<ShapeList> list = of(r, x)) {
    if (std::holds_alternative<Gather>(node.op))
      made = gathered(r, node, *list);
    else if (std::holds_alternative<Slice>(node.op) && is_list(r, x))
      made = sliced(r, node, *list);
    else if (keeps_elements(node))
      made = list;
    else if (const auto* binary = std::get_if<Binary>(&node.op); binary != nullptr && is_list(r, node.outputs[0]))
      if (const std::optional<ShapeList> other = of(r, node.inputs[1]))
        made = computed(*binary, *list, *other, extents);
  }
  if (made && made->size() <= static_cast<std::size_t>(kLongest)) lists_[node.outputs[0]] = std::move(*made);
}

}  // namespace tessera::internal
