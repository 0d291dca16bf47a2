#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <vector>

namespace tessera::cpu {

std::span<const CpuKernel> kernels() {
  static const std::vector<CpuKernel> all = [] {
    std::vector<CpuKernel> list;
#define F(stem) \
  for (const CpuKernel& kernel : stem##_kernels()) list.push_back(kernel);
#include "tessera/targets/cpu/kernels/families.def"
#undef F
    return list;
  }();
  return all;
}

}  // namespace tessera::cpu
