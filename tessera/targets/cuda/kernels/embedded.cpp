#include "tessera/targets/cuda/kernels/embedded.h"

// The build compiles one binary from each .cu file and says where they are.
#define TSR_EMBED(name)                                                                                                \
  asm(".section .rodata\n.balign 64\n.hidden tessera_" #name "_begin\n.global tessera_" #name "_begin\ntessera_" #name \
      "_begin:\n.incbin \"" TESSERA_CUBIN_DIR "/" #name ".cubin\"\n.hidden tessera_" #name                             \
      "_end\n.global tessera_" #name "_end\ntessera_" #name "_end:\n.previous\n");                                     \
  extern "C" const std::byte tessera_##name##_begin[], tessera_##name##_end[];

TSR_EMBED(conv2d_direct)
TSR_EMBED(conv2d_fold)
TSR_EMBED(conv2d_f16)
TSR_EMBED(conv2d_bf16)

namespace tessera::cuda {

std::span<const std::byte> embedded(Binary which) {
  switch (which) {
    case Binary::conv2d_direct: return {tessera_conv2d_direct_begin, tessera_conv2d_direct_end};
    case Binary::conv2d_fold: return {tessera_conv2d_fold_begin, tessera_conv2d_fold_end};
    case Binary::conv2d_f16: return {tessera_conv2d_f16_begin, tessera_conv2d_f16_end};
    case Binary::conv2d_bf16: return {tessera_conv2d_bf16_begin, tessera_conv2d_bf16_end};
  }
  return {};
}

}  // namespace tessera::cuda
