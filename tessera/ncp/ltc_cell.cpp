// Liquid time-constant cells. With h = elapsed / unfolds, one unfold of the semi-implicit solver is
//   v' = (cm v + h (gleak vleak + current)) / (cm + h (gleak + conductance + epsilon)),
// upstream's formula with numerator and denominator times h: no time at all then leaves the state as it is instead of
// dividing infinity by infinity. The other two solvers step along
//   dv/dt = (gleak (vleak - v) + current - v conductance) / cm.

#include "tessera/ncp/internal/cells.h"

namespace tessera::ncp {

template <class Real>
typename Synapses<Real>::Sums Synapses<Real>::sums(const ParameterSet<Real>& p, const std::vector<Real>& v) const {
  Sums out{std::vector<Real>(destinations), std::vector<Real>(destinations)};
  for (std::size_t j = 0; j < destinations; ++j) {
    double current = 0, conductance = 0;
    for (std::size_t i = 0; i < sources; ++i) {
      const std::size_t at = i * destinations + j;
      if (p.at(mask)[at] == 0) continue;
      const Real weight = softplus ? tessera::ncp::softplus(p.at(w)[at]) : p.at(w)[at];
      const Real r = weight * sigmoid(p.at(sigma)[at] * (v[i] - p.at(mu)[at])) * p.at(mask)[at];
      current += static_cast<double>(r) * p.at(erev)[at];
      conductance += r;
    }
    out.current[j] = static_cast<Real>(current);
    out.conductance[j] = static_cast<Real>(conductance);
  }
  return out;
}

template <class Real>
void Synapses<Real>::backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& d,
                              std::vector<Real>& dv, ParameterSet<Real>& gradients) const {
  for (std::size_t i = 0; i < sources; ++i) {
    for (std::size_t j = 0; j < destinations; ++j) {
      const std::size_t at = i * destinations + j;
      const Real m = p.at(mask)[at];
      if (m == 0) continue;
      const Real raw = p.at(w)[at];
      const Real weight = softplus ? tessera::ncp::softplus(raw) : raw;
      const Real slope = softplus ? sigmoid(raw) : Real{1};
      const Real distance = v[i] - p.at(mu)[at];
      const Real s = sigmoid(p.at(sigma)[at] * distance);
      const Real dr = d.current[j] * p.at(erev)[at] + d.conductance[j];
      gradients.at(erev)[at] += d.current[j] * weight * s * m;
      gradients.at(w)[at] += dr * s * m * slope;
      const Real du = dr * weight * m * s * (1 - s);
      gradients.at(sigma)[at] += du * distance;
      gradients.at(mu)[at] -= du * p.at(sigma)[at];
      dv[i] += du * p.at(sigma)[at];
    }
  }
}

template <class Real>
LtcCell<Real>::LtcCell(const LtcLayer& layer, const ParameterSet<Real>& p)
    : solver(layer.solver),
      unfolds(layer.ode_unfolds),
      epsilon(static_cast<Real>(layer.epsilon)),
      softplus(layer.implicit_constraints),
      units(static_cast<std::size_t>(layer.wiring.units)),
      outputs(static_cast<std::size_t>(layer.wiring.outputs)) {
  const auto index = [&](const char* name) { return p.find(std::string("rnn_cell.") + name); };
  gleak = index("gleak");
  vleak = index("vleak");
  cm = index("cm");
  input_w = index("input_w");
  input_b = index("input_b");
  output_w = index("output_w");
  output_b = index("output_b");
  recurrent = {index("w"), index("sigma"), index("mu"), index("erev"), index("sparsity_mask"), units, units, softplus};
  sensory = {index("sensory_w"),
             index("sensory_sigma"),
             index("sensory_mu"),
             index("sensory_erev"),
             index("sensory_sparsity_mask"),
             static_cast<std::size_t>(layer.wiring.inputs),
             units,
             softplus};
}

template <class Real>
Real LtcCell<Real>::positive(Real x) const {
  return softplus ? tessera::ncp::softplus(x) : x;
}

template <class Real>
Real LtcCell<Real>::positive_slope(Real x) const {
  return softplus ? sigmoid(x) : Real{1};
}

template <class Real>
std::vector<Real> LtcCell<Real>::map_inputs(const ParameterSet<Real>& p, const std::vector<Real>& x) const {
  std::vector<Real> u = x;
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (input_w >= 0) u[i] *= p.at(input_w)[i];
    if (input_b >= 0) u[i] += p.at(input_b)[i];
  }
  return u;
}

template <class Real>
std::vector<Real> LtcCell<Real>::rate(const ParameterSet<Real>& p, const std::vector<Real>& v,
                                      const Sums& sensed) const {
  const Sums s = recurrent.sums(p, v);
  std::vector<Real> out(units);
  for (std::size_t j = 0; j < units; ++j) {
    const Real current = s.current[j] + sensed.current[j], conductance = s.conductance[j] + sensed.conductance[j];
    out[j] = (positive(p.at(gleak)[j]) * (p.at(vleak)[j] - v[j]) + current - v[j] * conductance) /
             (positive(p.at(cm)[j]) + epsilon);
  }
  return out;
}

template <class Real>
void LtcCell<Real>::rate_backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed,
                                  const std::vector<Real>& d_rate, std::vector<Real>& dv, Sums& d_sensed,
                                  ParameterSet<Real>& gradients) const {
  const Sums s = recurrent.sums(p, v);
  Sums d{std::vector<Real>(units), std::vector<Real>(units)};
  for (std::size_t j = 0; j < units; ++j) {
    const Real current = s.current[j] + sensed.current[j], conductance = s.conductance[j] + sensed.conductance[j];
    const Real leak = positive(p.at(gleak)[j]), capacity = positive(p.at(cm)[j]) + epsilon;
    const Real total = leak * (p.at(vleak)[j] - v[j]) + current - v[j] * conductance;
    const Real k = d_rate[j] / capacity;
    gradients.at(cm)[j] -= k * total / capacity * positive_slope(p.at(cm)[j]);
    gradients.at(gleak)[j] += k * (p.at(vleak)[j] - v[j]) * positive_slope(p.at(gleak)[j]);
    gradients.at(vleak)[j] += k * leak;
    dv[j] -= k * (leak + conductance);
    d.current[j] = k;
    d.conductance[j] = -k * v[j];
    d_sensed.current[j] += d.current[j];
    d_sensed.conductance[j] += d.conductance[j];
  }
  recurrent.backward(p, v, d, dv, gradients);
}

namespace {

// to + time / parts * direction, unit by unit
template <class Real>
void move(std::vector<Real>& to, const std::vector<Real>& time, int parts, const std::vector<Real>& direction) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += time[i] / static_cast<Real>(parts) * direction[i];
}

template <class Real>
std::vector<Real> moved(std::vector<Real> base, const std::vector<Real>& time, int parts,
                        const std::vector<Real>& direction) {
  move(base, time, parts, direction);
  return base;
}

// to + a b / parts, unit by unit
template <class Real>
void add_products(std::vector<Real>& to, int parts, const std::vector<Real>& a, const std::vector<Real>& b) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += a[i] * b[i] / static_cast<Real>(parts);
}

template <class Real>
void add(std::vector<Real>& to, const std::vector<Real>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

template <class Real>
std::vector<Real> LtcCell<Real>::advance(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed,
                                         const std::vector<Real>& h) const {
  if (solver == OdeSolver::explicit_euler) return moved(v, h, 1, rate(p, v, sensed));
  if (solver == OdeSolver::runge_kutta) {
    const std::vector<Real> k1 = rate(p, v, sensed);
    const std::vector<Real> k2 = rate(p, moved(v, h, 2, k1), sensed);
    const std::vector<Real> k3 = rate(p, moved(v, h, 2, k2), sensed);
    const std::vector<Real> k4 = rate(p, moved(v, h, 1, k3), sensed);
    std::vector<Real> out = v;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += h[i] / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    return out;
  }
  const Sums s = recurrent.sums(p, v);
  std::vector<Real> out(units);
  for (std::size_t j = 0; j < units; ++j) {
    const Real leak = positive(p.at(gleak)[j]), capacity = positive(p.at(cm)[j]);
    const Real current = s.current[j] + sensed.current[j], conductance = s.conductance[j] + sensed.conductance[j];
    out[j] = (capacity * v[j] + h[j] * (leak * p.at(vleak)[j] + current)) /
             (capacity + h[j] * (leak + conductance + epsilon));
  }
  return out;
}

template <class Real>
void LtcCell<Real>::advance_backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed,
                                     const std::vector<Real>& h, const std::vector<Real>& d_next, std::vector<Real>& dv,
                                     std::vector<Real>& dh, Sums& d_sensed, ParameterSet<Real>& gradients) const {
  if (solver != OdeSolver::semi_implicit) add(dv, d_next);
  if (solver == OdeSolver::explicit_euler) {
    add_products(dh, 1, rate(p, v, sensed), d_next);
    return rate_backward(p, v, sensed, moved(std::vector<Real>(units), h, 1, d_next), dv, d_sensed, gradients);
  }
  if (solver == OdeSolver::runge_kutta) {
    const std::vector<Real> k1 = rate(p, v, sensed);
    const std::vector<Real> v2 = moved(v, h, 2, k1);
    const std::vector<Real> k2 = rate(p, v2, sensed);
    const std::vector<Real> v3 = moved(v, h, 2, k2);
    const std::vector<Real> k3 = rate(p, v3, sensed);
    const std::vector<Real> v4 = moved(v, h, 1, k3);
    add_products(dh, 6, k1, d_next);
    add_products(dh, 3, k2, d_next);
    add_products(dh, 3, k3, d_next);
    add_products(dh, 6, rate(p, v4, sensed), d_next);
    const std::vector<Real> none(units);
    std::vector<Real> dk1 = moved(none, h, 6, d_next), dk2 = moved(none, h, 3, d_next);
    std::vector<Real> dk3 = dk2, dk4 = dk1;
    // Each rate was taken at v plus some time along the rate before it.
    const auto back = [&](const std::vector<Real>& at, const std::vector<Real>& dk, int parts,
                          const std::vector<Real>& k_before, std::vector<Real>* dk_before) {
      std::vector<Real> d_at(units);
      rate_backward(p, at, sensed, dk, d_at, d_sensed, gradients);
      add(dv, d_at);
      if (dk_before == nullptr) return;
      move(*dk_before, h, parts, d_at);
      add_products(dh, parts, k_before, d_at);
    };
    back(v4, dk4, 1, k3, &dk3);
    back(v3, dk3, 2, k2, &dk2);
    back(v2, dk2, 2, k1, &dk1);
    back(v, dk1, 1, {}, nullptr);
    return;
  }
  const Sums s = recurrent.sums(p, v);
  Sums d{std::vector<Real>(units), std::vector<Real>(units)};
  for (std::size_t j = 0; j < units; ++j) {
    const Real leak = positive(p.at(gleak)[j]), capacity = positive(p.at(cm)[j]);
    const Real current = s.current[j] + sensed.current[j], conductance = s.conductance[j] + sensed.conductance[j];
    const Real denominator = capacity + h[j] * (leak + conductance + epsilon);
    const Real next = (capacity * v[j] + h[j] * (leak * p.at(vleak)[j] + current)) / denominator;
    const Real d_above = d_next[j] / denominator, d_below = -d_next[j] * next / denominator;
    gradients.at(cm)[j] += (d_above * v[j] + d_below) * positive_slope(p.at(cm)[j]);
    gradients.at(gleak)[j] += h[j] * (d_above * p.at(vleak)[j] + d_below) * positive_slope(p.at(gleak)[j]);
    gradients.at(vleak)[j] += h[j] * d_above * leak;
    dv[j] += d_above * capacity;
    dh[j] += d_above * (leak * p.at(vleak)[j] + current) + d_below * (leak + conductance + epsilon);
    d.current[j] = h[j] * d_above;
    d.conductance[j] = h[j] * d_below;
    d_sensed.current[j] += d.current[j];
    d_sensed.conductance[j] += d.conductance[j];
  }
  recurrent.backward(p, v, d, dv, gradients);
}

template <class Real>
std::vector<Real> LtcCell<Real>::unfold_times(const Elapsed<Real>& ts) const {
  std::vector<Real> out(units);
  for (std::size_t j = 0; j < units; ++j) out[j] = ts.at(j) / static_cast<Real>(unfolds);
  return out;
}

template <class Real>
std::vector<Real> LtcCell<Real>::forward(const ParameterSet<Real>& p, const std::vector<Real>& x,
                                         const std::vector<Real>& v, const Elapsed<Real>& ts) const {
  const Sums sensed = sensory.sums(p, map_inputs(p, x));
  std::vector<Real> state = v;
  const std::vector<Real> h = unfold_times(ts);
  for (int i = 0; i < unfolds; ++i) state = advance(p, state, sensed, h);
  return state;
}

template <class Real>
void LtcCell<Real>::backward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& v,
                             const Elapsed<Real>& ts, const std::vector<Real>& d_next, std::vector<Real>& dx,
                             std::vector<Real>& dv, std::vector<Real>& d_elapsed, ParameterSet<Real>& gradients) const {
  const std::vector<Real> u = map_inputs(p, x);
  const Sums sensed = sensory.sums(p, u);
  const std::vector<Real> h = unfold_times(ts);
  std::vector<std::vector<Real>> states{v};
  for (int i = 1; i < unfolds; ++i) states.push_back(advance(p, states.back(), sensed, h));
  Sums d_sensed{std::vector<Real>(units), std::vector<Real>(units)};
  std::vector<Real> d = d_next, dh(units);
  while (!states.empty()) {
    std::vector<Real> before(units);
    advance_backward(p, states.back(), sensed, h, d, before, dh, d_sensed, gradients);
    d = std::move(before);
    states.pop_back();
  }
  add(dv, d);
  for (std::size_t j = 0; j < units; ++j) d_elapsed[j] += dh[j] / static_cast<Real>(unfolds);
  std::vector<Real> du(u.size());
  sensory.backward(p, u, d_sensed, du, gradients);
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (input_b >= 0) gradients.at(input_b)[i] += du[i];
    if (input_w >= 0) gradients.at(input_w)[i] += du[i] * x[i];
    dx[i] += input_w >= 0 ? du[i] * p.at(input_w)[i] : du[i];
  }
}

template <class Real>
std::vector<Real> LtcCell<Real>::readout(const ParameterSet<Real>& p, const std::vector<Real>& v) const {
  std::vector<Real> out(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(outputs));
  for (std::size_t i = 0; i < outputs; ++i) {
    if (output_w >= 0) out[i] *= p.at(output_w)[i];
    if (output_b >= 0) out[i] += p.at(output_b)[i];
  }
  return out;
}

template <class Real>
void LtcCell<Real>::readout_backward(const ParameterSet<Real>& p, const std::vector<Real>& v,
                                     const std::vector<Real>& d_out, std::vector<Real>& dv,
                                     ParameterSet<Real>& gradients) const {
  for (std::size_t i = 0; i < outputs; ++i) {
    if (output_b >= 0) gradients.at(output_b)[i] += d_out[i];
    if (output_w >= 0) gradients.at(output_w)[i] += d_out[i] * v[i];
    dv[i] += output_w >= 0 ? d_out[i] * p.at(output_w)[i] : d_out[i];
  }
}

template struct Synapses<float>;
template struct Synapses<double>;
template struct LtcCell<float>;
template struct LtcCell<double>;

}  // namespace tessera::ncp
