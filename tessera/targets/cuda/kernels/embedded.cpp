#include "tessera/targets/cuda/kernels/embedded.h"

#if defined(TESSERA_CUBIN_DIR)

// The build compiles one binary from each .cu file and says where they are.
#define TSR_EMBED(name)                                                                                                \
  asm(".section .rodata\n.balign 64\n.hidden tessera_" #name "_begin\n.global tessera_" #name "_begin\ntessera_" #name \
      "_begin:\n.incbin \"" TESSERA_CUBIN_DIR "/" #name ".cubin\"\n.hidden tessera_" #name                             \
      "_end\n.global tessera_" #name "_end\ntessera_" #name "_end:\n.previous\n");                                     \
  extern "C" const std::byte tessera_##name##_begin[], tessera_##name##_end[];

#define TSR_BINARY(name) TSR_EMBED(name)
#include "tessera/targets/cuda/kernels/binaries.def"
#undef TSR_BINARY

namespace tessera::cuda {

std::span<const std::byte> embedded(Binary which) {
  switch (which) {
#define TSR_BINARY(name) \
  case Binary::name: return {tessera_##name##_begin, tessera_##name##_end};
#include "tessera/targets/cuda/kernels/binaries.def"
#undef TSR_BINARY
  }
  return {};
}

}  // namespace tessera::cuda

#else

namespace tessera::cuda {

std::span<const std::byte> embedded(Binary) { return {}; }

}  // namespace tessera::cuda

#endif
