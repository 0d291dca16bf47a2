#pragma once

// Layers run over sequences by the reference: plain loops, one sample after the other. Fast versions are checked
// against it. Gradients are exact: back through time, the unfolds of the solver, projections and mixed memory.

#include "tessera/core/export.h"
#include "tessera/ncp/layer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::ncp {

// What a call is given. Sequences are [batch, steps, width], or [steps, batch, width] where the layer is not
// batch_first.
template <class Real>
struct Sequence {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::span<const Real> input{};
  std::span<const Real> timespans{};            // elapsed before each step: none (1), one for all, a
                                                // sequence of width 1, or one as wide as the state
  std::span<const Real> state{};                // [batch, state]; none: zeros
  std::span<const Real> memory{};               // of mixed memory, likewise
  std::optional<std::uint64_t> dropout_seed{};  // none: nothing is dropped
  bool differentiate_timespans = false;         // whether gradients by timespans are wanted
};

template <class Real>
struct SequenceResult {
  std::vector<Real> output{};  // a sequence, or [batch, outputs] of the last step
  std::vector<Real> state{};   // after the last step
  std::vector<Real> memory{};
  std::vector<Real> states{};  // every state of every step as a sequence, for inspection
};

template <class Real>
struct SequenceGradients {
  ParameterSet<Real> parameters{};
  std::vector<Real> input{};
  std::vector<Real> state{};
  std::vector<Real> memory{};
  std::vector<Real> timespans{};  // as many as were given, where they are wanted
};

enum class KeepStates { no, yes };

template <class Real>
TSR_API SequenceResult<Real> run_reference(const Layer& layer, const ParameterSet<Real>& parameters,
                                           const Sequence<Real>& sequence, KeepStates keep = KeepStates::no);

// Gradients of a number whose gradients by the results are given; an empty one of state or memory is zero.
template <class Real>
TSR_API SequenceGradients<Real> differentiate_reference(const Layer& layer, const ParameterSet<Real>& parameters,
                                                        const Sequence<Real>& sequence, std::span<const Real> d_output,
                                                        std::span<const Real> d_state = {},
                                                        std::span<const Real> d_memory = {});

// Timespans for each unit that are the same for all units of a step, as one for each step; others as they are. Empty:
// there are none, or they differ from unit to unit.
template <class Real>
TSR_API std::vector<Real> timespans_of_steps(const Sequence<Real>& sequence, int units);

// An Error unless everything has the size that the layer and the others ask for, and timespans are finite.
template <class Real>
TSR_API void check_sequence(const Layer& layer, const Sequence<Real>& sequence);

// Stacks: each layer's output is the next one's input. Every layer but the last has to return sequences.
template <class Real>
struct StackedLayer {
  const Layer* layer = nullptr;
  const ParameterSet<Real>* parameters = nullptr;
};
template <class Real>
TSR_API std::vector<SequenceResult<Real>> run_stacked(std::span<const StackedLayer<Real>> layers,
                                                      const Sequence<Real>& sequence);

// One layer from the first step to the last and one from the last to the first. Outputs of both side by side: a step's
// own where sequences are returned, else each direction's last. Initial states are zeros.
template <class Real>
struct BidirectionalResult {
  std::vector<Real> output{};
  SequenceResult<Real> forward{};
  SequenceResult<Real> backward{};  // its sequences in the order of time
};
template <class Real>
TSR_API BidirectionalResult<Real> run_bidirectional(const StackedLayer<Real>& forward,
                                                    const StackedLayer<Real>& backward, const Sequence<Real>& sequence);

}  // namespace tessera::ncp
