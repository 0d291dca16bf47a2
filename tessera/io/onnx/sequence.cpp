// Sequences of tensors, where it is known at import which tensors they hold.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

constexpr std::int64_t kMaxElements = 4096;

// A position that may count from the end, `end` itself allowed for what is put behind everything.
std::size_t position(const NodeReader& node, std::size_t i, std::size_t count, bool end) {
  const Array* at = node.constant(i);
  check(at != nullptr && at->count() == 1, Code::unsupported, "the position in a sequence must be a constant number");
  const std::int64_t given = at->to_int64().front(), size = static_cast<std::int64_t>(count);
  check(given >= -size && given < size + (end ? 1 : 0), Code::parse, "position {} is outside a sequence of {}", given,
        size);
  return static_cast<std::size_t>(given < 0 ? given + size : given);
}

}  // namespace

Values import_sequence_construct(NodeReader& node, NodeBuilder& build) {
  check(node.input_count() > 0, Code::parse, "at least one input is needed");
  for (std::size_t i = 0; i < node.input_count(); ++i) node.type(i);  // refuses sequences in sequences
  return {build.sequence(node.inputs())};
}

Values import_sequence_empty(NodeReader& node, NodeBuilder& build) {
  node.ignore({"dtype"});
  node.inputs(0, 0);
  return {build.sequence({})};
}

Values import_sequence_at(NodeReader& node, NodeBuilder& build) {
  node.inputs(2, 2);
  if (build.dry()) return {kBroken};
  const Values& elements = build.elements(node.input(0));
  return {elements[position(node, 1, elements.size(), false)]};
}

Values import_sequence_insert(NodeReader& node, NodeBuilder& build) {
  node.inputs(2, 3);
  if (build.dry()) return {kBroken};
  Values elements = build.elements(node.input(0));
  node.type(1);
  check(static_cast<std::int64_t>(elements.size()) < kMaxElements, Code::unsupported, "a sequence of {} is too long",
        elements.size() + 1);
  const std::size_t at = node.has_input(2) ? position(node, 2, elements.size(), true) : elements.size();
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), node.input(1));
  return {build.sequence(std::move(elements))};
}

Values import_sequence_erase(NodeReader& node, NodeBuilder& build) {
  node.inputs(1, 2);
  if (build.dry()) return {kBroken};
  Values elements = build.elements(node.input(0));
  check(!elements.empty(), Code::parse, "the sequence is empty already");
  const std::size_t at = node.has_input(1) ? position(node, 1, elements.size(), false) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return {build.sequence(std::move(elements))};
}

Values import_sequence_length(NodeReader& node, NodeBuilder& build) {
  node.inputs(1, 1);
  if (build.dry()) return {kBroken};
  return {Formula(build).whole(static_cast<std::int64_t>(build.elements(node.input(0)).size()))};
}

// The second input is a list of extents, one extent for all (less at the end), or left out: then extents of 1, which go
// away without keepdims.
Values import_split_to_sequence(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(1, 2);
  const bool keep = node.flag("keepdims", true) || node.has_input(1);
  const std::int64_t given_axis = node.integer("axis", 0);
  if (build.dry()) return {kBroken};
  const int axis = normalized_axis(given_axis, node.rank(0), node.op_type());
  const std::int64_t extent = (*node.type(0).dims)[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> sizes;
  const Array* split = node.constant(1);
  check(split != nullptr || !node.has_input(1), Code::unsupported, "the extents of the parts must be constants");
  if (split != nullptr && split->shape().rank() == 1) {
    sizes = split->to_int64();
  } else {
    check(extent != TensorType::kUnknown, Code::unsupported,
          Hint{"give the model's inputs shapes (--shape NAME:1x3x224x224)"},
          "extent {} of the input must be known here, and it is not", axis);
    const std::int64_t step = split == nullptr || split->count() != 1 ? 1 : split->to_int64().front();
    check(step > 0 && extent / step < kMaxElements, Code::unsupported, "{} in parts of {} makes too long a sequence",
          extent, step);
    for (std::int64_t at = 0; at < extent; at += step) sizes.push_back(std::min(step, extent - at));
  }
  check(!sizes.empty() && static_cast<std::int64_t>(sizes.size()) <= kMaxElements, Code::unsupported,
        "a sequence of {} parts is not known", sizes.size());
  const int count = static_cast<int>(sizes.size());
  Values parts = build.add(Split{.axis = axis, .sizes = sizes, .outputs = count}, {node.input(0)}, count);
  if (!keep)
    for (ValueId& part : parts) part = f.squeeze(part, {axis});
  return {build.sequence(std::move(parts))};
}

Values import_concat_from_sequence(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(1, 1);
  const std::int64_t axis = node.integer("axis");
  const bool stack = node.flag("new_axis", false);
  if (build.dry()) return {kBroken};
  Values parts = build.elements(node.input(0));
  check(!parts.empty(), Code::parse, "the sequence is empty");
  if (stack)
    for (ValueId& part : parts) part = f.unsqueeze(part, {axis});
  return {f.concat(parts, axis)};
}

}  // namespace tessera::onnx
