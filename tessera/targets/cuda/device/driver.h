#pragma once

// The CUDA driver, loaded when it is first needed: the same binary runs on machines without a GPU, and says there what
// is missing.

#include "tessera/core/export.h"

#include <cuda.h>

#include <string>
#include <string_view>

namespace tessera::cuda {

// Every function of libcuda that we call, under the name of the CUDA manual.
struct Driver {
#define TSR_DRIVER_FUNCTION(name) decltype(&::name) name = nullptr;
#include "tessera/targets/cuda/device/driver_functions.def"
#undef TSR_DRIVER_FUNCTION
};

// An Error of Code::unsupported where there is no libcuda or it is too old. Contexts start it (context.h).
TSR_API const Driver& driver();

// Throws unless the call succeeded: Code::out_of_memory, Code::invalid_argument, Code::unsupported (another
// architecture), else Code::io. `what` says what was tried: "allocate 1024 bytes".
TSR_API void check_call(CUresult result, std::string_view what);

// For destructors, which must not throw: a device that was lost has nothing left to free.
inline void ignore(CUresult) {}

}  // namespace tessera::cuda
