#pragma once

// Layers made ready to be trained: a forward pass that keeps what the way back needs, and exact gradients back through
// time and through the unfolds of the solver. Products run over whole sequences where they can, and step by step only
// where a state depends on the one before it. Results do not depend on the number of threads, to the last bit.

#include "tessera/core/export.h"
#include "tessera/ncp/gradient_exchange.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/sequence.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace tessera::ncp {

// What operands of products are rounded to, forward and backward: weights, inputs, states, and gradients of sums. Sums
// and functions are float32. Of an LTC, which has no products: its parameters and inputs, and states and their
// gradients between steps; that makes it no faster. float16 has a small range: the loss has to be scaled (LossScale in
// trainer.h).
enum class Precision { float32, bfloat16, float16 };
TSR_API std::string_view name(Precision precision);
TSR_API std::optional<Precision> parse_precision(std::string_view text);

class TSR_API Gradient {
 public:
  // Packs for active_isa(). What only the reference differentiates has no precisions other than float32.
  explicit Gradient(Layer layer, Precision precision = Precision::float32);
  ~Gradient();
  Gradient(Gradient&&) noexcept;
  Gradient& operator=(Gradient&&) noexcept;

  // Before the first call, and whenever parameters have changed.
  void set_parameters(const ParameterSet<float>& parameters);

  // As Runner::run(), with dropout where the sequence has a seed for it. With lengths (one for each sample, from 1 to
  // the number of steps) a sample ends with its own last step: later outputs are 0, `state` is the one it ended with,
  // and what comes later costs nothing. Where the layer returns its last output only, that is the sample's own last.
  // The sequence may be one process's share of a batch.
  void forward(const Sequence<float>& sequence, SequenceResult<float>& result,
               std::span<const std::int32_t> lengths = {}, const BatchShare& share = {});

  // Of the last forward(), once: as differentiate_reference(). An empty gradient of state or memory is zero.
  // With an exchange, gradients of parameters are those of all processes' sequences.
  void backward(std::span<const float> d_output, SequenceGradients<float>& gradients,
                std::span<const float> d_state = {}, std::span<const float> d_memory = {});

  // With which processes gradients are added up from now on; none (nullptr): this one is alone.
  void set_exchange(GradientExchange* exchange);
  // Which samples of a batch are for this process: with an exchange in order, whole chunks of what one process would
  // work on at a time, so that there is nothing to do for some if the batch is small; else every `size`-th.
  BatchShare share(std::int64_t batch, std::int64_t steps, std::span<const std::int32_t> lengths) const;

  const Layer& layer() const;
  // What runs: "cfc_f32_avx512", "cfc_bf16_avx512", "ltc_f32_avx2", or "reference" (the other solvers of an LTC, and an
  // LTC with mixed memory).
  std::string_view kernel() const;

 private:
  void differentiate(std::span<const float> d_output, SequenceGradients<float>& gradients,
                     std::span<const float> d_state, std::span<const float> d_memory);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::ncp
