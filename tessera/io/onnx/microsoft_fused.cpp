// Operators that ONNX Runtime has fused, taken apart again: our own passes fuse what suits the machine.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/window_attributes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::onnx {
namespace {

using K = Unary::Kind;

ValueId activated(const Formula& f, const std::string& name, const std::vector<float>& given, ValueId y) {
  const auto parameter = [&](std::size_t i, float otherwise) { return i < given.size() ? given[i] : otherwise; };
  if (name.empty()) return y;
  if (name == "Relu") return f.unary(K::relu, y);
  if (name == "Sigmoid") return f.unary(K::sigmoid, y);
  if (name == "Tanh") return f.unary(K::tanh, y);
  if (name == "LeakyRelu") return f.unary(K::leaky_relu, y, parameter(0, 0.01f));
  if (name == "HardSigmoid") return f.unary(K::hard_sigmoid, y, parameter(0, 0.2f), parameter(1, 0.5f));
  if (name == "Elu") return f.unary(K::elu, y, parameter(0, 1.0f));
  if (name == "Softplus") return f.unary(K::softplus, y);
  if (name == "Clip") {
    const ElementType type = f.build().type(y).type;
    return f.build().add(Clip{},
                         {y, f.number(type, static_cast<double>(parameter(0, std::numeric_limits<float>::lowest()))),
                          f.number(type, static_cast<double>(parameter(1, std::numeric_limits<float>::max())))});
  }
  fail(Code::unsupported, "activation '{}' is not known", name);
}

// The last two dimensions, or the first and those of the batch, the other way around.
ValueId turned(const Formula& f, const NodeReader& node, std::size_t i, bool last_two, bool batch) {
  if (!last_two && !batch) return node.input(i);
  const int rank = node.rank(i);
  if (rank < 2) return node.input(i);
  Formula::Dims perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last_two) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return f.transpose(node.input(i), perm);
}

}  // namespace

// Convolution, a sum with the fourth input, an activation.
Values import_fused_conv(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const Conv op{.window = read_window(node), .groups = node.integer("group", 1)};
  const std::string name = node.text("activation", "");
  const std::vector<float> parameters = node.reals("activation_params");
  node.inputs(2, 4);
  ValueId y = build.add(op, {node.input(0), node.input(1), node.input(2)});
  if (node.has_input(3)) y = f.add(y, node.input(3));
  return {activated(f, name, parameters, y)};
}

Values import_fused_gemm(NodeReader& node, NodeBuilder& build) {
  const std::string name = node.text("activation", "");
  std::vector<float> parameters;
  for (const char* attribute : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (const auto value = node.maybe_real(attribute)) parameters.push_back(*value);
  const ValueId y = build.add(Gemm{.alpha = node.real("alpha", 1.0f),
                                   .beta = node.real("beta", 1.0f),
                                   .transpose_a = node.flag("transA", false),
                                   .transpose_b = node.flag("transB", false)},
                              node.inputs(2, 3));
  return {activated(Formula(build), name, parameters, y)};
}

Values import_fused_matmul(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 2);
  const double alpha = static_cast<double>(node.real("alpha", 1.0f));
  const ValueId a = turned(f, node, 0, node.flag("transA", false), node.flag("transBatchA", false));
  const ValueId b = turned(f, node, 1, node.flag("transB", false), node.flag("transBatchB", false));
  const ValueId y = f.matmul(a, b);
  return {alpha == 1 ? y : f.scaled(y, alpha)};
}

// Gelu and BiasGelu exactly, FastGelu by tanh, QuickGelu by a sigmoid.
Values import_microsoft_gelu(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const std::string& name = node.op_type();
  const bool with_bias = name == "BiasGelu" || name == "FastGelu";
  node.inputs(name == "BiasGelu" ? 2 : 1, with_bias ? 2 : 1);
  const ValueId x = node.has_input(1) ? f.add(node.input(0), node.input(1)) : node.input(0);
  if (name == "QuickGelu")
    return {f.mul(x, f.unary(K::sigmoid, f.scaled(x, static_cast<double>(node.real("alpha", 1.702f)))))};
  return {f.unary(name == "FastGelu" ? K::gelu_tanh : K::gelu, x)};
}

Values import_bias_softmax(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 2);
  const std::int64_t axis = node.integer("axis", 1);
  node.ignore({"is_inner_broadcast"});  // operands of one rank say themselves where they repeat
  check(node.rank(0) == node.rank(1), Code::unsupported, "a bias of rank {} for scores of rank {} is not known",
        node.rank(1), node.rank(0));
  return {build.add(Softmax{.axis = axis, .log = false, .flatten = true}, {f.add(node.input(0), node.input(1))})};
}

// Outputs y, mean, inverse deviation, and the sum that was normalised.
Values import_skip_layer_norm(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const bool simplified = node.op_type() == "SkipSimplifiedLayerNormalization";
  const float epsilon = node.real("epsilon", 1e-12f);
  node.inputs(3, simplified ? 4 : 5);
  ValueId sum = f.add(node.input(0), node.input(1));
  const std::size_t bias = simplified ? 3 : 4;
  if (node.has_input(bias)) sum = f.add(sum, node.input(bias));
  if (simplified) {
    const ValueId y = build.add(RmsNorm{.axis = -1, .epsilon = epsilon}, {sum, node.input(2)});
    return {y, kNoValue, kNoValue, sum};
  }
  Values out =
      build.add(LayerNorm{.axis = -1, .epsilon = epsilon, .outputs = 3}, {sum, node.input(2), node.input(3)}, 3);
  out.push_back(sum);
  return out;
}

Values import_simplified_layer_norm(NodeReader& node, NodeBuilder& build) {
  node.ignore({"stash_type"});
  return {
      build.add(RmsNorm{.axis = node.integer("axis", -1), .epsilon = node.real("epsilon", 1e-5f)}, node.inputs(2, 2))};
}

namespace {

struct Heads {
  ValueId q, k, v;  // [batch, length, hidden]
  std::int64_t count;
  std::optional<float> scale;
  bool causal;
  std::vector<ValueId> biases;  // to add to [batch, heads, queries, keys]
};

ValueId attended(const Formula& f, const Heads& h) {
  NodeBuilder& build = f.build();
  check(h.count > 0, Code::parse, "num_heads is {}", h.count);
  const auto split = [&](ValueId x) { return f.transpose(f.reshape(x, {0, 0, h.count, -1}), {0, 2, 1, 3}); };
  const ValueId q = split(h.q), k = split(h.k), v = split(h.v);
  const ElementType type = build.type(q).type;
  const ValueId size = f.cast(f.scalar(f.extent(q, 3)), type);
  const ValueId factor = h.scale && *h.scale != 0 ? f.number(type, static_cast<double>(*h.scale))
                                                  : f.unary(K::reciprocal, f.unary(K::sqrt, size));
  ValueId scores = f.mul(f.matmul(q, f.transpose(k, {0, 1, 3, 2})), factor);
  for (const ValueId bias : h.biases) scores = f.add(scores, bias);
  if (h.causal) {
    // The last query sees the last key.
    const ValueId keys = f.scalar(f.extent(k, 2)), queries = f.scalar(f.extent(q, 2));
    const ValueId row = f.unsqueeze(f.add(f.range(queries), f.sub(keys, queries)), {1});
    scores = f.where(f.less(row, f.range(keys)), f.number(type, -std::numeric_limits<double>::infinity()), scores);
  }
  const ValueId weights = build.add(Softmax{.axis = -1, .log = false, .flatten = false}, {scores});
  return f.reshape(f.transpose(f.matmul(weights, v), {0, 2, 1, 3}), {0, 0, -1});
}

// 1 for keys that count, 0 for those that do not: [batch, keys].
ValueId padding_bias(const Formula& f, ValueId mask, ElementType type, float filter) {
  const ValueId hidden = f.equal(f.cast(mask, ElementType::int64), f.whole(0));
  return f.unsqueeze(f.where(hidden, f.number(type, static_cast<double>(filter)), f.number(type, 0)), {1, 2});
}

}  // namespace

// Inputs x, weights of query, key and value side by side, bias, mask, past, what to add to the scores.
Values import_microsoft_attention(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 7);
  check(!node.has_input(4) && !node.has_input(6), Code::unsupported, "a cache of keys and values is not known");
  check(!node.flag("do_rotary", false), Code::unsupported, "a rotation of the queries is not known");
  node.ignore({"past_present_share_buffer", "rotary_embedding_dim"});
  const float filter = node.real("mask_filter_value", -10000.0f);
  const ElementType type = node.type(0).type;
  ValueId all = f.matmul(node.input(0), node.input(1));
  if (node.has_input(2)) all = f.add(all, node.input(2));
  const std::vector<std::int64_t> sizes = node.integers("qkv_hidden_sizes");
  check(sizes.empty() || sizes.size() == 3, Code::parse, "qkv_hidden_sizes has {} entries", sizes.size());
  const Values parts = build.add(Split{.axis = 2, .sizes = sizes, .outputs = 3}, {all}, 3);
  Heads heads{parts[0],
              parts[1],
              parts[2],
              node.integer("num_heads"),
              node.maybe_real("scale"),
              node.flag("unidirectional", false),
              {}};
  if (node.has_input(3)) {
    check(node.rank(3) == 2, Code::unsupported, "a mask of rank {} is not known", node.rank(3));
    heads.biases.push_back(padding_bias(f, node.input(3), type, filter));
  }
  if (node.has_input(5)) heads.biases.push_back(node.input(5));
  return {attended(f, heads)};
}

// Inputs query, key, value, bias of the three side by side, mask, what to add to the scores, past.
Values import_multi_head_attention(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(3, 10);
  for (std::size_t i = 6; i < 10; ++i)
    check(!node.has_input(i), Code::unsupported, "a cache of keys and values is not known");
  check(node.rank(0) == 3 && node.rank(1) == 3 && node.rank(2) == 3, Code::unsupported,
        "query, key and value of rank 3 are known, not {}, {} and {}", node.rank(0), node.rank(1), node.rank(2));
  const float filter = node.real("mask_filter_value", -10000.0f);
  Values x = {node.input(0), node.input(1), node.input(2)};
  if (node.has_input(3)) {
    Values ends = {f.list({0})};
    for (std::size_t i = 0; i < 3; ++i) {
      ends.push_back(f.add(ends.back(), f.extent(x[i], 2)));
      x[i] = f.add(x[i], f.slice_by(node.input(3), ends[i], ends[i + 1], {0}));
    }
  }
  Heads heads{x[0], x[1], x[2], node.integer("num_heads"), node.maybe_real("scale"), node.flag("unidirectional", false),
              {}};
  if (node.has_input(4)) {
    check(node.rank(4) == 2, Code::unsupported, "a mask of rank {} is not known", node.rank(4));
    heads.biases.push_back(padding_bias(f, node.input(4), node.type(0).type, filter));
  }
  if (node.has_input(5)) heads.biases.push_back(node.input(5));
  return {attended(f, heads)};
}

}  // namespace tessera::onnx
