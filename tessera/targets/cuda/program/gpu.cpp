#include "tessera/targets/cuda/program/gpu.h"

namespace tessera::cuda {

Gpu& gpu() {
  static Gpu one;
  return one;
}

}  // namespace tessera::cuda
