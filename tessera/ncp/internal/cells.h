#pragma once

// One step of each kind of cell for one sample, forward and backward: the definition of what fast versions compute.
// Backward functions take the same arguments as forward ones, compute what they need anew, and add to the gradients
// they are given.

#include "tessera/ncp/internal/linear.h"

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace tessera::ncp {

// Which of the random decisions of dropout this is. Without a seed nothing is dropped.
struct DropoutKey {
  bool active = false;
  std::uint64_t seed = 0;
  std::int64_t sample = 0;
  std::int64_t step = 0;
};
// 0, or 1 / (1 - rate): depends on its arguments alone, so that backward passes, batches and threads agree.
double dropout_factor(const DropoutKey& key, int layer, std::int64_t unit, double rate);

// Time since the step before: the same for all units, or one for each.
template <class Real>
struct Elapsed {
  Real all = 1;
  std::span<const Real> each{};

  Real at(std::size_t unit) const { return each.empty() ? all : each[unit]; }
  Elapsed of(std::size_t first, std::size_t count) const {
    return each.empty() ? *this : Elapsed{all, each.subspan(first, count)};
  }
};

template <class Real>
struct CfcCell {
  int inputs = 0;
  int hidden = 0;
  CfcMode mode = CfcMode::standard;
  Activation activation = Activation::lecun_tanh;
  DialectRules rules{};
  double dropout = 0;
  std::vector<Linear> backbone{};
  Linear ff1{}, ff2{}, time_a{}, time_b{};
  int w_tau = -1;
  int a = -1;

  CfcCell(const CfcLayer& layer, const ParameterSet<Real>& p, const std::string& prefix, int inputs, int hidden);

  std::vector<Real> forward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& h,
                            const Elapsed<Real>& ts, const DropoutKey& key) const;
  void backward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& h,
                const Elapsed<Real>& ts, const DropoutKey& key, const std::vector<Real>& d_next, std::vector<Real>& dx,
                std::vector<Real>& dh, std::vector<Real>& d_elapsed, ParameterSet<Real>& gradients) const;

 private:
  struct Trace;
  Trace trace(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& h,
              const Elapsed<Real>& ts, const DropoutKey& key) const;
};

// A cell for each layer of a wiring; the state is the states of the layers one after the other, from the sensory side.
template <class Real>
struct WiredCfcCell {
  std::vector<CfcCell<Real>> cells{};
};

// Synapses from n sources to m destinations: sums over sources of weight * sigmoid(sigma * (v - mu)).
template <class Real>
struct Synapses {
  int w = -1, sigma = -1, mu = -1, erev = -1, mask = -1;
  std::size_t sources = 0;
  std::size_t destinations = 0;
  bool softplus = false;

  struct Sums {
    std::vector<Real> current;      // with reversal potentials
    std::vector<Real> conductance;  // without
  };
  Sums sums(const ParameterSet<Real>& p, const std::vector<Real>& v) const;
  void backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& d, std::vector<Real>& dv,
                ParameterSet<Real>& gradients) const;
};

template <class Real>
struct LtcCell {
  OdeSolver solver = OdeSolver::semi_implicit;
  int unfolds = 6;
  Real epsilon = 0;
  bool softplus = true;
  std::size_t units = 0;
  std::size_t outputs = 0;
  int gleak = -1, vleak = -1, cm = -1, input_w = -1, input_b = -1, output_w = -1, output_b = -1;
  Synapses<Real> recurrent{}, sensory{};

  LtcCell(const LtcLayer& layer, const ParameterSet<Real>& p);

  std::vector<Real> forward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& v,
                            const Elapsed<Real>& ts) const;
  void backward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& v,
                const Elapsed<Real>& ts, const std::vector<Real>& d_next, std::vector<Real>& dx, std::vector<Real>& dv,
                std::vector<Real>& d_elapsed, ParameterSet<Real>& gradients) const;

  std::vector<Real> readout(const ParameterSet<Real>& p, const std::vector<Real>& v) const;
  void readout_backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const std::vector<Real>& d_out,
                        std::vector<Real>& dv, ParameterSet<Real>& gradients) const;

 private:
  using Sums = typename Synapses<Real>::Sums;
  std::vector<Real> map_inputs(const ParameterSet<Real>& p, const std::vector<Real>& x) const;
  Real positive(Real x) const;
  Real positive_slope(Real x) const;
  // The time of one unfold, for each unit.
  std::vector<Real> unfold_times(const Elapsed<Real>& ts) const;
  std::vector<Real> advance(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed,
                            const std::vector<Real>& h) const;
  void advance_backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed,
                        const std::vector<Real>& h, const std::vector<Real>& d_next, std::vector<Real>& dv,
                        std::vector<Real>& dh, Sums& d_sensed, ParameterSet<Real>& gradients) const;
  std::vector<Real> rate(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed) const;
  void rate_backward(const ParameterSet<Real>& p, const std::vector<Real>& v, const Sums& sensed,
                     const std::vector<Real>& d_rate, std::vector<Real>& dv, Sums& d_sensed,
                     ParameterSet<Real>& gradients) const;
};

// The LSTM cell of mixed memory.
template <class Real>
struct MemoryCell {
  Linear input_map{}, recurrent_map{};

  explicit MemoryCell(const ParameterSet<Real>& p);

  // h and c become the new ones.
  void forward(const ParameterSet<Real>& p, const std::vector<Real>& x, std::vector<Real>& h,
               std::vector<Real>& c) const;
  // dh and dc are gradients of the new ones and become those of the old.
  void backward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& h,
                const std::vector<Real>& c, std::vector<Real>& dx, std::vector<Real>& dh, std::vector<Real>& dc,
                ParameterSet<Real>& gradients) const;
};

}  // namespace tessera::ncp
