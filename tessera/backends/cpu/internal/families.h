#pragma once

#include "tessera/backends/cpu/kernel.h"

#include <span>

namespace tessera::cpu {

#define F(stem) std::span<const CpuKernel> stem##_kernels();
#include "tessera/backends/cpu/families.def"
#undef F

}  // namespace tessera::cpu
