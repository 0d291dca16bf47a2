#pragma once

// An LTC layer (semi-implicit solver, without mixed memory) in training, over the synapses that exist. In a precision
// other than float32 parameters, inputs, and states and their gradients between steps have the numbers of that type;
// the unfolds of a step are float32.

#include "tessera/ncp/gradient_exchange.h"
#include "tessera/ncp/internal/backward_kernels.h"
#include "tessera/ncp/internal/batch_chunks.h"
#include "tessera/ncp/internal/cells.h"
#include "tessera/ncp/internal/ltc_gradient_kernels.h"
#include "tessera/ncp/sequence.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::ncp {

struct TrainedSynapses {
  Synapses<float> of{};
  std::vector<std::int32_t> first{}, source{};
  std::vector<std::int32_t> place{};  // in the matrices of parameters
  std::vector<float> slope{}, mu{}, sigma{}, weight{}, current{};

  std::int64_t count() const { return static_cast<std::int64_t>(source.size()); }
  SynapseList list() const;
  void take(const ParameterSet<float>& p);  // finds synapses anew
  // Of sums over everything, kSynapseSums for each synapse.
  void put_gradients(const ParameterSet<float>& p, const float* sums, ParameterSet<float>& gradients) const;
};

class LtcGradient {
 public:
  static bool takes(const LtcLayer& layer);
  LtcGradient(const LtcLayer& layer, Precision precision, const LtcGradientKernel& kernel, const BackwardKernel& back);

  void set_parameters(const ParameterSet<float>& parameters);
  // Vectors of the result have their sizes and are zero.
  void forward(const Sequence<float>& sequence, std::span<const std::int32_t> lengths, SequenceResult<float>& result,
               const BatchShare& share);
  void backward(std::span<const float> d_output, std::span<const float> d_state, SequenceGradients<float>& gradients,
                GradientExchange* exchange);
  // Samples that are worked on together, in a batch of so many.
  std::int64_t rows_of_chunk(std::int64_t batch) const;

 private:
  struct Tape {
    std::int64_t stride = 0;
    std::vector<float> x{}, input{}, elapsed{};                 // of all steps
    std::vector<float> states{}, inverse{};                     // of all unfolds of all steps
    std::vector<float> time_slope{};                            // likewise, where gradients by timespans are wanted
    std::vector<float> scratch{}, d{}, d_input{}, d_elapsed{};  // of one step
    std::vector<float> recurrent_sums{}, sensory_sums{}, unit_sums{};
    std::vector<float> gradient{};  // sums: recurrent, sensory, units, input_w, input_b, output_w, output_b
  };

  LtcTrainingStep step_of(const BatchChunk& chunk, Tape& tape, std::int64_t step) const;
  void forward_chunk(const Sequence<float>& sequence, const BatchChunk& chunk, Tape& tape,
                     SequenceResult<float>& result) const;
  void backward_chunk(std::span<const float> d_output, std::span<const float> d_state, const BatchChunk& chunk,
                      Tape& tape, SequenceGradients<float>& gradients) const;
  void round(float* values, std::int64_t count) const { back_->round(precision_, values, count); }
  std::int64_t gradient_size() const;
  std::int64_t row_of(std::int64_t sample, std::int64_t step) const {
    return sizes_.batch_first ? sample * steps_ + step : step * batch_ + sample;
  }

  LayerSizes sizes_{};
  int unfolds_ = 6;
  float epsilon_ = 0;
  bool softplus_ = true;
  Precision precision_;
  const LtcGradientKernel* kernel_;
  const BackwardKernel* back_;
  ParameterSet<float> parameters_{};
  std::optional<LtcCell<float>> cell_{};
  TrainedSynapses recurrent_{}, sensory_{};
  std::vector<float> leak_{}, leak_current_{}, capacity_{};
  std::vector<float> input_w_{}, input_b_{}, output_w_{}, output_b_{};

  // Of the last forward().
  std::int64_t batch_ = 0, steps_ = 0;
  bool differentiate_timespans_ = false;
  std::vector<BatchChunk> chunks_{};
  std::vector<Tape> tapes_{};
};

}  // namespace tessera::ncp
