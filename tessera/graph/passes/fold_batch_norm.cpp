// What scales and shifts each channel behind a convolution or a dense layer moves into its weights and its bias.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/internal/scaled_array.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using internal::Rewriter;

// y = scale * x + shift for each channel.
struct Affine {
  std::vector<double> scale, shift;
};

// A convolution or dense layer whose weights and bias are constants.
struct Layer {
  Node* node = nullptr;
  const Array* weights = nullptr;
  std::int64_t channels = 0;
  int rank = 0;  // of what it makes
};

std::int64_t channels_of(const Op& op, const Shape& weights) {
  if (const auto* transposed = std::get_if<ConvTranspose>(&op)) return weights[1] * transposed->groups;
  if (const auto* gemm = std::get_if<Gemm>(&op)) return weights[gemm->transpose_b ? 0 : 1];
  return weights[0];
}

std::optional<Layer> layer_that_makes(const Rewriter& r, ValueId id) {
  Node* node = r.maker(id);
  if (node == nullptr || !node->fused.empty() || r.uses(id) != 1) return std::nullopt;
  if (!std::holds_alternative<Conv>(node->op) && !std::holds_alternative<ConvTranspose>(node->op) &&
      !std::holds_alternative<Gemm>(node->op))
    return std::nullopt;
  const Array* weights = r.constant(node->inputs[1]);
  const ValueId bias = internal::input(*node, 2);
  if (weights == nullptr || weights->count() == 0 || !internal::is_floating_type(weights->type()) ||
      (bias != kNoValue && r.constant(bias) == nullptr))
    return std::nullopt;
  return Layer{node, weights, channels_of(node->op, weights->shape()), weights->shape().rank()};
}

// A constant that has one element or one for each channel, seen beside a tensor of that rank with channels in
// dimension 1.
std::optional<std::vector<double>> per_channel(const Array* array, int rank, std::int64_t channels) {
  if (array == nullptr || array->shape().rank() > rank) return std::nullopt;
  const int missing = rank - array->shape().rank();
  for (int d = 0; d < array->shape().rank(); ++d) {
    const std::int64_t extent = array->shape()[d];
    if (extent != 1 && (d + missing != 1 || extent != channels)) return std::nullopt;
  }
  std::vector<double> values = array->to_double();
  if (values.size() == 1) values.assign(static_cast<std::size_t>(channels), values[0]);
  return values;
}

std::optional<Affine> batch_norm(const Rewriter& r, const Node& node, const BatchNorm& op, const Layer& layer) {
  if (op.training || std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId id) { return id >= 0; }))
    return std::nullopt;
  std::vector<double> parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const Array* array = r.constant(node.inputs[i + 1]);
    if (array == nullptr || array->count() != layer.channels) return std::nullopt;
    parameters[i] = array->to_double();
  }
  const auto& [scale, bias, mean, variance] = parameters;
  Affine affine;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    affine.scale.push_back(scale[c] / std::sqrt(variance[c] + static_cast<double>(op.epsilon)));
    affine.shift.push_back(bias[c] - mean[c] * affine.scale.back());
  }
  return affine;
}

std::optional<Affine> arithmetic(const Rewriter& r, const Node& node, const Binary& op, ValueId x, const Layer& layer) {
  const bool reversed = node.inputs[1] == x;
  const std::optional<std::vector<double>> values =
      per_channel(r.constant(node.inputs[reversed ? 0 : 1]), layer.rank, layer.channels);
  if (!values) return std::nullopt;
  Affine affine{std::vector<double>(values->size(), 1.0), std::vector<double>(values->size(), 0.0)};
  switch (op.kind) {
    case Binary::Kind::add: affine.shift = *values; break;
    case Binary::Kind::mul: affine.scale = *values; break;
    case Binary::Kind::sub:
      affine.shift = *values;
      if (reversed)
        std::ranges::fill(affine.scale, -1.0);
      else
        for (double& v : affine.shift) v = -v;
      break;
    case Binary::Kind::div:
      if (reversed) return std::nullopt;
      std::ranges::transform(*values, affine.scale.begin(), [](double v) { return 1 / v; });
      break;
    default: return std::nullopt;
  }
  return affine;
}

std::optional<Affine> affine_of(const Rewriter& r, const Node& node, ValueId x, const Layer& layer) {
  if (!node.fused.empty()) return std::nullopt;
  if (const auto* op = std::get_if<BatchNorm>(&node.op)) return batch_norm(r, node, *op, layer);
  if (const auto* op = std::get_if<Binary>(&node.op)) return arithmetic(r, node, *op, x, layer);
  return std::nullopt;
}

// The factors of a layer's weights, one for each run of so many elements.
struct Factors {
  std::int64_t run = 1;
  std::vector<double> factors;
};

Factors factors_of_weights(const Op& op, const Shape& weights, const std::vector<double>& scale) {
  if (const auto* gemm = std::get_if<Gemm>(&op)) return {gemm->transpose_b ? weights[1] : 1, scale};
  const std::int64_t taps = weights.volume() / (weights[0] * weights[1]);
  const auto* transposed = std::get_if<ConvTranspose>(&op);
  if (transposed == nullptr) return {taps * weights[1], scale};
  Factors factors{taps, {}};
  const std::int64_t per_group = weights[0] / transposed->groups;
  for (std::int64_t input = 0; input < weights[0]; ++input) {
    const auto first = scale.begin() + input / per_group * weights[1];
    factors.factors.insert(factors.factors.end(), first, first + weights[1]);
  }
  return factors;
}

bool all_finite(const Array& array) {
  return std::ranges::all_of(array.to_double(), [](double v) { return std::isfinite(v); });
}

// None if one of them overflows.
std::optional<Array> scaled_weights(const Rewriter& r, const Layer& layer, const std::vector<double>& scale) {
  const Factors factors = factors_of_weights(layer.node->op, layer.weights->shape(), scale);
  if (layer.weights->type() == ElementType::float32)
    return internal::scaled_array(r.graph().value(layer.node->inputs[1]).constant, factors.run, factors.factors);
  std::vector<double> scaled = layer.weights->to_double();
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] *= factors.factors[i / static_cast<std::size_t>(factors.run) % factors.factors.size()];
  Array array = internal::floating_array(layer.weights->type(), layer.weights->shape(), scaled);
  return all_finite(array) ? std::optional(std::move(array)) : std::nullopt;
}

// Scales and shifts what the layer makes. False where the numbers do not allow it: weights that overflow would turn
// results that were finite into something else.
bool fold(Rewriter& r, const Layer& layer, const Affine& affine) {
  Node& node = *layer.node;
  auto* gemm = std::get_if<Gemm>(&node.op);
  const ElementType type = layer.weights->type();
  std::vector<double> bias(affine.shift.size(), 0.0);
  if (internal::input(node, 2) != kNoValue) {
    const Array* old = r.constant(node.inputs[2]);
    const auto values = gemm ? per_channel(old, 2, layer.channels) : std::optional(old->to_double());
    if (!values) return false;
    bias = *values;
    for (double& v : bias) v *= gemm ? static_cast<double>(gemm->beta) : 1.0;
  }
  for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * affine.scale[c] + affine.shift[c];
  Array new_bias = internal::floating_array(type, Shape{layer.channels}, bias);
  if (!all_finite(new_bias)) return false;

  ValueId weights = node.inputs[1];
  if (std::ranges::any_of(affine.scale, [](double s) { return s != 1; })) {
    std::optional<Array> array = scaled_weights(r, layer, affine.scale);
    if (!array) return false;
    weights = r.add_constant(r.graph().value(weights).name, std::move(*array));
  }
  const std::string name =
      internal::input(node, 2) == kNoValue ? node.name + ".bias" : r.graph().value(node.inputs[2]).name;
  if (gemm) gemm->beta = 1;
  r.set_inputs(node, {node.inputs[0], weights, r.add_constant(name, std::move(new_bias))});
  return true;
}

void fold_into_layer(Rewriter& r, Rewriter::NodeAt at) {
  Node& node = *at;
  if (!std::holds_alternative<BatchNorm>(node.op) && !std::holds_alternative<Binary>(node.op)) return;
  const std::size_t operands = std::holds_alternative<Binary>(node.op) ? 2 : 1;
  for (std::size_t i = 0; i < operands; ++i) {
    const std::optional<Layer> layer = layer_that_makes(r, node.inputs[i]);
    if (!layer) continue;
    const std::optional<Affine> affine = affine_of(r, node, node.inputs[i], *layer);
    if (affine && fold(r, *layer, *affine)) r.absorb(*layer->node, node);
    return;
  }
}

}  // namespace

bool fold_batch_norm(Graph& graph) { return internal::rewrite_until_settled(graph, fold_into_layer); }

}  // namespace tessera
