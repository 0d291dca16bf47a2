#pragma once

// A convolution made ready for one device: weights packed and copied once, the copy engine's descriptors built once.

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/module.h"
#include "tessera/targets/cuda/device/stream.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_table.h"
#include "tessera/targets/cuda/kernels/kernel_library.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::cuda {

class TSR_API Conv2d {
 public:
  // Weights as oc, ic, kh, kw and a bias for each output channel, or none; they are rounded to the problem's type.
  Conv2d(KernelLibrary& library, const Conv2dProblem& problem, const Conv2dRow& row, const Conv2dOffer& offer,
         std::span<const float> weights, std::span<const float> bias);
  // With weights that are on the device already, as conv2d_weights() has packed them.
  Conv2d(KernelLibrary& library, const Conv2dProblem& problem, const Conv2dRow& row, const Conv2dOffer& offer,
         std::shared_ptr<const Memory> weights, std::span<const float> bias);

  // For these addresses on the device, which are multiples of 16. Launches as often as wanted, in one stream at a time.
  class TSR_API Bound {
   public:
    void launch(const Stream& stream) const;

   private:
    friend class Conv2d;
    Function function_;
    LaunchShape shape_;
    bool tiled_ = false;
    CUtensorMap x_map_{}, w_map_{};
    const void* x_ = nullptr;
    const void* w_ = nullptr;
    Conv2dArguments arguments_{};
    // Few channels: x is folded first, into memory of the convolution's own.
    Function fold_;
    LaunchShape fold_shape_;
    FoldArguments fold_arguments_{};
    void* folded_ = nullptr;
  };
  // x_planes: the same images as float32 with channels first, where there are such; an image that is folded is then
  // read from there, and x not at all (reads_planes()).
  Bound bind(const void* x, const void* residual, void* y, const float* x_planes = nullptr) const;
  bool reads_planes() const { return offer_.folded; }

 private:
  Conv2dArguments arguments() const;

  Conv2dProblem problem_;
  Conv2dRow row_;
  Conv2dOffer offer_;
  Function function_, fold_, fold_planes_;
  std::shared_ptr<const Memory> weights_;
  Memory bias_, folded_;
};

// How weights lie for kernels, and whether two rows can share them.
enum class Conv2dPacking : std::uint8_t { tiles, folded, direct };
TSR_API Conv2dPacking packing_of(const Conv2dRow& row, const Conv2dOffer& offer);
TSR_API std::vector<std::byte> conv2d_weights(const Conv2dProblem& problem, Conv2dPacking packing,
                                              std::span<const float> weights);

}  // namespace tessera::cuda
