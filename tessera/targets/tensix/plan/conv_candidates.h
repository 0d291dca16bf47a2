#pragma once

// The ways in which a convolution could run, from its shape alone: grids of cores, blocks and buffers, weighed by the
// time of its own programs and by what they take of L1. Where its input comes from is weighed later.

#include "tessera/machine/machine.h"
#include "tessera/machine/tensix_costs.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/layer_config.h"
#include "tessera/targets/tensix/plan/precision.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

struct ConvCandidate {
  tensix::LayerConfig config;
  double ns = 0;              // halo and convolution
  std::int64_t l1_bytes = 0;  // most at a time: input, halo, output and circular buffers
};

struct ConvGrid {
  TensorMemoryLayout layout = TensorMemoryLayout::height_sharded;
  CoreRangeSet cores;
  std::vector<ConvCandidate> candidates;  // none beaten in both time and memory; fastest first

  bool operator<(const ConvGrid& other) const { return candidates.front().ns < other.candidates.front().ns; }
};

struct ConvRefusal {
  std::string config, reason;
  std::int64_t l1_bytes = 0;
};

struct ConvChoices {
  std::vector<ConvGrid> grids;        // fastest first
  std::vector<ConvRefusal> refusals;  // a few, of other kinds
};

struct CandidateLimits {
  std::size_t height_grids = 6, block_grids = 6, width_grids = 1;
  std::size_t per_grid = 3;
  double slowest = 2.5;  // times the fastest grid: what is slower is left out
  double fewest = 0.5;   // of the cores that could have work: grids of fewer are left out
};

class ConvCandidates {
 public:
  ConvCandidates(const TensixSpec& card, const TensixCosts& costs, std::int64_t limit_bytes, CandidateLimits limits)
      : card_(card), costs_(costs), limit_bytes_(limit_bytes), limits_(limits) {}

  // For an input of this dtype and layout, wherever it is.
  ConvChoices choices(const tensix::ConvLayer& layer, DType input_dtype, Layout input_layout,
                      const StepPrecision& precision, const tensix::LayerConfig& pins) const;
  // On one grid.
  ConvGrid on_grid(const tensix::ConvLayer& layer, DType input_dtype, Layout input_layout,
                   const StepPrecision& precision, const tensix::LayerConfig& pins, TensorMemoryLayout layout,
                   const CoreRangeSet& cores, std::vector<ConvRefusal>* refusals = nullptr) const;

 private:
  const TensixSpec& card_;
  const TensixCosts& costs_;
  std::int64_t limit_bytes_;
  CandidateLimits limits_;
};

// "HEIGHT_SHARDED on 63 cores, act_block_h 384, weights x2"
std::string config_words(const tensix::LayerConfig& config);

// A call with every field given.
tensix::LayerConfig complete_config(const tensix::ConvLayer& layer, const StepPrecision& precision);

}  // namespace tessera::tensix
