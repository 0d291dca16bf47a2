#include "tessera/graph/ops/ltc.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/agreed.h"
#include "tessera/graph/ops/internal/liquid.h"

#include <cmath>

namespace tessera {
namespace {

struct Sums {
  std::vector<double> current, conductance;
};

// From sources to destinations.
struct Synapses {
  std::vector<double> values;  // [4][source][destination]
  std::size_t sources, destinations;

  double at(std::size_t row, std::size_t synapse) const { return values[row * sources * destinations + synapse]; }

  void add(std::span<const double> v, Sums& to) const {
    for (std::size_t i = 0; i < sources; ++i)
      for (std::size_t j = 0; j < destinations; ++j) {
        const std::size_t synapse = i * destinations + j;
        const double weight = at(Ltc::kWeight, synapse);
        if (weight == 0) continue;
        const double r = weight / (1 + std::exp(-at(Ltc::kSigma, synapse) * (v[i] - at(Ltc::kMu, synapse))));
        to.current[j] += r * at(Ltc::kReversal, synapse);
        to.conductance[j] += r;
      }
  }
};

struct LtcSolver {
  const Ltc& op;
  std::vector<double> membrane;  // [3][unit]
  Synapses recurrent;
  std::size_t units;
  Sums sensed{};

  double leak(std::size_t u) const { return membrane[Ltc::kLeak * units + u]; }
  double leak_potential(std::size_t u) const { return membrane[Ltc::kLeakPotential * units + u]; }
  double capacitance(std::size_t u) const { return membrane[Ltc::kCapacitance * units + u]; }

  Sums heard(const std::vector<double>& v) const {
    Sums sums = sensed;
    recurrent.add(v, sums);
    return sums;
  }
  std::vector<double> rate(const std::vector<double>& v) const {
    const Sums s = heard(v);
    std::vector<double> out(units);
    for (std::size_t u = 0; u < units; ++u)
      out[u] = (leak(u) * (leak_potential(u) - v[u]) + s.current[u] - v[u] * s.conductance[u]) /
               (capacitance(u) + op.epsilon);
    return out;
  }
  // v + part h rate
  static std::vector<double> moved(std::vector<double> v, std::span<const double> h, double part,
                                   const std::vector<double>& rate) {
    for (std::size_t u = 0; u < v.size(); ++u) v[u] += part * h[u] * rate[u];
    return v;
  }

  std::vector<double> unfolded(const std::vector<double>& v, std::span<const double> h) const {
    if (op.solver == Ltc::Solver::explicit_euler) return moved(v, h, 1, rate(v));
    if (op.solver == Ltc::Solver::runge_kutta) {
      const std::vector<double> k1 = rate(v), k2 = rate(moved(v, h, 0.5, k1));
      const std::vector<double> k3 = rate(moved(v, h, 0.5, k2)), k4 = rate(moved(v, h, 1, k3));
      std::vector<double> out = v;
      for (std::size_t u = 0; u < units; ++u) out[u] += h[u] / 6 * (k1[u] + 2 * k2[u] + 2 * k3[u] + k4[u]);
      return out;
    }
    const Sums s = heard(v);
    std::vector<double> out(units);
    for (std::size_t u = 0; u < units; ++u)
      out[u] = (capacitance(u) * v[u] + h[u] * (leak(u) * leak_potential(u) + s.current[u])) /
               (capacitance(u) + h[u] * (leak(u) + s.conductance[u] + op.epsilon));
    return out;
  }
};

}  // namespace

std::vector<TensorType> infer(const Ltc& op, const Knowns& inputs) {
  check(inputs.size() == Ltc::kRecurrent + 1, Code::invalid_argument,
        "Ltc: {} inputs; X, times, state, membrane, sensory and recurrent are needed", inputs.size());
  check(op.unfolds >= 1, Code::invalid_argument, "Ltc: {} unfolds; at least 1 is needed", op.unfolds);
  check(op.epsilon >= 0 && std::isfinite(op.epsilon), Code::invalid_argument, "Ltc: an epsilon of {}", op.epsilon);
  (void)inputs[Ltc::kX];  // refuses an absent one
  inputs.expect_rank(Ltc::kMembrane, 2, 2);
  Agreed units("units"), from("the input size");
  Agreed("values of a membrane", 3).see(inputs, Ltc::kMembrane, 0);
  units.see(inputs, Ltc::kMembrane, 1);
  for (const std::size_t i : {Ltc::kSensory, Ltc::kRecurrent}) {
    inputs.expect_rank(i, 3, 3);
    Agreed("values of a synapse", 4).see(inputs, i, 0);
    units.see(inputs, i, 2);
  }
  units.see(inputs, Ltc::kRecurrent, 1);
  const LiquidSizes sizes = liquid_sizes(inputs, op.batch_first, units.value());
  from.see(inputs, Ltc::kX, 2);
  from.see(inputs, Ltc::kSensory, 1);
  return liquid_outputs(inputs, op.batch_first, sizes);
}

Work work(const Ltc& op, const Types& inputs, const Types& outputs) {
  Work out = streaming_work(inputs, outputs);
  if (!outputs[0].is_static() || !inputs[Ltc::kSensory].is_static()) return out;
  const Shape& states = outputs[0].shape();
  const double samples = static_cast<double>(states[0]) * static_cast<double>(states[1]);
  const double units = static_cast<double>(states[2]);
  const double sensory = static_cast<double>(inputs[Ltc::kSensory].shape()[1]) * units;
  // Distance, slope, sigmoid, weight, potential and two sums; what a unit does with its sums.
  constexpr double kSynapse = 7, kUnit = 9;
  const double rates = op.unfolds * (op.solver == Ltc::Solver::runge_kutta ? 4.0 : 1.0);
  out.flops = samples * (kSynapse * sensory + rates * (kSynapse * units * units + kUnit * units));
  return out;
}

std::vector<Array> reference(const Ltc& op, const Arrays& inputs) {
  const auto units = static_cast<std::size_t>(inputs[Ltc::kMembrane].shape()[1]);
  const Synapses sensory{inputs[Ltc::kSensory].to_double(), static_cast<std::size_t>(inputs[Ltc::kSensory].shape()[1]),
                         units};
  LtcSolver solver{op, inputs[Ltc::kMembrane].to_double(), {inputs[Ltc::kRecurrent].to_double(), units, units}, units};
  return run_liquid(inputs, op.batch_first, static_cast<std::int64_t>(units),
                    [&](std::span<const double> x, std::span<const double> elapsed, std::vector<double>& state) {
                      solver.sensed = {std::vector<double>(units), std::vector<double>(units)};
                      sensory.add(x, solver.sensed);
                      std::vector<double> h(elapsed.begin(), elapsed.end());
                      for (double& time : h) time /= op.unfolds;
                      for (int i = 0; i < op.unfolds; ++i) state = solver.unfolded(state, h);
                    });
}

}  // namespace tessera
