#pragma once

// An LTC layer (semi-implicit solver, without mixed memory) with its synapses packed for the LTC kernel.

#include "tessera/ncp/counted_memory.h"
#include "tessera/ncp/internal/ltc_kernels.h"
#include "tessera/ncp/parameters.h"
#include "tessera/ncp/sequence.h"

#include <cstdint>
#include <vector>

namespace tessera::ncp {

// A cell's parameters of that index, or `otherwise` so many times where it has none.
inline std::vector<float> values_or(const ParameterSet<float>& p, int index, int count, float otherwise) {
  if (index < 0) return std::vector<float>(static_cast<std::size_t>(count), otherwise);
  return {p.at(index), p.at(index) + count};
}

struct PackedSynapses {
  std::vector<std::int32_t> first_slot{}, shared{}, source{}, fan_in{};
  CountedFloats slope{}, shift{}, weight{}, current{};
  SynapseTable table() const;
};

class PackedLtc {
 public:
  static bool takes(const LtcLayer& layer);
  PackedLtc(const LtcLayer& layer, const ParameterSet<float>& parameters, const LtcKernel& kernel);

  // Samples [begin, end) of a sequence into the result, whose vectors have their sizes.
  void run(const Sequence<float>& sequence, std::int64_t begin, std::int64_t end, SequenceResult<float>& result) const;
  int lanes() const { return kernel_->lanes; }

  // One sample step by step; nothing is allocated after the workspace.
  struct Workspace {
    CountedFloats state{}, input{}, scratch{}, elapsed{};
  };
  Workspace make_workspace(std::int64_t width) const;
  void step_once(Workspace& work, const float* x, float elapsed, float* output) const;
  void set_state(Workspace& work, const float* state) const;
  void get_state(const Workspace& work, float* state) const;

 private:
  LtcStep step_of(Workspace& work) const;
  void map_input(Workspace& work, const float* x, std::int64_t width, std::int64_t row) const;
  void map_output(const Workspace& work, float* out, std::int64_t width, std::int64_t row) const;
  // Up to `width` samples side by side: 1, or as many as there are lanes.
  void run_some(const Sequence<float>& sequence, std::int64_t begin, std::int64_t rows, std::int64_t width,
                SequenceResult<float>& result) const;

  LayerSizes sizes_{};
  int unfolds_ = 6;
  float epsilon_ = 0;
  const LtcKernel* kernel_;
  std::int64_t groups_ = 0;
  std::vector<std::int32_t> place_{};  // of each neuron in the packed state, ordered by number of synapses
  PackedSynapses sensory_{}, recurrent_{};
  std::vector<float> leak_{}, leak_current_{}, capacity_{};
  std::vector<float> input_w_{}, input_b_{}, output_w_{}, output_b_{};
};

}  // namespace tessera::ncp
