// Shapes that exporters compute at run time although all but the batch is known, and nodes that do nothing.

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/internal/shape_values.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using internal::Rewriter;
using internal::ShapeList;
using internal::SymbolicDims;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kMostComputed = 1024;  // of what is computed here; constant folding does the rest

class Sweep {
 public:
  explicit Sweep(Rewriter& r) : r_(r) {}

  void visit(Rewriter::NodeAt at) {
    Node& node = *at;
    refresh_types(node);
    if (node.outputs.empty() || node.outputs[0] == kNoValue) return;
    if (node.fused.empty()) {
      if (std::holds_alternative<If>(node.op) && inline_branch(at)) return;
      if (does_nothing(node) && r_.replace(node.outputs[0], node.inputs[0])) return;
      if (std::holds_alternative<Reshape>(node.op)) settle_reshape(node);
      if (std::holds_alternative<Resize>(node.op)) settle_resize(node);
    }
    extents_.follow(r_.graph(), node);
    lists_.follow(r_, extents_, node);
    if (node.fused.empty() && !settle_list(node)) compute(node);
  }

 private:
  void refresh_types(const Node& node) {
    const std::vector<TensorType> types = infer_node(r_.graph(), node).outputs;
    for (std::size_t i = 0; i < std::min(types.size(), node.outputs.size()); ++i)
      if (node.outputs[i] != kNoValue) r_.refine(node.outputs[i], types[i]);
  }

  // Every element is known: a constant.
  bool settle_list(Node& node) {
    const ValueId y = node.outputs[0];
    const std::optional<ShapeList> list = lists_.of(r_, y);
    const TensorType& type = r_.type(y);
    if (!list || node.outputs.size() != 1 || !type.is_static() ||
        (type.type != ElementType::int64 && type.type != ElementType::int32) ||
        type.shape().volume() != static_cast<std::int64_t>(list->size()))
      return false;
    Array array(type.type, type.shape());
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!(*list)[i].known) return false;
      if (type.type == ElementType::int64)
        array.as<std::int64_t>()[i] = (*list)[i].value;
      else
        array.as<std::int32_t>()[i] = static_cast<std::int32_t>((*list)[i].value);
      if (type.type == ElementType::int32 && array.as<std::int32_t>()[i] != (*list)[i].value) return false;
    }
    r_.become_constant(node, std::move(array));
    return true;
  }

  // Small results of constants: conditions of branches depend on them.
  void compute(Node& node) {
    const TensorType& type = r_.type(node.outputs[0]);
    if (node.outputs.size() != 1 || std::holds_alternative<If>(node.op) || std::holds_alternative<Loop>(node.op) ||
        !type.is_static() || type.shape().volume() > kMostComputed)
      return;
    std::vector<const Array*> operands;
    for (ValueId id : node.inputs) {
      operands.push_back(r_.constant(id));
      if (id != kNoValue && operands.back() == nullptr) return;
    }
    try {
      std::vector<Array> results = evaluate(node, operands);
      if (results.size() == 1) r_.become_constant(node, std::move(results[0]));
    } catch (const Error&) {
      return;  // the run reports it, if it ever comes there
    }
  }

  // A target with extents that have a name: 0 where the input has it in the same place, -1 for one other.
  void settle_reshape(Node& node) {
    const ValueId x = node.inputs[0];
    const std::optional<ShapeList> wanted =
        r_.constant(node.inputs[1]) != nullptr ? std::nullopt : lists_.of(r_, node.inputs[1]);
    if (!wanted || !r_.type(x).dims) return;
    const SymbolicDims dims = extents_.of(r_.graph(), x);
    const bool zero_keeps = !std::get<Reshape>(node.op).allow_zero;
    Dims target;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      const auto& [known, value] = (*wanted)[i];
      target.push_back(known ? value : zero_keeps && i < dims.size() && dims[i] == value ? 0 : -1);
    }
    if (std::ranges::count(target, -1) > 1) return;
    std::vector<ValueId> inputs = node.inputs;
    inputs[1] = r_.add_constant(node.name + ".shape", internal::integer_list(target));
    r_.set_inputs(node, std::move(inputs));
    refresh_types(node);
  }

  // Sizes of which some are the input's own: those axes are left out, or all become scales where these are exact.
  void settle_resize(Node& node) {
    auto op = std::get<Resize>(node.op);
    const ValueId x = node.inputs[0], sizes = internal::input(node, 3);
    const std::optional<ShapeList> wanted =
        sizes == kNoValue || r_.constant(sizes) != nullptr ? std::nullopt : lists_.of(r_, sizes);
    if (!wanted || !op.axes.empty() || internal::input(node, 1) != kNoValue || !r_.type(x).dims ||
        op.aspect != Resize::Aspect::stretch || op.coordinates == Resize::Coordinates::tf_crop_and_resize ||
        op.coordinates == Resize::Coordinates::tf_half_pixel_for_nn)
      return;
    const SymbolicDims dims = extents_.of(r_.graph(), x);
    if (dims.size() != wanted->size()) return;
    std::vector<float> scales(dims.size(), 1.0f);
    Dims axes, left;
    bool exact = true;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto& [known, value] = (*wanted)[i];
      if (dims[i] == value && known == !internal::is_named(dims[i])) continue;
      if (!known) return;
      axes.push_back(static_cast<std::int64_t>(i));
      left.push_back(value);
      const bool ratio_known = !internal::is_named(dims[i]) && dims[i] > 0;
      const double ratio = ratio_known ? static_cast<double>(value) / static_cast<double>(dims[i]) : 0;
      scales[i] = static_cast<float>(ratio);
      exact = exact && ratio > 0 && static_cast<double>(scales[i]) == ratio && value < (1 << 24) && dims[i] < (1 << 24);
    }
    if (axes.empty()) return;
    if (exact) {
      const ValueId factors = r_.add_constant(
          node.name + ".scales", Array::of<float>(Shape{static_cast<std::int64_t>(scales.size())}, scales));
      r_.become(node, op, {x, kNoValue, factors});
    } else {
      op.axes = axes;
      r_.become(node, op, {x, kNoValue, kNoValue, r_.add_constant(node.name + ".sizes", internal::integer_list(left))});
    }
    refresh_types(node);
  }

  bool has_only(ValueId id, std::int64_t number) const {
    const auto values = internal::integers_of(r_, id);
    return values && std::ranges::all_of(*values, [&](std::int64_t v) { return v == number; });
  }

  bool does_nothing(const Node& node) {
    const ValueId x = internal::input(node, 0);
    if (x == kNoValue) return false;
    const auto absent_or_constant = [&](std::size_t i) {
      return internal::input(node, i) == kNoValue || r_.constant(node.inputs[i]) != nullptr;
    };
    if (internal::is_unary(node, Unary::Kind::identity)) return true;
    if (std::holds_alternative<Dropout>(node.op)) {
      const ValueId mask = node.outputs.size() > 1 ? node.outputs[1] : kNoValue;
      return (mask == kNoValue || r_.uses(mask) == 0) && absent_or_constant(1) && absent_or_constant(2);
    }
    if (const auto* cast = std::get_if<Cast>(&node.op)) return cast->to == r_.type(x).type;
    if (std::holds_alternative<Concat>(node.op)) return node.inputs.size() == 1;
    if (std::holds_alternative<Split>(node.op))
      return node.outputs.size() == 1 && std::get<Split>(node.op).outputs == 1;
    if (std::holds_alternative<Pad>(node.op)) return has_only(node.inputs[1], 0);
    if (std::holds_alternative<TileRepeat>(node.op)) return has_only(node.inputs[1], 1);
    if (std::holds_alternative<Expand>(node.op)) return expands_nothing(node, x);
    if (std::holds_alternative<Slice>(node.op)) return takes_all(node, x);
    if (std::holds_alternative<Resize>(node.op)) return resizes_nothing(node, x);
    return false;
  }

  // Every wanted extent is 1 or the one that is there.
  bool expands_nothing(const Node& node, ValueId x) {
    const std::optional<ShapeList> wanted = lists_.of(r_, node.inputs[1]);
    if (!wanted || !r_.type(x).dims || wanted->size() > r_.type(x).dims->size()) return false;
    const SymbolicDims dims = extents_.of(r_.graph(), x);
    const std::size_t missing = dims.size() - wanted->size();
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      const auto& [known, value] = (*wanted)[i];
      const bool same = value == dims[missing + i] && known == !internal::is_named(dims[missing + i]);
      if (!same && !(known && value == 1)) return false;
    }
    return true;
  }

  bool takes_all(const Node& node, ValueId x) {
    const auto starts = internal::integers_of(r_, node.inputs[1]), ends = internal::integers_of(r_, node.inputs[2]);
    const ValueId axes_at = internal::input(node, 3), steps = internal::input(node, 4);
    const auto axes = internal::integers_of(r_, axes_at);
    if (!starts || !ends || !r_.type(x).dims || (axes_at != kNoValue && !axes) ||
        (steps != kNoValue && !has_only(steps, 1)))
      return false;
    constexpr std::int64_t kBeyondAnything = (std::int64_t{1} << 31) - 1;  // as exporters say "to the end"
    for (std::size_t i = 0; i < starts->size(); ++i) {
      const int axis =
          normalized_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), r_.type(x).rank(), Slice::kName);
      const std::int64_t extent = (*r_.type(x).dims)[static_cast<std::size_t>(axis)];
      const bool to_end = (*ends)[i] >= (extent == TensorType::kUnknown ? kBeyondAnything : extent);
      if ((*starts)[i] != 0 || !to_end) return false;
    }
    return true;
  }

  bool resizes_nothing(const Node& node, ValueId x) {
    const auto& op = std::get<Resize>(node.op);
    if (op.coordinates == Resize::Coordinates::tf_crop_and_resize ||
        op.coordinates == Resize::Coordinates::tf_half_pixel_for_nn || !r_.type(x).dims)
      return false;
    const ValueId scales = internal::input(node, 2), sizes = internal::input(node, 3);
    if (const Array* factors = r_.constant(scales); factors != nullptr && factors->count() > 0)
      return std::ranges::all_of(factors->to_double(), [](double v) { return v == 1; });
    const std::optional<ShapeList> wanted = lists_.of(r_, sizes);
    const SymbolicDims dims = extents_.of(r_.graph(), x);
    if (!wanted || !op.axes.empty() || wanted->size() != dims.size()) return false;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if ((*wanted)[i].value != dims[i] || (*wanted)[i].known == internal::is_named(dims[i])) return false;
    return true;
  }

  // The branch that a constant condition takes, in place of the choice.
  bool inline_branch(Rewriter::NodeAt at) {
    const If op = std::get<If>(at->op);  // keeps the body while the node goes
    const Array* condition = r_.constant(at->inputs[0]);
    if (condition == nullptr || condition->type() != ElementType::boolean || condition->count() != 1) return false;
    const Graph& body = condition->as<bool>()[0] ? *op.then_branch : *op.else_branch;
    if (body.inputs.size() + 1 != at->inputs.size() || body.outputs.size() < at->outputs.size()) return false;

    std::vector<ValueId> here(body.values.size(), kNoValue);
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      here[static_cast<std::size_t>(body.inputs[i])] = at->inputs[i + 1];
    for (std::size_t i = 0; i < body.values.size(); ++i) {
      const Value& value = body.values[i];
      if (here[i] == kNoValue)
        here[i] = value.constant ? r_.add_constant(at->name + "/" + value.name, value.constant)
                                 : r_.add_value(at->name + "/" + value.name, value.type);
    }
    std::vector<Node> nodes = body.nodes;
    try {
      for (Node& node : nodes) {
        node.name = at->name + "/" + node.name;
        for (ValueId& id : node.inputs)
          if (id != kNoValue) id = here[static_cast<std::size_t>(id)];
        for (ValueId& id : node.outputs)
          if (id != kNoValue) id = here[static_cast<std::size_t>(id)];
        refresh_types(node);
      }
    } catch (const Error&) {
      return false;  // a branch that cannot be run: the run reports it
    }
    for (Node& node : nodes) r_.insert(at, std::move(node));
    const std::vector<ValueId> outputs = at->outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoValue) continue;
      const ValueId made = here[static_cast<std::size_t>(body.outputs[i])];
      r_.refine(outputs[i], r_.type(made));
      if (!r_.replace(outputs[i], made))
        r_.replace(outputs[i], r_.insert(at, at->name + "/output", Unary{Unary::Kind::identity}, {made}));
    }
    return true;
  }

  Rewriter& r_;
  internal::SymbolicExtents extents_;
  internal::ShapeValues lists_;
};

}  // namespace

bool eliminate_shape_arithmetic(Graph& graph) {
  for (bool any = false;; any = true) {
    Rewriter rewriter(graph);
    Sweep sweep(rewriter);
    for (auto it = rewriter.nodes().begin(); it != rewriter.nodes().end(); ++it)
      if (rewriter.alive(*it)) sweep.visit(it);
    if (!rewriter.changed()) return any;
  }
}

}  // namespace tessera
