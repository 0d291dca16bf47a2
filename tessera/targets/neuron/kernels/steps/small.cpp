// Step 5, for images that fit one accumulation: an image is fetched once for all output channels, whole, and its
// windows are cut once. Weights are fetched ahead of everything else and sliced by GpSimd, so that VectorE is free for
// windows.

#include "tessera/core/error.h"
#include "tessera/targets/neuron/kernels/conv2d_parts.h"

namespace tessera::neuron {

void conv2d_small(Kernel& k, const ConvProblem& p, const ConvTensors& t) {
  const std::int64_t ic_tiles = p.ic / kChannels, oc_tiles = p.oc / kChannels, taps = p.k * p.k;
  check(rows_per_block(k.spec(), p) == p.oh(), Code::unsupported, Hint{"`native` takes images of any height"},
        "an output of {}x{} is more than one accumulation of {} columns", p.oh(), p.ow(), k.spec().moving_max_columns);
  const View bias = load_bias(k, p, t.bias, ElementType::float32);
  std::vector<View> caches;
  for (std::int64_t oc = 0; oc < oc_tiles; ++oc) caches.push_back(cache_weights(k, p, t.w, oc, p.type, Engine::gpsimd));
  for (std::int64_t n = 0; n < p.n; ++n) {
    const View windows = k.sbuf("windows", p.type, {kChannels, ic_tiles * taps, p.oh(), p.ow()});
    for (std::int64_t ic = 0; ic < ic_tiles; ++ic) {
      const View image = k.sbuf("image", p.type, {kChannels, p.h, p.w});
      k.dma_copy(image, image_part(t.x, n, ic, 0, p.h, 0, p.w));
      for (std::int64_t tap = 0; tap < taps; ++tap)
        k.tensor_copy(windows.at(1, ic * taps + tap), image.slice(1, tap / p.k, p.oh()).slice(2, tap % p.k, p.ow()));
    }
    for (std::int64_t oc = 0; oc < oc_tiles; ++oc) {
      const View sums = k.psum("sums", ElementType::float32, {kChannels, p.oh(), p.ow()});
      for (std::int64_t i = 0; i < ic_tiles * taps; ++i)
        k.nc_matmul(sums, caches[static_cast<std::size_t>(oc)].at(1, i / taps).at(1, i % taps), windows.at(1, i),
                    i == 0 ? Accumulate::overwrite : Accumulate::add);
      finish_block(k, p, t.y, sums, bias, n, oc, 0);
    }
  }
}

}  // namespace tessera::neuron
