// Step 0: as the loops are written down. Every product fetches its window of the image and its slice of the weights,
// element by element, and turns that slice on the PE array. Sums are kept in the type of the image.

#include "tessera/backends/sim/neuron/internal/conv2d_parts.h"

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
            const View slice = k.sbuf("weight_slice", p.type, {kChannels, kChannels});
            k.dma_copy(slice, weight_block(t.w, oc, ic).at(2, tap));
            const View turned = k.psum("turned", p.type, {kChannels, kChannels});
            k.nc_transpose(turned, slice);
            const View stationary = k.sbuf("stationary", p.type, {kChannels, kChannels});
            k.tensor_copy(stationary, turned, Engine::scalar);
            k.nc_matmul(sums, stationary, window, ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
          }
        View out = k.sbuf("out", p.type, sums.shape());
        k.tensor_scalar(out, sums, MathOp::add, bias.slice(1, oc, 1));
        if (p.pool == 2) out = pool_by_reduction(k, out);
        k.dma_copy(output_part(t.y, n, oc, row / p.pool, out.size(1)), out);
      }
}

}  // namespace tessera::neuron
