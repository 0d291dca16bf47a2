#pragma once

// Layers of liquid networks on a GPU, called as ncp::Runner is: parameters are packed and copied once, sequences come
// from and go to the host. Needs nothing of CUDA to be included.

#include "tessera/core/export.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/sequence.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_table.h"

#include <memory>
#include <string>

namespace tessera::cuda {

class TSR_API LayerRunner {
 public:
  // An Error where there is no GPU for our kernels (what is missing: driver, device or architecture), or where the
  // layer has mixed memory, which they do not know. `precision` is of the products of a CfC; an LTC has none.
  LayerRunner(ncp::Layer layer, ncp::ParameterSet<float> parameters, LiquidPrecision precision);
  ~LayerRunner();

  // As ncp::Runner::run(), without dropout, states or memory. Sequences of sizes that were seen lately are run without
  // anything being allocated on the device. One call at a time.
  void run(const ncp::Sequence<float>& sequence, ncp::SequenceResult<float>& result);

  const ncp::Layer& layer() const;
  // Of the latest run: "cfc_tf32_registers_8 in clusters of 4".
  std::string kernel() const;
  std::string device() const;  // "NVIDIA H200"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::cuda
