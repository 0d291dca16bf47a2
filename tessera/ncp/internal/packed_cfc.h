#pragma once

// A CfC layer with its weights packed for the dense kernel.

#include "tessera/ncp/counted_memory.h"
#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/ncp/parameters.h"
#include "tessera/ncp/sequence.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::ncp {

// One product: weights for up to two places that inputs come from, and the bias, padded with zeros to whole blocks.
struct PackedProduct {
  int vectors = kQuad;  // of a block
  std::int64_t blocks = 0;
  std::int64_t first_inputs = 0;
  std::int64_t second_inputs = 0;
  CountedFloats first{};
  CountedFloats second{};
  CountedFloats bias{};
  std::int64_t width() const { return static_cast<std::int64_t>(bias.size()); }
};

struct PackedCfcCell {
  std::int64_t hidden = 0;
  std::int64_t offset = 0;  // of its part in a row of the state
  std::vector<PackedProduct> backbone{};
  PackedProduct heads{};
  PackedProduct
      timed_heads{};           // for steps that take a time of 1: the gate's two products are one; not of the pure mode
  std::vector<float> w_tau{};  // of the pure mode
  std::vector<float> amplitude{};

  const PackedProduct& heads_for(bool unit_time) const {
    return unit_time && timed_heads.blocks > 0 ? timed_heads : heads;
  }
  const PackedProduct& entry(bool unit_time) const {
    return backbone.empty() ? heads_for(unit_time) : backbone.front();
  }
};

class PackedCfc {
 public:
  PackedCfc(const CfcLayer& layer, const ParameterSet<float>& parameters, const DenseKernel& kernel);

  // Samples [begin, end) of a sequence into the result, whose vectors have their sizes.
  void run(const Sequence<float>& sequence, std::int64_t begin, std::int64_t end, SequenceResult<float>& result) const;

  // One sample step by step; nothing is allocated after the workspace. Rows of states have no padding.
  struct Workspace;
  std::shared_ptr<Workspace> make_workspace(std::int64_t rows) const;
  void step_once(Workspace& work, const float* x, const float* elapsed, float* output) const;  // null: 1
  void set_state(Workspace& work, const float* state, const float* memory) const;
  void get_state(const Workspace& work, float* state, float* memory) const;

 private:
  struct StepInput;

  void add_cell(const CfcLayer& layer, const ParameterSet<float>& p, const std::string& prefix, std::int64_t hidden);
  void add_memory(const ParameterSet<float>& p);
  void step(Workspace& work, const StepInput& input) const;
  void run_cell(const PackedCfcCell& cell, Workspace& work, const StepInput& input, Segment from,
                DenseStep heads) const;
  void project(Workspace& work, const float* x, std::int64_t steps, bool unit_time) const;
  // Rows of the padded state as rows without padding, and back.
  void gather(const float* padded, float* to) const;
  void scatter(const float* from, float* padded) const;
  void write_output(Workspace& work, std::int64_t row, float* to) const;

  LayerSizes sizes_{};
  CfcMode mode_ = CfcMode::standard;
  Activation activation_ = Activation::lecun_tanh;
  DialectRules rules_{};
  const DenseKernel* kernel_;
  std::vector<PackedCfcCell> cells_{};
  PackedProduct memory_{};
  PackedProduct projection_{};
  std::int64_t state_width_ = 0;  // of a row of the state with each cell's part padded
  std::int64_t widest_ = 0;       // of a row between two layers of a backbone
};

}  // namespace tessera::ncp
