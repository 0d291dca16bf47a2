#pragma once

// Plain loops of the reference: linear layers and functions of one number, each with its derivative. Sums are in double
// whatever the type of the values.

#include "tessera/ncp/layer.h"
#include "tessera/ncp/parameters.h"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

namespace tessera::ncp {

// y = (W * mask) x + b; indices of parameters, -1 for what is not there.
struct Linear {
  int weight = -1;
  int bias = -1;
  int mask = -1;
  int inputs = 0;
  int outputs = 0;
};

template <class Real>
Linear find_linear(const ParameterSet<Real>& p, const std::string& name, int mask = -1) {
  Linear linear{.weight = p.find(name + ".weight"), .bias = p.find(name + ".bias"), .mask = mask};
  const auto& shape = p.items[static_cast<std::size_t>(linear.weight)].info.shape;
  linear.outputs = static_cast<int>(shape[0]);
  linear.inputs = static_cast<int>(shape[1]);
  return linear;
}

template <class Real>
std::vector<Real> apply(const Linear& l, const ParameterSet<Real>& p, const std::vector<Real>& x) {
  const Real* w = p.at(l.weight);
  const Real* mask = l.mask < 0 ? nullptr : p.at(l.mask);
  std::vector<Real> y(static_cast<std::size_t>(l.outputs));
  for (std::size_t o = 0; o < y.size(); ++o) {
    double sum = l.bias < 0 ? 0 : p.at(l.bias)[o];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = o * x.size() + i;
      sum += static_cast<double>(mask == nullptr ? w[at] : w[at] * mask[at]) * x[i];
    }
    y[o] = static_cast<Real>(sum);
  }
  return y;
}

// Adds to dx and to the gradients.
template <class Real>
void apply_backward(const Linear& l, const ParameterSet<Real>& p, const std::vector<Real>& x,
                    const std::vector<Real>& dy, std::vector<Real>& dx, ParameterSet<Real>& gradients) {
  const Real* w = p.at(l.weight);
  const Real* mask = l.mask < 0 ? nullptr : p.at(l.mask);
  Real* dw = gradients.at(l.weight);
  for (std::size_t o = 0; o < dy.size(); ++o) {
    if (l.bias >= 0) gradients.at(l.bias)[o] += dy[o];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = o * x.size() + i;
      const Real m = mask == nullptr ? Real{1} : mask[at];
      dw[at] += dy[o] * x[i] * m;
      dx[i] += dy[o] * w[at] * m;
    }
  }
}

template <class Real>
Real sigmoid(Real x) {
  // Of the two forms the one whose exponential cannot overflow.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const Real e = std::exp(x);
  return e / (1 + e);
}

template <class Real>
Real softplus(Real x) {
  return std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : Real{0});
}

struct LecunTanh {
  static constexpr double kScale = 1.7159;
  static constexpr double kSlope = 0.666;  // not 2/3
};

template <class Real>
Real activate(Activation activation, Real x) {
  switch (activation) {
    case Activation::lecun_tanh:
      return static_cast<Real>(LecunTanh::kScale) * std::tanh(static_cast<Real>(LecunTanh::kSlope) * x);
    case Activation::silu: return x * sigmoid(x);
    case Activation::relu: return x > 0 ? x : std::isnan(x) ? x : Real{0};
    case Activation::tanh: return std::tanh(x);
    case Activation::gelu: return x * std::erfc(-x * static_cast<Real>(std::numbers::sqrt2 / 2)) / 2;
  }
  return x;
}

template <class Real>
Real activate_slope(Activation activation, Real x) {
  switch (activation) {
    case Activation::lecun_tanh: {
      const Real t = std::tanh(static_cast<Real>(LecunTanh::kSlope) * x);
      return static_cast<Real>(LecunTanh::kScale * LecunTanh::kSlope) * (1 - t * t);
    }
    case Activation::silu: {
      const Real s = sigmoid(x);
      return s * (1 + x * (1 - s));
    }
    case Activation::relu: return x > 0 ? Real{1} : Real{0};
    case Activation::tanh: {
      const Real t = std::tanh(x);
      return 1 - t * t;
    }
    case Activation::gelu: {
      const Real density = std::exp(-x * x / 2) * static_cast<Real>(1 / std::sqrt(2 * std::numbers::pi));
      return std::erfc(-x * static_cast<Real>(std::numbers::sqrt2 / 2)) / 2 + x * density;
    }
  }
  return 1;
}

}  // namespace tessera::ncp
