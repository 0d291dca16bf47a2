#pragma once

// The kernels behind convert.h; declarations only, for the reason given in tile_kernels.h.

#include <cstdint>

namespace tessera {

#define K(operation, isa, description)                                                       \
  namespace isa {                                                                            \
  void operation(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept; \
  }
#include "tessera/core/convert.def"
#undef K

}  // namespace tessera
