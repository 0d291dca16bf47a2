#pragma once

// A liquid time-constant cell (Hasani et al., 2021) over sequences of B S I (or S B I without batch_first).
//
// Inputs: X; optional times since the step before (one for all, S B 1, or S B U for each unit; none: 1); optional first
// state B U (none: zeros); membrane [3, U]: leak conductances, leak potentials, capacitances; sensory [4, I, U] and
// recurrent [4, U, U] synapses from the first to the second: weights, mu, sigma, reversal potentials. A weight of 0 is
// no synapse: that is how wirings are given.
// A synapse conducts r = weight sigmoid(sigma (v - mu)) and carries the current r * potential. With the sums of both
// over what a unit hears, and h = time / unfolds, an unfold of the semi-implicit solver is
//
//   v' = (cm v + h (leak vleak + current)) / (cm + h (leak + conductance + epsilon)),
//
// and the other solvers step along dv/dt = (leak (vleak - v) + current - v conductance) / (cm + epsilon).
// Outputs: the state after every step, and after the last.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera {

struct Ltc {
  static constexpr std::string_view kName = "Ltc";

  enum class Solver : std::uint8_t { semi_implicit, explicit_euler, runge_kutta };
  // Positions of inputs, and rows of membrane and synapses.
  static constexpr std::size_t kX = 0, kTimes = 1, kState = 2, kMembrane = 3, kSensory = 4, kRecurrent = 5;
  static constexpr std::size_t kLeak = 0, kLeakPotential = 1, kCapacitance = 2;
  static constexpr std::size_t kWeight = 0, kMu = 1, kSigma = 2, kReversal = 3;

  Solver solver = Solver::semi_implicit;
  int unfolds = 6;
  double epsilon = 1e-8;
  bool batch_first = true;

  bool operator==(const Ltc&) const = default;
};

TSR_API std::vector<TensorType> infer(const Ltc& op, const Knowns& inputs);
TSR_API Work work(const Ltc& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Ltc& op, const Arrays& inputs);

}  // namespace tessera
