#pragma once

#include "tessera/targets/cpu/kernels/kernel.h"

#include <span>

namespace tessera::cpu {

#define F(stem) std::span<const CpuKernel> stem##_kernels();
#include "tessera/targets/cpu/kernels/families.def"
#undef F

}  // namespace tessera::cpu
