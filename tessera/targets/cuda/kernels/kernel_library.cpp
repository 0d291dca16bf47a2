#include "tessera/targets/cuda/kernels/kernel_library.h"

namespace tessera::cuda {

Function KernelLibrary::function(Binary binary, std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto& module = modules_[static_cast<std::size_t>(binary)];
  if (!module) module = std::make_unique<Module>(context_, embedded(binary));
  return module->function(name);
}

}  // namespace tessera::cuda
