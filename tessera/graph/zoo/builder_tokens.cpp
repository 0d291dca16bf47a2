// Layers of networks that work on tokens, in the form in which exporters write them.

#include "tessera/graph/zoo/builder.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

Array integers(const std::vector<std::int64_t>& values) {
  return Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

ValueId ZooBuilder::layer_norm(const std::string& name, ValueId x) {
  const Shape channels{shape(x)[shape(x).rank() - 1]};
  const ValueId scale = uniform(name + ".weight", channels, 0.8, 1.2),
                bias = uniform(name + ".bias", channels, -0.1, 0.1);
  return keep(graph_.add(name, LayerNorm{.axis = -1, .epsilon = 1e-6f}, {x, scale, bias}), 1);
}

ValueId ZooBuilder::linear(const std::string& name, ValueId x, std::int64_t outputs, double gain, bool bias) {
  const std::int64_t inputs = shape(x)[shape(x).rank() - 1];
  const double deviation = gain / std::sqrt(static_cast<double>(inputs) * mean_square_[x]);
  const ValueId weights = normal(name + ".weight", Shape{inputs, outputs}, deviation);
  const ValueId product = keep(graph_.add(bias ? name + ".product" : name, MatMul{}, {x, weights}), gain * gain);
  if (!bias) return product;
  const ValueId list = uniform(name + ".bias", Shape{outputs}, -0.1 * gain, 0.1 * gain);
  return keep(graph_.add(name, Binary{Binary::Kind::add}, {product, list}), gain * gain);
}

ValueId ZooBuilder::gelu(const std::string& name, ValueId x) {
  const auto number = [&](const char* what, float value) {
    return graph_.add_constant(name + what, Array::scalar<float>(value));
  };
  const ValueId scaled = graph_.add(name + ".scaled", Binary{Binary::Kind::div}, {x, number(".root", 1.4142135f)});
  const ValueId erf = graph_.add(name + ".erf", Unary{Unary::Kind::erf}, {scaled});
  const ValueId above = graph_.add(name + ".above", Binary{Binary::Kind::add}, {erf, number(".one", 1)});
  const ValueId twice = graph_.add(name + ".twice", Binary{Binary::Kind::mul}, {x, above});
  // Of a bell around 0 with a variance of 1.
  return keep(graph_.add(name, Binary{Binary::Kind::mul}, {twice, number(".half", 0.5f)}), 0.425 * mean_square_[x]);
}

ValueId ZooBuilder::scale(const std::string& name, ValueId x, const Shape& extents, double factor) {
  const ValueId by = uniform(name + ".weight", extents, 0.8 * factor, 1.2 * factor);
  return keep(graph_.add(name, Binary{Binary::Kind::mul}, {x, by}), factor * factor * mean_square_[x]);
}

ValueId ZooBuilder::reshape(const std::string& name, ValueId x, const std::vector<std::int64_t>& extents) {
  const ValueId to = graph_.add_constant(name + ".shape", integers(extents));
  return keep(graph_.add(name, Reshape{}, {x, to}), mean_square_[x]);
}

ValueId ZooBuilder::transpose(const std::string& name, ValueId x, const std::vector<std::int64_t>& perm) {
  return keep(graph_.add(name, Transpose{perm}, {x}), mean_square_[x]);
}

ValueId ZooBuilder::slice(const std::string& name, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                          std::int64_t step) {
  const auto list = [&](const char* what, std::int64_t value) {
    return graph_.add_constant(name + what, integers({value}));
  };
  return keep(graph_.add(name, Slice{},
                         {x, list(".starts", begin), list(".ends", end), list(".axes", axis), list(".steps", step)}),
              mean_square_[x]);
}

ValueId ZooBuilder::join(const std::string& name, const std::vector<ValueId>& parts, std::int64_t axis) {
  double sum = 0;
  for (const ValueId part : parts) sum += mean_square_[part];
  return keep(graph_.add(name, Concat{axis}, parts), sum / static_cast<double>(parts.size()));
}

ValueId ZooBuilder::mean(const std::string& name, ValueId x, std::int64_t axis) {
  return keep(graph_.add(name, Reduce{.kind = Reduce::Kind::mean, .axes = {axis}, .keep_dims = false}, {x}),
              mean_square_[x] / 2);
}

ValueId ZooBuilder::pick(const std::string& name, ValueId x, std::int64_t axis, std::int64_t position) {
  const ValueId at = graph_.add_constant(name + ".position", Array::scalar<std::int64_t>(position));
  return keep(graph_.add(name, Gather{axis}, {x, at}), mean_square_[x]);
}

ValueId ZooBuilder::parameter(const std::string& name, const Shape& extents, double deviation) {
  return keep(normal(name, extents, deviation), deviation * deviation);
}

ValueId ZooBuilder::repeated(const std::string& name, ValueId x, const std::vector<std::int64_t>& extents) {
  const ValueId to = graph_.add_constant(name + ".shape", integers(extents));
  return keep(graph_.add(name, Expand{}, {x, to}), mean_square_[x]);
}

ValueId ZooBuilder::patches(const std::string& name, ValueId x, std::int64_t outputs, std::int64_t size) {
  const double fan_in = static_cast<double>(channels(x) * size * size);
  const ValueId weights =
      normal(name + ".weight", Shape{outputs, channels(x), size, size}, 1 / std::sqrt(fan_in * mean_square_[x]));
  Conv op;
  op.window.kernel = {size, size};
  op.window.strides = {size, size};
  return keep(graph_.add(name, op, {x, weights, uniform(name + ".bias", Shape{outputs}, -0.1, 0.1)}), 1);
}

ValueId ZooBuilder::plus(const std::string& name, ValueId x, ValueId parameter) {
  return keep(graph_.add(name, Binary{Binary::Kind::add}, {x, parameter}), mean_square_[x] + mean_square_[parameter]);
}

ValueId ZooBuilder::self_attention(const std::string& name, ValueId x, std::int64_t heads, double gain, ValueId bias,
                                   ValueId mask) {
  const std::int64_t n = shape(x)[0], tokens = shape(x)[1], channels = shape(x)[2], size = channels / heads;
  ValueId qkv = linear(name + ".qkv", x, 3 * channels);
  qkv = transpose(name + ".split", reshape(name + ".heads", qkv, {n, tokens, 3, heads, size}), {2, 0, 3, 1, 4});
  ValueId q = pick(name + ".q", qkv, 0, 0);
  const ValueId k = pick(name + ".k", qkv, 0, 1), v = pick(name + ".v", qkv, 0, 2);
  const ValueId factor = graph_.add_constant(
      name + ".factor", Array::scalar<float>(static_cast<float>(1 / std::sqrt(static_cast<double>(size)))));
  q = graph_.add(name + ".scaled", Binary{Binary::Kind::mul}, {q, factor});
  ValueId scores = graph_.add(name + ".scores", MatMul{}, {q, transpose(name + ".k_transposed", k, {0, 1, 3, 2})});
  keep(scores, 1);
  if (bias != kNoValue) {
    const ValueId all = reshape(name + ".bias_of_all", bias, {1, heads, tokens, tokens});
    scores = plus(name + ".biased", scores, all);
  }
  if (mask != kNoValue) {
    const std::int64_t windows = shape(mask)[0];
    scores = reshape(name + ".windows", scores, {n / windows, windows, heads, tokens, tokens});
    const ValueId each = reshape(name + ".mask_of_heads", mask, {1, windows, 1, tokens, tokens});
    scores = plus(name + ".masked", scores, each);
    scores = reshape(name + ".joined", scores, {n, heads, tokens, tokens});
  }
  const ValueId weights = graph_.add(name + ".softmax", Softmax{}, {scores});
  // Scores with a variance of 1 make averages over a little less than all tokens.
  ValueId y = keep(graph_.add(name + ".values", MatMul{}, {weights, v}), std::exp(1.0) / static_cast<double>(tokens));
  y = reshape(name + ".tokens", transpose(name + ".back", y, {0, 2, 1, 3}), {n, tokens, channels});
  return linear(name + ".proj", y, channels, gain);
}

}  // namespace tessera
