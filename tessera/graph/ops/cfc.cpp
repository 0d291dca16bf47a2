#include "tessera/graph/ops/cfc.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/agreed.h"
#include "tessera/graph/ops/internal/liquid.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace tessera {
namespace {

std::int64_t extent(const TensorType& type, int axis) {
  return type.dims ? (*type.dims)[static_cast<std::size_t>(axis)] : TensorType::kUnknown;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double lecun_tanh(double x) { return 1.7159 * std::tanh(0.666 * x); }

double activated(Cfc::Activation activation, double x) {
  switch (activation) {
    case Cfc::Activation::lecun_tanh: return lecun_tanh(x);
    case Cfc::Activation::silu: return x * logistic(x);
    case Cfc::Activation::relu: return x < 0 ? 0 : x;  // NaN passes on
    case Cfc::Activation::tanh: return std::tanh(x);
    case Cfc::Activation::gelu: return x * std::erfc(-x * (std::numbers::sqrt2 / 2)) / 2;
  }
  return x;
}

double passed(Cfc::Head head, double x) {
  switch (head) {
    case Cfc::Head::tanh: return std::tanh(x);
    case Cfc::Head::none: return x;
    case Cfc::Head::lecun_tanh: return lecun_tanh(x);
  }
  return x;
}

struct Dense {
  std::vector<double> weights, biases;

  std::vector<double> operator()(const std::vector<double>& x) const {
    std::vector<double> y = biases;
    for (std::size_t o = 0; o < y.size(); ++o)
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += weights[o * x.size() + i] * x[i];
    return y;
  }
};

}  // namespace

std::vector<TensorType> infer(const Cfc& op, const Knowns& inputs) {
  const bool pure = op.mode == Cfc::Mode::pure;
  check(inputs.size() >= (pure ? Cfc::kBackbone : Cfc::kDecay), Code::invalid_argument,
        "Cfc: {} inputs; X, times, state, heads and biases are needed{}", inputs.size(),
        pure ? ", and decay in the mode pure" : "");
  check(inputs.has(Cfc::kDecay) == pure, Code::invalid_argument,
        "Cfc: decay belongs to the mode pure, and to it alone");
  for (const std::size_t i : {Cfc::kX, Cfc::kHeads, Cfc::kBiases}) (void)inputs[i];  // refuses absent ones
  inputs.expect_rank(Cfc::kHeads, 2, 2);
  inputs.expect_rank(Cfc::kBiases, 1, 1);
  Agreed units("units");
  units.see(inputs, Cfc::kHeads, 0, op.heads());
  units.see(inputs, Cfc::kBiases, 0, op.heads());
  if (pure) {
    inputs.expect_rank(Cfc::kDecay, 2, 2);
    Agreed("time constants and amplitudes", 2).see(inputs, Cfc::kDecay, 0);
    units.see(inputs, Cfc::kDecay, 1);
  }
  const LiquidSizes sizes = liquid_sizes(inputs, op.batch_first, units.value());
  std::int64_t width = sizes.inputs == TensorType::kUnknown || sizes.units == TensorType::kUnknown
                           ? TensorType::kUnknown
                           : sizes.inputs + sizes.units;
  const std::size_t layers = inputs.size() > Cfc::kBackbone ? inputs.size() - Cfc::kBackbone : 0;
  check(layers % 2 == 0, Code::invalid_argument,
        "Cfc: a layer of the backbone has weights and biases, but {} are there", layers);
  for (std::size_t i = Cfc::kBackbone; i < Cfc::kBackbone + layers; i += 2) {
    inputs.expect_rank(i, 2, 2);
    inputs.expect_rank(i + 1, 1, 1);
    Agreed from("what the layer reads", width), to("what the layer makes");
    from.see(inputs, i, 1);
    to.see(inputs, i, 0);
    to.see(inputs, i + 1, 0);
    width = to.value();
  }
  Agreed("what the heads read", width).see(inputs, Cfc::kHeads, 1);
  return liquid_outputs(inputs, op.batch_first, sizes);
}

Work work(const Cfc& op, const Types& inputs, const Types& outputs) {
  Work out = streaming_work(inputs, outputs);
  if (!outputs[0].is_static()) return out;
  const double samples = static_cast<double>(outputs[0].shape()[0]) * static_cast<double>(outputs[0].shape()[1]);
  // Products, biases and activations; then what becomes of the heads.
  const auto add = [&](const TensorType& weights, double each) {
    if (!weights.is_static()) return;
    out.flops +=
        samples * (2 * static_cast<double>(weights.shape().volume()) + each * static_cast<double>(extent(weights, 0)));
  };
  add(inputs[Cfc::kHeads], 1);
  for (std::size_t i = Cfc::kBackbone; i + 1 < inputs.size(); i += 2) add(inputs[i], 2);
  out.flops += static_cast<double>(outputs[0].shape().volume()) * (op.mode == Cfc::Mode::pure ? 8 : 9);
  return out;
}

std::vector<Array> reference(const Cfc& op, const Arrays& inputs) {
  const auto dense = [&](std::size_t i) { return Dense{inputs[i].to_double(), inputs[i + 1].to_double()}; };
  std::vector<Dense> backbone;
  for (std::size_t i = Cfc::kBackbone; i + 1 < inputs.size(); i += 2) backbone.push_back(dense(i));
  const Dense heads = dense(Cfc::kHeads);
  const std::size_t units = heads.biases.size() / static_cast<std::size_t>(op.heads());
  const std::vector<double> decay = inputs.has(Cfc::kDecay) ? inputs[Cfc::kDecay].to_double() : std::vector<double>{};

  return run_liquid(inputs, op.batch_first, static_cast<std::int64_t>(units),
                    [&](std::span<const double> x, std::span<const double> elapsed, std::vector<double>& state) {
                      std::vector<double> z(x.begin(), x.end());
                      z.insert(z.end(), state.begin(), state.end());
                      for (const Dense& layer : backbone) {
                        z = layer(z);
                        for (double& v : z) v = activated(op.activation, v);
                      }
                      const std::vector<double> f = heads(z);
                      for (std::size_t u = 0; u < units; ++u) {
                        if (op.mode == Cfc::Mode::pure) {
                          const double tau = std::abs(decay[u]), amplitude = decay[units + u];
                          state[u] = amplitude - amplitude * std::exp(-elapsed[u] * (tau + std::abs(f[u]))) * f[u];
                          continue;
                        }
                        const double gate = logistic(f[2 * units + u] * elapsed[u] + f[3 * units + u]);
                        const double first = passed(op.head, f[u]), second = passed(op.head, f[units + u]);
                        state[u] = (op.mode == Cfc::Mode::no_gate ? first : first * (1 - gate)) + gate * second;
                      }
                    });
}

}  // namespace tessera
