// Step 3: every slice of the weights is turned once and stays in SBUF; a window is converted to float32 in the copy
// that cuts it out. ScalarE adds the bias on the way out of PSUM.

#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {

void conv2d_cached(Kernel& k, const ConvProblem& p, const ConvTensors& t) {
  convolve_windows(k, p, t, ElementType::float32);
}

}  // namespace tessera::neuron
