// Attention as networks spell it out becomes one operator:
//
//   scores = scale * Q K^T + biases;  y = softmax(scores) V
//
// Q, K and V are mostly parts of one value, N T (3 heads D), that transposes and reshapes have cut into heads. Where
// the steps from that value to an operand only say where its elements lie, the operator reads the value itself.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/internal/strided_view.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

namespace tessera {
namespace {

using internal::Rewriter;
using internal::StridedView;
using Dims = std::vector<std::int64_t>;

std::int64_t product(std::span<const std::int64_t> list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{1}, std::multiplies<>());
}

// A sum in the scores. `lead` are the extents of the scores before the last two, where it was added.
struct Bias {
  ValueId value;
  Dims lead;
  double factor;  // that everything below was multiplied with afterwards
};

struct Scores {
  Node* product = nullptr;  // Q K^T
  double scale = 1;
  std::vector<Bias> biases;
};

// From what softmax reads back to the product, if nobody else reads anything on the way.
std::optional<Scores> scores_of(const Rewriter& r, ValueId id) {
  Scores out;
  for (;;) {
    Node* node = r.maker(id);
    if (node == nullptr || !node->fused.empty() || r.uses(id) != 1 || !r.type(id).is_static()) return std::nullopt;
    const Dims dims = *r.type(id).dims;
    if (dims.size() < 3) return std::nullopt;
    if (std::holds_alternative<MatMul>(node->op)) {
      out.product = node;
      return out;
    }
    if (std::holds_alternative<Reshape>(node->op)) {
      const TensorType& before = r.type(node->inputs[0]);
      if (!before.is_static() || before.rank() < 3 || !std::equal(dims.end() - 2, dims.end(), before.dims->end() - 2))
        return std::nullopt;
      id = node->inputs[0];
      continue;
    }
    const auto* binary = std::get_if<Binary>(&node->op);
    if (binary == nullptr) return std::nullopt;
    const auto scalar = internal::scalar_beside(r, node->inputs[1], node->inputs[0]);
    if (scalar && (binary->kind == Binary::Kind::mul || binary->kind == Binary::Kind::div)) {
      out.scale *= binary->kind == Binary::Kind::mul ? *scalar : 1 / *scalar;
      id = node->inputs[0];
      continue;
    }
    if (binary->kind != Binary::Kind::add) return std::nullopt;
    // The scores are the operand that has their shape and is made; the other may be anything.
    const auto may_be_scores = [&](ValueId operand) {
      return r.type(operand) == r.type(id) && r.maker(operand) != nullptr && r.uses(operand) == 1;
    };
    const bool first = may_be_scores(node->inputs[0]);
    if (!first && !may_be_scores(node->inputs[1])) return std::nullopt;
    out.biases.push_back({node->inputs[first ? 1 : 0], Dims(dims.begin(), dims.end() - 2), out.scale});
    id = node->inputs[first ? 0 : 1];
  }
}

// The bias as B, heads, T', S' of numbers; none where it is no constant or repeats in another way.
struct Plane {
  Dims dims;
  std::vector<double> values;
};

std::optional<Plane> plane_of(const Rewriter& r, const Bias& bias, std::int64_t heads, std::int64_t batch) {
  const Array* array = r.constant(bias.value);
  if (array == nullptr) return std::nullopt;
  Dims dims = array->shape().dims();
  if (dims.size() > bias.lead.size() + 2) return std::nullopt;
  dims.insert(dims.begin(), bias.lead.size() + 2 - dims.size(), 1);
  // It is the same along the first extents of 1; the others of 1 are written out.
  std::size_t first = 0;
  while (first < bias.lead.size() && dims[first] == 1) ++first;
  const Dims written(bias.lead.begin() + static_cast<std::ptrdiff_t>(first), bias.lead.end());
  const std::int64_t planes = product(written), rows = dims[dims.size() - 2], columns = dims.back();
  Plane out;
  if (planes == 1)
    out.dims = {1, 1, rows, columns};
  else if (planes % heads == 0 && batch % (planes / heads) == 0)
    out.dims = {planes / heads, heads, rows, columns};
  else
    return std::nullopt;
  const std::vector<double> values = array->to_double();
  for (std::int64_t p = 0; p < planes; ++p) {
    std::int64_t rest = p, at = 0, step = rows * columns;
    for (std::size_t d = written.size(); d-- > 0;) {
      const std::int64_t index = rest % written[d], extent = dims[first + d];
      rest /= written[d];
      if (extent != 1) at += index * step;
      step *= extent;
    }
    for (std::int64_t i = 0; i < rows * columns; ++i)
      out.values.push_back(values[static_cast<std::size_t>(at + i)] * bias.factor);
  }
  return out;
}

// Both together; none where they do not repeat alike.
std::optional<Plane> sum_of(const Plane& a, const Plane& b) {
  Plane out;
  for (std::size_t d = 0; d < 4; ++d) {
    if (a.dims[d] != b.dims[d] && a.dims[d] != 1 && b.dims[d] != 1) return std::nullopt;
    out.dims.push_back(a.dims[d] == 1 ? b.dims[d] : a.dims[d]);
  }
  const auto at = [](const Plane& plane, const std::array<std::int64_t, 4>& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < 4; ++d) place = place * plane.dims[d] + (plane.dims[d] == 1 ? 0 : index[d]);
    return plane.values[static_cast<std::size_t>(place)];
  };
  std::array<std::int64_t, 4> i{};
  for (i[0] = 0; i[0] < out.dims[0]; ++i[0])
    for (i[1] = 0; i[1] < out.dims[1]; ++i[1])
      for (i[2] = 0; i[2] < out.dims[2]; ++i[2])
        for (i[3] = 0; i[3] < out.dims[3]; ++i[3]) out.values.push_back(at(a, i) + at(b, i));
  return out;
}

// --- operands --------------------------------------------------------------------------------------------------------

struct Shapes {
  std::int64_t batch, heads, queries, keys, depth, width;
};

// An operand as rows of a value that is, or can be seen as, batch, tokens, pitch.
struct Rows {
  ValueId root;
  std::int64_t pitch, offset;
};

std::optional<Rows> rows_of(const Rewriter& r, const StridedView& view, std::int64_t batch, std::int64_t heads,
                            std::int64_t tokens, std::int64_t width) {
  StridedView four = view;
  if (four.dims.size() == 3) {
    // Heads of one sample, or samples of one head.
    const bool samples = heads == 1;
    four.dims.insert(four.dims.begin() + (samples ? 1 : 0), {1, 0});
  }
  if (four.dims.size() != 4) return std::nullopt;
  const auto& d = four.dims;
  const std::array<std::int64_t, 4> sizes{batch, heads, tokens, width};
  for (std::size_t i = 0; i < 4; ++i)
    if (d[i].size != sizes[i]) return std::nullopt;
  const std::int64_t volume = r.type(view.root).shape().volume();
  if (batch * tokens == 0 || volume % (batch * tokens) != 0) return std::nullopt;
  const std::int64_t pitch = volume / (batch * tokens);
  const bool fits = (width == 1 || d[3].stride == 1) && (heads == 1 || d[1].stride == width) &&
                    (tokens == 1 || d[2].stride == pitch) && (batch == 1 || d[0].stride == tokens * pitch);
  if (!fits) return std::nullopt;
  return Rows{view.root, pitch, view.offset};
}

struct Match {
  Attention op;
  Shapes shapes;
  std::vector<ValueId> operands;  // q k v as values to reshape, or the packed one alone
};

ValueId reshaped(Rewriter& r, Rewriter::NodeAt at, const std::string& name, ValueId x, const Dims& dims) {
  if (*r.type(x).dims == dims) return x;
  return r.insert(at, name, Reshape{}, {x, r.add_constant(name + ".shape", internal::integer_list(dims))});
}

void fuse(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  if (!std::holds_alternative<MatMul>(node.op) || !node.fused.empty()) return;
  Node* softmax = r.made_by<Softmax>(node.inputs[0]);
  if (softmax == nullptr || r.uses(node.inputs[0]) != 1 || !r.type(node.outputs[0]).is_static() ||
      !r.type(node.inputs[1]).is_static())
    return;
  const auto& normal = std::get<Softmax>(softmax->op);
  const int rank = r.type(node.outputs[0]).rank();
  const auto last = static_cast<std::int64_t>(rank) - 1;
  if (normal.log || (normal.axis != -1 && normal.axis != last) || rank < 3 || rank > 4) return;
  const std::optional<Scores> scores = scores_of(r, softmax->inputs[0]);
  if (!scores) return;
  const std::array<ValueId, 3> ids{scores->product->inputs[0], scores->product->inputs[1], node.inputs[1]};
  for (const ValueId id : ids)
    if (!r.type(id).is_static() || r.type(id).rank() != rank || r.constant(id) != nullptr) return;
  std::array<StridedView, 3> views;
  for (std::size_t i = 0; i < 3; ++i) views[i] = internal::strided_view(r, ids[i]);
  std::swap(views[1].dims[views[1].dims.size() - 2], views[1].dims.back());

  const Dims q = *r.type(ids[0]).dims, k = *r.type(ids[1]).dims, v = *r.type(ids[2]).dims;
  const auto i = static_cast<std::size_t>(rank);
  const std::int64_t samples = rank == 4 ? q[0] : 1, parts = q[i - 3];
  if (product({k.data(), i - 2}) != samples * parts || product({v.data(), i - 2}) != samples * parts) return;
  Match match;
  match.op.scale = static_cast<float>(scores->scale * views[0].scale * views[1].scale * views[2].scale);
  if (views[2].scale != 1) return;  // of V: it is no part of the scores
  const auto matches = [&](std::int64_t batch, std::int64_t heads) {
    match.shapes = {batch, heads, q[i - 2], k[i - 1], q[i - 1], v[i - 1]};
    const Shapes& s = match.shapes;
    const auto a = rows_of(r, views[0], batch, heads, s.queries, s.depth),
               b = rows_of(r, views[1], batch, heads, s.keys, s.depth),
               c = rows_of(r, views[2], batch, heads, s.keys, s.width);
    if (!a || !b || !c) return false;
    const std::int64_t channels = heads * s.depth;
    if (a->root == b->root && a->root == c->root) {
      if (a->pitch != 3 * channels || s.width != s.depth || a->offset != 0 || b->offset != channels ||
          c->offset != 2 * channels)
        return false;
      match.operands = {a->root};
    } else {
      if (a->pitch != channels || b->pitch != channels || c->pitch != heads * s.width ||
          a->offset + b->offset + c->offset != 0)
        return false;
      match.operands = {a->root, b->root, c->root};
    }
    match.op.heads = heads;
    return true;
  };
  // As the network has it, or with all heads as samples of their own.
  const bool direct = matches(samples, parts) || matches(samples * parts, 1);
  if (!direct) {
    match.shapes = {samples * parts, 1, q[i - 2], k[i - 1], q[i - 1], v[i - 1]};
    match.op.heads = 1;
    match.op.scale = static_cast<float>(scores->scale);
  }
  const Shapes s = match.shapes;
  std::optional<Plane> bias;
  ValueId given = kNoValue;
  for (const Bias& each : scores->biases) {
    const std::optional<Plane> plane = plane_of(r, each, s.heads, s.batch);
    if (plane) {
      bias = bias ? sum_of(*bias, *plane) : plane;
      if (!bias) return;
      continue;
    }
    // One that is computed must lie as the scores do.
    const Dims dims = *r.type(each.value).dims;
    if (each.factor != 1 || scores->biases.size() != 1 || !r.type(each.value).is_static() || dims.size() < 3 ||
        product({dims.data(), dims.size() - 2}) != s.batch * s.heads)
      return;
    given = each.value;
  }

  // All of it is possible: from here on the graph changes.
  if (!direct) {
    Dims perm(i);
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[i - 2], perm[i - 1]);
    match.operands = {ids[0], r.insert(at, node.name + ".keys", Transpose{perm}, {ids[1]}), ids[2]};
  }
  const bool packed = match.operands.size() == 1;
  const std::array<std::int64_t, 3> tokens{s.queries, s.keys, s.keys};
  const std::array<const char*, 3> names{".q", ".k", ".v"};
  std::vector<ValueId> inputs(4, kNoValue);
  for (std::size_t o = 0; o < match.operands.size(); ++o) {
    const std::int64_t volume = r.type(match.operands[o]).shape().volume();
    inputs[o] =
        reshaped(r, at, node.name + names[o], match.operands[o], {s.batch, tokens[o], volume / (s.batch * tokens[o])});
  }
  if (bias) {
    const ElementType type = r.type(node.outputs[0]).type;
    inputs[3] = r.add_constant(node.name + ".bias", internal::floating_array(type, Shape(bias->dims), bias->values));
  } else if (given != kNoValue) {
    const Dims dims = *r.type(given).dims;
    inputs[3] = reshaped(r, at, node.name + ".bias", given, {s.batch, s.heads, dims[dims.size() - 2], dims.back()});
  }
  while (inputs.back() == kNoValue && inputs.size() > (packed ? 1u : 3u)) inputs.pop_back();
  const Dims made = *r.type(node.outputs[0]).dims;
  const ValueId y = r.insert(at, node.name + ".attention", match.op, inputs);
  if (s.heads == 1) {
    r.become(node, Reshape{}, {y, r.add_constant(node.name + ".shape", internal::integer_list(made))});
    return;
  }
  const ValueId split = reshaped(r, at, node.name + ".heads", y, {s.batch, s.queries, s.heads, s.width});
  if (rank == 4) {
    r.become(node, Transpose{{0, 2, 1, 3}}, {split});
  } else {
    const ValueId turned = r.insert(at, node.name + ".turned", Transpose{{0, 2, 1, 3}}, {split});
    r.become(node, Reshape{}, {turned, r.add_constant(node.name + ".shape", internal::integer_list(made))});
  }
}

}  // namespace

bool fuse_attention(Graph& graph) { return internal::rewrite_until_settled(graph, fuse); }

}  // namespace tessera
