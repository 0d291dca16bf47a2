#include "tessera/targets/cuda/device/driver.h"

#include "tessera/core/error.h"

#include <dlfcn.h>

namespace tessera::cuda {

namespace {

#define TSR_TEXT(name) #name
#define TSR_SYMBOL(name) TSR_TEXT(name)  // cuda.h renames functions to their newest version: cuMemAlloc_v2

template <class Function>
void find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  check(function != nullptr, Code::unsupported, Hint{"update the NVIDIA driver"},
        "cuda: the driver has no function '{}'; it is older than the one this program needs (CUDA 12.3)", symbol);
}

Driver load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  check(library != nullptr, Code::unsupported, Hint{"install the NVIDIA driver, or choose another device"},
        "cuda: no driver: libcuda.so.1 cannot be loaded");
  Driver driver;
#define TSR_DRIVER_FUNCTION(name) find(library, TSR_SYMBOL(name), driver.name);
#include "tessera/targets/cuda/device/driver_functions.def"
#undef TSR_DRIVER_FUNCTION
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

void check_call(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  Code code = Code::io;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) code = Code::out_of_memory;
  if (result == CUDA_ERROR_INVALID_VALUE) code = Code::invalid_argument;
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) code = Code::unsupported;
  fail(code, "cuda: could not {}: {} ({})", what, text ? text : "unknown error", name ? name : "?");
}

}  // namespace tessera::cuda
