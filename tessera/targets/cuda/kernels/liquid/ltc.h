#pragma once

// An LTC layer made ready for one device: synapses packed and copied once, then any number of sequences.

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/module.h"
#include "tessera/targets/cuda/device/stream.h"
#include "tessera/targets/cuda/kernels/kernel_library.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_tensors.h"
#include "tessera/targets/cuda/kernels/liquid/ltc_table.h"

namespace tessera::cuda {

class TSR_API PreparedLtc {
 public:
  PreparedLtc(KernelLibrary& library, const LtcProblem& problem, const LtcRow& row, const LtcOffer& offer,
              const LtcWeights& weights);

  // For these addresses on the device. Launches as often as wanted, into any stream, also while a graph is recorded.
  class TSR_API Bound {
   public:
    void launch(const Stream& stream) const;

   private:
    friend class PreparedLtc;
    Function function_;
    LaunchShape shape_;
    LtcArguments arguments_{};
  };
  Bound bind(const LiquidTensors& tensors) const;

 private:
  LtcProblem problem_;
  LtcOffer offer_;
  Function function_;
  LtcArguments arguments_{};
  Memory sensory_values_, sensory_sources_, recurrent_values_, recurrent_sources_, membrane_;
};

}  // namespace tessera::cuda
