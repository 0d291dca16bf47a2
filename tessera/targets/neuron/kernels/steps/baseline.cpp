// Step 0: as the loops are written down. Every product fetches its window of the image and its slice of the weights,
// element by element, and turns that slice on the PE array. Sums are kept in the type of the image.

#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {

void conv2d_baseline(Kernel& k, const ConvProblem& p, const ConvTensors& t) {
  const std::int64_t rows = rows_per_block(k.spec(), p);
  const View bias = load_bias(k, p, t.bias, p.type);
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t oc = 0; oc < p.oc / kChannels; ++oc)
      for (std::int64_t row = 0; row < p.oh(); row += rows) {
        const View sums = k.psum("sums", p.type, {kChannels, rows, p.ow()});
        for (std::int64_t ic = 0; ic < p.ic / kChannels; ++ic)
          for (std::int64_t tap = 0; tap < p.k * p.k; ++tap) {
            const View window = k.sbuf("window", p.type, {kChannels, rows, p.ow()});
            k.dma_copy(window, image_part(t.x, n, ic, row + tap / p.k, rows, tap % p.k, p.ow()));
            const View stationary = load_turned_slice(k, p, t.w, oc, ic, tap);
            k.nc_matmul(sums, stationary, window, ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
          }
        finish_block_by_reduction(k, p, t.y, sums, bias, n, oc, row);
      }
}

}  // namespace tessera::neuron
