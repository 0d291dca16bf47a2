// Step 2: weights come as one block for all taps, sums are float32, and so is what is multiplied: float16 operands are
// converted tap by tap. The bias is added by tensor_tensor. Slices are still turned for every product.

#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {
namespace {

View as_float32(Kernel& k, const View& tile) {
  if (tile.type() == ElementType::float32) return tile;
  const View wide = k.sbuf("as_float32", ElementType::float32, tile.shape());
  k.tensor_copy(wide, tile);
  return wide;
}

}  // namespace

void conv2d_hoisted(Kernel& k, const ConvProblem& p, const ConvTensors& t) {
  const std::int64_t rows = rows_per_block(k.spec(), p), taps = p.k * p.k;
  const View bias = load_bias(k, p, t.bias, ElementType::float32);
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t oc = 0; oc < p.oc / kChannels; ++oc)
      for (std::int64_t row = 0; row < p.oh(); row += rows) {
        const View sums = k.psum("sums", ElementType::float32, {kChannels, rows, p.ow()});
        for (std::int64_t ic = 0; ic < p.ic / kChannels; ++ic) {
          const View halo = k.sbuf("x_halo", p.type, {kChannels, rows + p.k - 1, p.w});
          k.dma_copy(halo, image_part(t.x, n, ic, row, rows + p.k - 1, 0, p.w));
          const View block = k.sbuf("weight_block", p.type, {kChannels, kChannels, taps});
          k.dma_copy(block, weight_block(t.w, oc, ic));
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            const View window = k.sbuf("window", p.type, {kChannels, rows, p.ow()});
            k.tensor_copy(window, halo.slice(1, tap / p.k, rows).slice(2, tap % p.k, p.ow()));
            const View slice = k.sbuf("weight_slice", p.type, {kChannels, kChannels});
            k.tensor_copy(slice, block.at(2, tap));
            const View turned = k.psum("turned", ElementType::float32, {kChannels, kChannels});
            k.nc_transpose(turned, as_float32(k, slice));
            const View stationary = k.sbuf("stationary", ElementType::float32, {kChannels, kChannels});
            k.tensor_copy(stationary, turned, Engine::scalar);
            k.nc_matmul(sums, stationary, as_float32(k, window),
                        ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
          }
        }
        View out = k.sbuf("out", p.type, sums.shape());
        const View offset = bias.slice(1, oc, 1).with_axis(2).broadcast(1, rows).broadcast(2, p.ow());
        k.tensor_tensor(out, sums, offset, MathOp::add);
        if (p.pool == 2) out = pool_by_reduction(k, out);
        k.dma_copy(output_part(t.y, n, oc, row / p.pool, out.size(1)), out);
      }
}

}  // namespace tessera::neuron
