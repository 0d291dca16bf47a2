#pragma once

#include "tessera/target/target.h"

namespace tessera::cpu {

// The machine that this process runs on.
TSR_API Machine host_machine();

// This machine's own processor.
TSR_API const Target& target();

}  // namespace tessera::cpu
