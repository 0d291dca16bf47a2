#pragma once

// The GPU that networks of this process run on.

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/context.h"
#include "tessera/targets/cuda/kernels/kernel.h"

namespace tessera::cuda {

struct Gpu {
  Context context;
  KernelLibrary library{context};
};

// The first device, opened when it is first asked for; an Error where there is none (absence() says what is missing).
TSR_API Gpu& gpu();

}  // namespace tessera::cuda
