// The dense engine's tile on AMX, without AMX: what dense_simd.cpp is for it, on emulated tiles.

#include "tessera/targets/cpu/kernels/dense/dense_tiles_simd.h"
#include "tessera/targets/cpu/kernels/dense/emulated_tiles.h"

namespace tessera::cpu {

void dense_bf16_32x32_amx_emulated(const DenseTile& tile) { TSR_ISA::dense_tiles<EmulatedTiles>(tile); }
void dense_begin_amx_emulated(std::ptrdiff_t most) { TSR_ISA::begin_tiles<EmulatedTiles>(most); }
void dense_end_amx_emulated() { EmulatedTiles::release(); }

}  // namespace tessera::cpu
