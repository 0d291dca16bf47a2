#include "tessera/ncp/internal/cells.h"

#include <fmt/format.h>

namespace tessera::ncp {
namespace {

std::uint64_t scrambled(std::uint64_t x) {  // splitmix64 (Steele, Lea and Flood, 2014)
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class Real>
Real head(DialectRules::Head kind, Real x) {
  switch (kind) {
    case DialectRules::Head::tanh: return activate(Activation::tanh, x);
    case DialectRules::Head::lecun_tanh: return activate(Activation::lecun_tanh, x);
    case DialectRules::Head::none: return x;
  }
  return x;
}

template <class Real>
Real head_slope(DialectRules::Head kind, Real x) {
  switch (kind) {
    case DialectRules::Head::tanh: return activate_slope(Activation::tanh, x);
    case DialectRules::Head::lecun_tanh: return activate_slope(Activation::lecun_tanh, x);
    case DialectRules::Head::none: return 1;
  }
  return 1;
}

template <class Real>
Real sign(Real x) {
  return x > 0 ? Real{1} : x < 0 ? Real{-1} : Real{0};
}

}  // namespace

double dropout_factor(const DropoutKey& key, int layer, std::int64_t unit, double rate) {
  if (!key.active || rate == 0) return 1;
  std::uint64_t mixed = scrambled(key.seed);
  for (const std::int64_t part : {key.sample, key.step, std::int64_t{layer}, unit})
    mixed = scrambled(mixed ^ static_cast<std::uint64_t>(part));
  const double uniform = static_cast<double>(mixed >> 11) * 0x1p-53;
  return uniform < rate ? 0 : 1 / (1 - rate);
}

template <class Real>
struct CfcCell<Real>::Trace {
  std::vector<std::vector<Real>> in;   // of each backbone layer, and of the heads
  std::vector<std::vector<Real>> sum;  // of each backbone layer, before its activation
  std::vector<Real> p1, p2, ta, tb;
  std::vector<Real> next;
};

template <class Real>
CfcCell<Real>::CfcCell(const CfcLayer& layer, const ParameterSet<Real>& p, const std::string& prefix, int n_inputs,
                       int n_hidden)
    : inputs(n_inputs),
      hidden(n_hidden),
      mode(layer.mode),
      activation(layer.activation),
      rules(tessera::ncp::rules(layer.dialect)),
      dropout(layer.backbone_dropout) {
  for (std::size_t l = 0; l < layer.backbone.size(); ++l) {
    const std::size_t index = dropout > 0 && l > 1 ? 3 * l - 1 : 2 * l;
    backbone.push_back(find_linear(p, fmt::format("{}backbone.{}", prefix, index)));
  }
  const int mask = p.find(prefix + "sparsity_mask");
  ff1 = find_linear(p, prefix + "ff1", mask);
  if (mode == CfcMode::pure) {
    w_tau = p.find(prefix + "w_tau");
    a = p.find(prefix + "A");
  } else {
    ff2 = find_linear(p, prefix + "ff2", mask);
    time_a = find_linear(p, prefix + "time_a");
    time_b = find_linear(p, prefix + "time_b");
  }
}

template <class Real>
typename CfcCell<Real>::Trace CfcCell<Real>::trace(const ParameterSet<Real>& p, const std::vector<Real>& x,
                                                   const std::vector<Real>& h, const Elapsed<Real>& ts,
                                                   const DropoutKey& key) const {
  Trace t;
  t.in.emplace_back(x);
  t.in[0].insert(t.in[0].end(), h.begin(), h.end());
  for (std::size_t l = 0; l < backbone.size(); ++l) {
    t.sum.push_back(apply(backbone[l], p, t.in[l]));
    std::vector<Real> out = t.sum[l];
    const bool drops = l > 0 || rules.dropout_after_first;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = activate(activation, out[i]);
      if (drops)
        out[i] *= static_cast<Real>(dropout_factor(key, static_cast<int>(l), static_cast<std::int64_t>(i), dropout));
    }
    t.in.push_back(std::move(out));
  }
  const std::vector<Real>& z = t.in.back();
  t.p1 = apply(ff1, p, z);
  t.next.resize(t.p1.size());
  if (mode == CfcMode::pure) {
    for (std::size_t i = 0; i < t.next.size(); ++i) {
      const Real amplitude = p.at(a)[i];
      const Real decay = std::exp(-ts.at(i) * (std::abs(p.at(w_tau)[i]) + std::abs(t.p1[i])));
      t.next[i] = amplitude - amplitude * decay * t.p1[i];
    }
    return t;
  }
  t.p2 = apply(ff2, p, z);
  t.ta = apply(time_a, p, z);
  t.tb = apply(time_b, p, z);
  for (std::size_t i = 0; i < t.next.size(); ++i) {
    const Real gate = sigmoid(static_cast<Real>(rules.time_sign) * t.ta[i] * ts.at(i) + t.tb[i]);
    const Real first = head(rules.head, t.p1[i]);
    const Real second = head(rules.head, t.p2[i]);
    t.next[i] = (mode == CfcMode::no_gate ? first : first * (1 - gate)) + gate * second;
  }
  return t;
}

template <class Real>
std::vector<Real> CfcCell<Real>::forward(const ParameterSet<Real>& p, const std::vector<Real>& x,
                                         const std::vector<Real>& h, const Elapsed<Real>& ts,
                                         const DropoutKey& key) const {
  return trace(p, x, h, ts, key).next;
}

template <class Real>
void CfcCell<Real>::backward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& h,
                             const Elapsed<Real>& ts, const DropoutKey& key, const std::vector<Real>& d_next,
                             std::vector<Real>& dx, std::vector<Real>& dh, std::vector<Real>& d_elapsed,
                             ParameterSet<Real>& gradients) const {
  const Trace t = trace(p, x, h, ts, key);
  const std::size_t n = d_next.size();
  std::vector<Real> dz(t.in.back().size());
  std::vector<Real> d1(n), d2(n), da(n), db(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Real d = d_next[i];
    if (mode == CfcMode::pure) {
      const Real amplitude = p.at(a)[i], tau = p.at(w_tau)[i], p1 = t.p1[i];
      const Real decay = std::exp(-ts.at(i) * (std::abs(tau) + std::abs(p1)));
      gradients.at(a)[i] += d * (1 - decay * p1);
      gradients.at(w_tau)[i] += d * amplitude * p1 * decay * ts.at(i) * sign(tau);
      d1[i] = -d * amplitude * decay * (1 - ts.at(i) * p1 * sign(p1));
      d_elapsed[i] += d * amplitude * decay * p1 * (std::abs(tau) + std::abs(p1));
      continue;
    }
    const Real gate = sigmoid(static_cast<Real>(rules.time_sign) * t.ta[i] * ts.at(i) + t.tb[i]);
    const Real first = head(rules.head, t.p1[i]), second = head(rules.head, t.p2[i]);
    const bool gated = mode != CfcMode::no_gate;
    d1[i] = d * (gated ? 1 - gate : Real{1}) * head_slope(rules.head, t.p1[i]);
    d2[i] = d * gate * head_slope(rules.head, t.p2[i]);
    db[i] = d * (gated ? second - first : second) * gate * (1 - gate);
    da[i] = db[i] * ts.at(i) * static_cast<Real>(rules.time_sign);
    d_elapsed[i] += db[i] * t.ta[i] * static_cast<Real>(rules.time_sign);
  }
  apply_backward(ff1, p, t.in.back(), d1, dz, gradients);
  if (mode != CfcMode::pure) {
    apply_backward(ff2, p, t.in.back(), d2, dz, gradients);
    apply_backward(time_a, p, t.in.back(), da, dz, gradients);
    apply_backward(time_b, p, t.in.back(), db, dz, gradients);
  }
  for (std::size_t l = backbone.size(); l-- > 0;) {
    const bool drops = l > 0 || rules.dropout_after_first;
    for (std::size_t i = 0; i < dz.size(); ++i) {
      if (drops)
        dz[i] *= static_cast<Real>(dropout_factor(key, static_cast<int>(l), static_cast<std::int64_t>(i), dropout));
      dz[i] *= activate_slope(activation, t.sum[l][i]);
    }
    std::vector<Real> before(t.in[l].size());
    apply_backward(backbone[l], p, t.in[l], dz, before, gradients);
    dz = std::move(before);
  }
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] += dz[i];
  for (std::size_t i = 0; i < h.size(); ++i) dh[i] += dz[x.size() + i];
}

template struct CfcCell<float>;
template struct CfcCell<double>;

}  // namespace tessera::ncp
