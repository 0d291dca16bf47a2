// Step 1: the rows that a block of output needs, halo included, come in one copy; the windows of the filter taps are
// cut out of them in SBUF. Weights are fetched as before.

#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {

void conv2d_halo(Kernel& k, const ConvProblem& p, const ConvTensors& t) {
  const std::int64_t rows = rows_per_block(k.spec(), p);
  const View bias = load_bias(k, p, t.bias, p.type);
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t oc = 0; oc < p.oc / kChannels; ++oc)
      for (std::int64_t row = 0; row < p.oh(); row += rows) {
        const View sums = k.psum("sums", p.type, {kChannels, rows, p.ow()});
        for (std::int64_t ic = 0; ic < p.ic / kChannels; ++ic) {
          const View halo = k.sbuf("x_halo", p.type, {kChannels, rows + p.k - 1, p.w});
          k.dma_copy(halo, image_part(t.x, n, ic, row, rows + p.k - 1, 0, p.w));
          for (std::int64_t tap = 0; tap < p.k * p.k; ++tap) {
            const View window = k.sbuf("window", p.type, {kChannels, rows, p.ow()});
            k.tensor_copy(window, halo.slice(1, tap / p.k, rows).slice(2, tap % p.k, p.ow()));
            const View stationary = load_turned_slice(k, p, t.w, oc, ic, tap);
            k.nc_matmul(sums, stationary, window, ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
          }
        }
        finish_block_by_reduction(k, p, t.y, sums, bias, n, oc, row);
      }
}

}  // namespace tessera::neuron
