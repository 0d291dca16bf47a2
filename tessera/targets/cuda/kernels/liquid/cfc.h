#pragma once

// A CfC layer made ready for one device: weights packed and copied once, then any number of sequences.

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/module.h"
#include "tessera/targets/cuda/device/stream.h"
#include "tessera/targets/cuda/kernels/kernel_library.h"
#include "tessera/targets/cuda/kernels/liquid/cfc_table.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_tensors.h"

#include <span>
#include <variant>
#include <vector>

namespace tessera::cuda {

// As the operator Cfc has them (graph/ops/cfc.h); zeros where a wiring has no synapse.
struct CfcWeights {
  struct Linear {
    std::span<const float> weights{}, biases{};
  };
  struct Cell {
    std::vector<Linear> backbone{};
    Linear heads{};
    std::span<const float> decay{};  // of the mode pure
  };
  std::vector<Cell> cells{};
  Linear projection{};
};

class TSR_API PreparedCfc {
 public:
  PreparedCfc(KernelLibrary& library, const CfcProblem& problem, const CfcRow& row, const CfcOffer& offer,
              const CfcWeights& weights);

  // For these addresses on the device. Launches as often as wanted, into any stream, also while a graph is recorded.
  class TSR_API Bound {
   public:
    void launch(const Stream& stream) const;

   private:
    friend class PreparedCfc;
    Function function_;
    LaunchShape shape_;
    std::variant<CfcArguments, CfcRegisterArguments> arguments_{};
  };
  Bound bind(const LiquidTensors& tensors) const;

 private:
  void prepare(const CfcWeights& weights, const CfcRow& row);
  void prepare_registers(const CfcWeights& weights, const CfcRow& row);

  const Context& context_;
  CfcProblem problem_;
  CfcOffer offer_;
  Function function_;
  std::variant<CfcArguments, CfcRegisterArguments> arguments_{};
  Memory weights_, constants_;
};

}  // namespace tessera::cuda
