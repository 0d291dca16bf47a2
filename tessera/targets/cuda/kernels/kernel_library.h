#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/context.h"
#include "tessera/targets/cuda/device/module.h"
#include "tessera/targets/cuda/kernels/embedded.h"

#include <array>
#include <memory>
#include <mutex>
#include <string_view>

namespace tessera::cuda {

// The kernels of one device. A binary is loaded when the first kernel of it is asked for. Any thread may ask.
class TSR_API KernelLibrary {
 public:
  explicit KernelLibrary(const Context& context) : context_(context) {}

  Function function(Binary binary, std::string_view name);
  const Context& context() const { return context_; }

 private:
  const Context& context_;
  std::mutex mutex_;
  std::array<std::unique_ptr<Module>, kBinaries> modules_;
};

}  // namespace tessera::cuda
