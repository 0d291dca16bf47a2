// Step 4: operands stay in their own type, so that float16 is multiplied at full rate; only sums are float32.

#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {

void conv2d_native(Kernel& k, const ConvProblem& p, const ConvTensors& t) { convolve_windows(k, p, t, p.type); }

}  // namespace tessera::neuron
