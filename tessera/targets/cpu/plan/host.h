#pragma once

#include "tessera/core/isa.h"
#include "tessera/machine/machine.h"

namespace tessera::cpu {

// The machine file that stands for a CPU with this instruction set: its figures weigh kernels against each other.
const CpuSpec& cpu_spec(Isa isa);

}  // namespace tessera::cpu
