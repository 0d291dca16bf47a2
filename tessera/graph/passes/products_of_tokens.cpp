// Products of many rows of tokens with a constant matrix become Gemm, which takes a bias and is what kernels fuse
// things into. What follows and works element by element moves in front of the Reshape back, so that it can be fused:
//
//   x (N T C) -> Reshape (N*T, C) -> Gemm -> activation, residual sum -> Reshape (N T D)
//
// A residual sum behind a Transpose (ConvNeXt has its tokens between two of them) is made before it, with the other
// operand transposed instead. Convolutions whose windows neither overlap nor leave anything out, with steps that are
// too wide for other kernels, are such products of patches.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <iterator>

namespace tessera {
namespace {

using internal::Rewriter;
using Dims = std::vector<std::int64_t>;

ValueId reshaped(Rewriter& r, Rewriter::NodeAt at, const std::string& name, ValueId x, const Dims& dims) {
  if (*r.type(x).dims == dims) return x;
  return r.insert(at, name, Reshape{}, {x, r.add_constant(name + ".shape", internal::integer_list(dims))});
}

Rewriter::NodeAt place_of(Rewriter& r, const Node& node) {
  return std::find_if(r.nodes().begin(), r.nodes().end(), [&](const Node& each) { return &each == &node; });
}

// A constant that has one element, or one for each of the last dimension; as a list of that length or a single number.
bool is_beside_columns(const Rewriter& r, ValueId id, std::int64_t columns) {
  const Array* array = r.constant(id);
  if (array == nullptr) return false;
  const Shape shape = array->shape();
  return array->count() == 1 || (array->count() == columns && shape[shape.rank() - 1] == columns);
}

bool is_elementwise(const Rewriter& r, const Node& node) {
  if (!node.fused.empty() || node.outputs.size() != 1 || node.outputs[0] == kNoValue) return false;
  if (std::holds_alternative<Clip>(node.op))
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                       [&](ValueId id) { return id == kNoValue || r.constant(id) != nullptr; });
  return std::holds_alternative<Unary>(node.op);
}

struct Chain {
  ValueId last;                    // what the nodes taken up so far have made, in the shape of tokens
  ValueId rows;                    // the same as a matrix
  std::int64_t count, columns;     // of the matrix
  std::vector<std::int64_t> perm;  // of a Transpose behind it; none: there is none
};

Dims inverse(const Dims& perm) {
  Dims out(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d) out[static_cast<std::size_t>(perm[d])] = static_cast<std::int64_t>(d);
  return out;
}

// Takes up the node that reads the chain, if it can.
bool take_up(Rewriter& r, Chain& chain) {
  Node* reader = r.only_reader(chain.last);
  if (reader == nullptr) return false;
  const Rewriter::NodeAt at = place_of(r, *reader);
  const std::string name = reader->name;
  if (is_elementwise(r, *reader)) {
    std::vector<ValueId> inputs = reader->inputs;
    inputs[0] = chain.rows;
    chain.rows = r.insert(at, name + ".rows", reader->op, std::move(inputs));
    chain.last = reader->outputs[0];
    return true;
  }
  if (const auto* transpose = std::get_if<Transpose>(&reader->op);
      transpose != nullptr && chain.perm.empty() && !transpose->perm.empty() && reader->fused.empty()) {
    // Only with a sum behind it: otherwise it stays where it is.
    const Node* sum = r.only_reader(reader->outputs[0]);
    if (sum == nullptr || !internal::is_binary(*sum, Binary::Kind::add)) return false;
    const ValueId other = sum->inputs[sum->inputs[0] == reader->outputs[0] ? 1 : 0];
    if (r.constant(other) != nullptr || r.type(other) != r.type(reader->outputs[0])) return false;
    chain.perm = transpose->perm;
    chain.last = reader->outputs[0];
    return true;
  }
  const auto* binary = std::get_if<Binary>(&reader->op);
  if (binary == nullptr || !reader->fused.empty()) return false;
  switch (binary->kind) {
    case Binary::Kind::add:
    case Binary::Kind::sub:
    case Binary::Kind::mul:
    case Binary::Kind::div: break;
    default: return false;
  }
  const std::size_t mine = reader->inputs[0] == chain.last ? 0 : 1;
  ValueId other = reader->inputs[1 - mine];
  if (other == chain.last || r.type(reader->outputs[0]) != r.type(chain.last)) return false;
  if (r.constant(other) != nullptr) {
    if (!chain.perm.empty() || !is_beside_columns(r, other, chain.columns)) return false;
    const bool one = r.constant(other)->count() == 1;
    Array list = *r.constant(other);
    other =
        r.add_constant(r.graph().value(other).name,
                       internal::floating_array(list.type(), one ? Shape{} : Shape{chain.columns}, list.to_double()));
  } else {
    if (r.type(other) != r.type(chain.last)) return false;
    if (!chain.perm.empty()) other = r.insert(at, name + ".turned", Transpose{inverse(chain.perm)}, {other});
    other = reshaped(r, at, name + ".other", other, {chain.count, chain.columns});
  }
  chain.rows = r.insert(at, name + ".rows", reader->op,
                        mine == 0 ? std::vector{chain.rows, other} : std::vector{other, chain.rows});
  chain.last = reader->outputs[0];
  return true;
}

// Takes up what can be, and gives the result the shape that it had.
void finish(Rewriter& r, Chain chain, const std::string& name, const Dims& tokens) {
  while (take_up(r, chain)) {
  }
  const Node* last = r.maker(chain.last);
  const Rewriter::NodeAt at = std::next(place_of(r, *last));
  ValueId out = reshaped(r, at, name + ".tokens", chain.rows, tokens);
  if (!chain.perm.empty()) out = r.insert(at, name + ".turned_back", Transpose{chain.perm}, {out});
  r.replace(chain.last, out);
}

void to_rows(Rewriter& r, Rewriter::NodeAt at) {
  const Node& node = *at;
  if (!std::holds_alternative<MatMul>(node.op) || !node.fused.empty()) return;
  const TensorType& x = r.type(node.inputs[0]);
  const Array* w = r.constant(node.inputs[1]);
  if (!x.is_static() || x.rank() < 3 || w == nullptr || w->shape().rank() != 2 || x.shape().volume() == 0) return;
  const std::int64_t depth = w->shape()[0], columns = w->shape()[1], count = x.shape().volume() / depth;
  const Dims tokens = *r.type(node.outputs[0]).dims;
  const std::string name = node.name;
  const ValueId rows = reshaped(r, at, name + ".matrix", node.inputs[0], {count, depth});
  const ValueId made = r.insert(at, name + ".gemm", Gemm{}, {rows, node.inputs[1]});
  finish(r, {node.outputs[0], made, count, columns, {}}, name, tokens);
}

void to_patches(Rewriter& r, Rewriter::NodeAt at) {
  constexpr std::int64_t kWidestStep = 8;  // that convolutions on tensor cores take
  const Node& node = *at;
  const auto* conv = std::get_if<Conv>(&node.op);
  if (conv == nullptr || !node.fused.empty() || conv->groups != 1) return;
  const TensorType& x = r.type(node.inputs[0]);
  const std::shared_ptr<const Array> w = r.graph().value(node.inputs[1]).constant;
  if (!x.is_static() || x.rank() != 4 || w == nullptr || x.shape().volume() == 0) return;
  const Shape image = x.shape(), window = w->shape();
  const std::int64_t kh = window[2], kw = window[3], oc = window[0];
  const auto all = [](const Dims& list, std::int64_t value) {
    return std::ranges::all_of(list, [&](std::int64_t each) { return each == value; });
  };
  if (conv->window.strides != Dims{kh, kw} || !all(conv->window.pads, 0) || !all(conv->window.dilations, 1) ||
      std::max(kh, kw) <= kWidestStep || image[2] % kh != 0 || image[3] % kw != 0)
    return;
  const std::int64_t n = image[0], c = image[1], oh = image[2] / kh, ow = image[3] / kw;
  const std::string name = node.name;
  const ValueId cut = reshaped(r, at, name + ".cut", node.inputs[0], {n, c, oh, kh, ow, kw});
  const ValueId turned = r.insert(at, name + ".patches", Transpose{{0, 2, 4, 1, 3, 5}}, {cut});
  const ValueId rows = reshaped(r, at, name + ".matrix", turned, {n * oh * ow, c * kh * kw});
  const ValueId weights = r.add_constant(r.graph().value(node.inputs[1]).name,
                                         internal::floating_array(w->type(), Shape{oc, c * kh * kw}, w->to_double()));
  std::vector<ValueId> inputs{rows, weights};
  if (internal::input(node, 2) != kNoValue) inputs.push_back(node.inputs[2]);
  Gemm gemm;
  gemm.transpose_b = true;
  const ValueId made = r.insert(at, name + ".gemm", gemm, inputs);
  const ValueId tokens = reshaped(r, at, name + ".tokens", made, {n, oh, ow, oc});
  const ValueId turned_back = r.insert(at, name + ".image", Transpose{{0, 3, 1, 2}}, {tokens});
  r.replace(node.outputs[0], turned_back);
}

}  // namespace

bool products_of_tokens(Graph& graph) {
  const bool patches = internal::rewrite_until_settled(graph, to_patches);
  return internal::rewrite_until_settled(graph, to_rows) || patches;
}

}  // namespace tessera
