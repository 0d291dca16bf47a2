// Whole rows of channels that are moved several times in a row (shifted, cut into windows, turned) are moved once: a
// Gather with the rows' numbers.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tessera {
namespace {

using internal::Rewriter;
using Dims = std::vector<std::int64_t>;

// Which row of the root each row of a value is; dims are those of the value without the last.
struct RowMap {
  Dims dims;
  std::vector<std::int64_t> rows;
};

std::int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

bool is_move(const Rewriter& r, ValueId id) {
  const Node* node = r.maker(id);
  if (node == nullptr || !node->fused.empty() || node->outputs.size() != 1 || !r.type(id).is_static()) return false;
  const TensorType& x = r.type(node->inputs[0]);
  if (!x.is_static() || x.rank() < 2 || r.type(id).rank() < 2 || x.dims->back() != r.type(id).dims->back())
    return false;
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  if (std::holds_alternative<Reshape>(node->op)) return true;
  if (const auto* transpose = std::get_if<Transpose>(&node->op))
    return !transpose->perm.empty() && (transpose->perm.back() == last || transpose->perm.back() == -1);
  if (const auto* concat = std::get_if<Concat>(&node->op)) return concat->axis >= 0 && concat->axis != last;
  if (!std::holds_alternative<Slice>(node->op)) return false;
  for (std::size_t i = 1; i < node->inputs.size(); ++i)
    if (node->inputs[i] != kNoValue && !internal::integers_of(r, node->inputs[i])) return false;
  const auto axes = internal::integers_of(r, internal::input(*node, 3));
  return axes && std::ranges::all_of(*axes, [&](std::int64_t axis) { return axis >= 0 && axis != last; });
}

// Walks back from a value to the one value that all its rows come from.
class Walk {
 public:
  explicit Walk(const Rewriter& r) : r_(r) {}

  // None if rows come from several values, or from a constant.
  std::optional<RowMap> map_of(ValueId id) {
    if (const auto found = maps_.find(id); found != maps_.end()) return found->second;
    std::optional<RowMap> map = is_move(r_, id) ? moved(*r_.maker(id), id) : root_map(id);
    if (map) maps_.emplace(id, *map);
    return map;
  }
  ValueId root() const { return root_; }
  int copies() const { return copies_; }  // nodes on the way that move something

 private:
  std::optional<RowMap> root_map(ValueId id) {
    if (r_.constant(id) != nullptr || (root_ != kNoValue && root_ != id)) return std::nullopt;
    root_ = id;
    RowMap map{*r_.type(id).dims, {}};
    map.dims.pop_back();
    map.rows.resize(static_cast<std::size_t>(product(map.dims)));
    std::iota(map.rows.begin(), map.rows.end(), 0);
    return map;
  }

  std::optional<RowMap> moved(const Node& node, ValueId id) {
    if (std::holds_alternative<Concat>(node.op)) return joined(node, id);
    const std::optional<RowMap> from = map_of(node.inputs[0]);
    if (!from) return std::nullopt;
    RowMap to{*r_.type(id).dims, {}};
    to.dims.pop_back();
    if (std::holds_alternative<Reshape>(node.op)) {
      to.rows = from->rows;
      return to;
    }
    ++copies_;
    Dims steps(from->dims.size(), 1), places(from->dims.size());
    for (std::size_t d = steps.size() - 1; d-- > 0;) steps[d] = steps[d + 1] * from->dims[d + 1];
    std::int64_t offset = 0;
    if (const auto* transpose = std::get_if<Transpose>(&node.op)) {
      for (std::size_t d = 0; d < steps.size(); ++d) places[d] = steps[static_cast<std::size_t>(transpose->perm[d])];
    } else {
      places = steps;
      const Dims starts = *internal::integers_of(r_, node.inputs[1]), axes = *internal::integers_of(r_, node.inputs[3]);
      const auto given = internal::integers_of(r_, internal::input(node, 4));
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<std::size_t>(axes[i]);
        const std::int64_t extent = from->dims[axis], start = starts[i] < 0 ? starts[i] + extent : starts[i];
        offset += std::clamp(start, std::int64_t{0}, std::max<std::int64_t>(extent - 1, 0)) * steps[axis];
        if (given) places[axis] *= (*given)[i];
      }
    }
    const std::int64_t count = product(to.dims);
    to.rows.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, at = offset;
      for (std::size_t d = to.dims.size(); d-- > 0;) {
        at += rest % to.dims[d] * places[d];
        rest /= to.dims[d];
      }
      to.rows.push_back(from->rows[static_cast<std::size_t>(at)]);
    }
    return to;
  }

  std::optional<RowMap> joined(const Node& node, ValueId id) {
    ++copies_;
    RowMap to{*r_.type(id).dims, {}};
    to.dims.pop_back();
    const auto axis = std::get<Concat>(node.op).axis;
    std::vector<RowMap> parts;
    for (const ValueId input : node.inputs) {
      std::optional<RowMap> part = map_of(input);
      if (!part) return std::nullopt;
      parts.push_back(std::move(*part));
    }
    const std::int64_t outer = product(Dims(to.dims.begin(), to.dims.begin() + axis));
    for (std::int64_t o = 0; o < outer; ++o)
      for (const RowMap& part : parts) {
        const std::int64_t run = static_cast<std::int64_t>(part.rows.size()) / outer;
        to.rows.insert(to.rows.end(), part.rows.begin() + o * run, part.rows.begin() + (o + 1) * run);
      }
    return to;
  }

  const Rewriter& r_;
  std::map<ValueId, RowMap> maps_;
  ValueId root_ = kNoValue;
  int copies_ = 0;
};

// Side by side in the last dimension: each row of the result is one row of every part.
std::optional<RowMap> side_by_side(const Rewriter& r, const Node& node, Walk& walk) {
  const auto* concat = std::get_if<Concat>(&node.op);
  if (concat == nullptr || !node.fused.empty() || node.inputs.empty()) return std::nullopt;
  std::vector<RowMap> parts;
  for (const ValueId input : node.inputs) {
    const TensorType& type = r.type(input);
    if (!type.is_static() || (concat->axis != -1 && concat->axis + 1 != type.rank()) ||
        type != r.type(node.inputs[0]) || !is_move(r, input))
      return std::nullopt;
    std::optional<RowMap> part = walk.map_of(input);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  RowMap out{parts[0].dims, {}};
  out.dims.push_back(static_cast<std::int64_t>(parts.size()));
  for (std::size_t row = 0; row < parts[0].rows.size(); ++row)
    for (const RowMap& part : parts) out.rows.push_back(part.rows[row]);
  return out;
}

// Whether the node was replaced, with all that it alone read.
bool merge(Rewriter& r, Rewriter::NodeAt at) {
  const Node& node = *at;
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return false;
  Walk walk(r);
  std::optional<RowMap> map = side_by_side(r, node, walk);
  if (!map && !is_move(r, node.outputs[0])) return false;
  if (!map) map = walk.map_of(node.outputs[0]);
  if (!map || walk.copies() < 2 || map->rows.empty()) return false;
  const Dims made = *r.type(node.outputs[0]).dims;
  const std::int64_t channels = product(made) / static_cast<std::int64_t>(map->rows.size());
  const std::string name = node.name;
  const auto list = [&](const std::string& what, const Dims& values) {
    return r.add_constant(name + what, internal::integer_list(values));
  };
  const std::int64_t count = r.type(walk.root()).shape().volume() / channels;
  const ValueId rows =
      r.insert(at, name + ".all_rows", Reshape{}, {walk.root(), list(".rows_shape", {count, channels})});
  const ValueId picked = r.insert(at, name + ".rows", Gather{0}, {rows, list(".row_numbers", map->rows)});
  r.become(*at, Reshape{}, {picked, list(".shape", made)});
  return true;
}

}  // namespace

// From the last to the first: what is moved again is part of what moves it.
bool merge_moves(Graph& graph) {
  Rewriter rewriter(graph);
  for (auto it = rewriter.nodes().end(); it != rewriter.nodes().begin();) {
    --it;
    if (rewriter.alive(*it)) merge(rewriter, it);
  }
  return rewriter.changed();
}

}  // namespace tessera
