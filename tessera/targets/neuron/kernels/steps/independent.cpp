// Somebody else's kernel, of which row pairs and weights turned once are known: here the PE array reads windows where
// they lie in the halo tile, without copies. It waits for SBUF at each new row of a window, in every pass.

#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {

void conv2d_independent(Kernel& k, const ConvProblem& p, const ConvTensors& t) {
  const std::int64_t rows = rows_per_block(k.spec(), p), ic_tiles = p.ic / kChannels, oc_tiles = p.oc / kChannels;
  const View bias = load_bias(k, p, t.bias, ElementType::float32);
  std::vector<View> caches;
  for (std::int64_t oc = 0; oc < oc_tiles; ++oc) caches.push_back(cache_weights(k, p, t.w, oc, p.type));
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t row = 0; row < p.oh(); row += rows) {
      std::vector<View> halos;
      for (std::int64_t ic = 0; ic < ic_tiles; ++ic) {
        halos.push_back(k.sbuf("x_halo", p.type, {kChannels, rows + p.k - 1, p.w}));
        k.dma_copy(halos.back(), image_part(t.x, n, ic, row, rows + p.k - 1, 0, p.w));
      }
      for (std::int64_t oc = 0; oc < oc_tiles; ++oc) {
        const View sums = k.psum("sums", ElementType::float32, {kChannels, rows, p.ow()});
        for (std::int64_t ic = 0; ic < ic_tiles; ++ic)
          for (std::int64_t tap = 0; tap < p.k * p.k; ++tap)
            k.nc_matmul(sums, caches[static_cast<std::size_t>(oc)].at(1, ic).at(1, tap),
                        halos[static_cast<std::size_t>(ic)].slice(1, tap / p.k, rows).slice(2, tap % p.k, p.ow()),
                        ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
        finish_block(k, p, t.y, sums, bias, n, oc, row);
      }
    }
}

}  // namespace tessera::neuron
