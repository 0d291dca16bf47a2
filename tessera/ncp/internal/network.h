#pragma once

// A layer with its parameters found: one step of one sample, forward and backward.

#include "tessera/ncp/internal/cells.h"

#include <optional>
#include <variant>
#include <vector>

namespace tessera::ncp {

template <class Real>
struct StepState {
  std::vector<Real> state{};
  std::vector<Real> memory{};  // with mixed memory
};

template <class Real>
class Network {
 public:
  Network(const Layer& layer, const ParameterSet<Real>& parameters);

  // `now` becomes the state after the step.
  void step(const std::vector<Real>& x, StepState<Real>& now, const Elapsed<Real>& ts, const DropoutKey& key) const;
  // d is the gradient of the state after the step and becomes that of the state before it; dx and d_elapsed (one for
  // each unit) are added to.
  void step_backward(const std::vector<Real>& x, const StepState<Real>& before, const Elapsed<Real>& ts,
                     const DropoutKey& key, StepState<Real>& d, std::vector<Real>& dx, std::vector<Real>& d_elapsed,
                     ParameterSet<Real>& gradients) const;

  // Readout and projection of a state.
  std::vector<Real> output(const std::vector<Real>& state) const;
  void output_backward(const std::vector<Real>& state, const std::vector<Real>& d_output, std::vector<Real>& d_state,
                       ParameterSet<Real>& gradients) const;

 private:
  std::vector<Real> readout(const std::vector<Real>& state) const;

  const ParameterSet<Real>& p_;
  std::variant<WiredCfcCell<Real>, LtcCell<Real>> cell_;
  std::optional<MemoryCell<Real>> memory_;
  std::optional<Linear> projection_;
  std::size_t readout_ = 0;
};

}  // namespace tessera::ncp
