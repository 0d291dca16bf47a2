// Compiled for: amx

#include "tests/targets/cpu/amx_functions.h"

namespace tessera::cpu {

using simd::AmxTiles;

void amx_product(const simd::TileConfig& config, const void* a, const void* b, void* c) {
  AmxTiles::configure(config);
  AmxTiles::load<0>(c, 64);
  AmxTiles::load<1>(a, 64);
  AmxTiles::load<2>(b, 64);
  AmxTiles::dot<0, 1, 2>();
  AmxTiles::store<0>(c, 64);
  AmxTiles::release();
}

}  // namespace tessera::cpu
