#pragma once

#include "tessera/target/target.h"

namespace tessera::neuron {

// AWS Trainium: fused convolutions as NKI kernels. Whole networks are not planned yet.
TSR_API const Target& target();

}  // namespace tessera::neuron
