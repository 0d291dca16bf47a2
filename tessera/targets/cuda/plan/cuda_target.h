#pragma once

#include "tessera/target/target.h"

namespace tessera::cuda {

// The GPU of this machine: the machine file of its kind, or what the device says of itself. An Error that says what is
// missing where there is none.
TSR_API Machine device_machine();

// NVIDIA GPUs. Planning needs none, running does.
TSR_API const Target& target();

}  // namespace tessera::cuda
