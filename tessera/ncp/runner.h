#pragma once

// Layers made ready to run fast in float32: parameters packed once, then any number of sequences. The heads of a cell
// are one product whose gate is computed while its sums are in registers; several samples share each weight that is
// loaded; threads take samples; nothing is allocated from step to step.

#include "tessera/core/export.h"
#include "tessera/core/isa.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/sequence.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::ncp {

class TSR_API Runner {
 public:
  // Packs for kernels of this instruction set.
  Runner(Layer layer, ParameterSet<float> parameters, Isa isa = active_isa());
  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  // As run_reference(), to a few roundings of float for each step. Samples do not depend on each other or on the number
  // of threads; calls at the same time are fine.
  SequenceResult<float> run(const Sequence<float>& sequence, KeepStates keep = KeepStates::no) const;
  // Into a result of an earlier call, whose memory is used again; the sequence may not point into it.
  void run(const Sequence<float>& sequence, SequenceResult<float>& result, KeepStates keep = KeepStates::no) const;

  const Layer& layer() const;
  // What runs: "cfc_f32_avx512", "ltc_f32_avx512", or "reference".
  std::string_view kernel() const;
  bool is_fast() const;  // false: the reference runs

 private:
  friend class Stepper;
  struct State;
  std::unique_ptr<State> state_;
};

// As those of sequence.h for the reference.
TSR_API std::vector<SequenceResult<float>> run_stacked(std::span<const Runner* const> layers,
                                                       const Sequence<float>& sequence);
TSR_API BidirectionalResult<float> run_bidirectional(const Runner& forward, const Runner& backward,
                                                     const Sequence<float>& sequence);

// A layer in a control loop: one sample, one step at a time, the state kept between. Steps allocate nothing where the
// runner has a fast version. The runner has to stay.
class TSR_API Stepper {
 public:
  explicit Stepper(const Runner& runner);
  ~Stepper();

  // The output of the step, valid until the next one. The same as a sequence of these steps gives: one without
  // timespans, or one that has them.
  std::span<const float> step(std::span<const float> input);
  std::span<const float> step(std::span<const float> input, float elapsed);

  std::vector<float> state() const;
  std::vector<float> memory() const;  // of mixed memory, else empty
  void set_state(std::span<const float> state, std::span<const float> memory = {});
  void reset();  // to zeros

 private:
  std::span<const float> advance(std::span<const float> input, const float* elapsed);  // null: 1

  struct Work;
  const Runner& runner_;
  std::unique_ptr<Work> work_;
};

}  // namespace tessera::ncp
