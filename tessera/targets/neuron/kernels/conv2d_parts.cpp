#include "tessera/targets/neuron/kernels/conv2d_parts.h"

#include <algorithm>

namespace tessera::neuron {

std::int64_t rows_per_block(const NeuronSpec& spec, const ConvProblem& p) {
  const std::int64_t fit = std::min<std::int64_t>(spec.moving_max_columns, spec.psum_bank_bytes() / 4) / p.ow();
  for (std::int64_t rows = std::min(fit, p.oh()); rows > p.pool; --rows)
    if (p.oh() % rows == 0 && rows % p.pool == 0) return rows;
  return p.pool;
}

View image_part(const View& x, std::int64_t n, std::int64_t ic_tile, std::int64_t row, std::int64_t rows,
                std::int64_t column, std::int64_t columns) {
  return x.at(0, n).slice(0, ic_tile * kChannels, kChannels).slice(1, row, rows).slice(2, column, columns);
}

View weight_block(const View& w, std::int64_t oc_tile, std::int64_t ic_tile) {
  return w.slice(0, oc_tile * kChannels, kChannels).slice(1, ic_tile * kChannels, kChannels).merged(2);
}

View output_part(const View& y, std::int64_t n, std::int64_t oc_tile, std::int64_t row, std::int64_t rows) {
  return y.at(0, n).slice(0, oc_tile * kChannels, kChannels).slice(1, row, rows);
}

View load_bias(Kernel& k, const ConvProblem& p, const View& bias, ElementType type) {
  const View tile = k.sbuf("bias", type, {kChannels, p.oc / kChannels});
  k.dma_copy(tile, bias.split(0, kChannels).permuted({1, 0}));
  return tile;
}

View load_turned_slice(Kernel& k, const ConvProblem& p, const View& w, std::int64_t oc_tile, std::int64_t ic_tile,
                       std::int64_t tap) {
  const View slice = k.sbuf("weight_slice", p.type, {kChannels, kChannels});
  k.dma_copy(slice, weight_block(w, oc_tile, ic_tile).at(2, tap));
  const View turned = k.psum("turned", p.type, {kChannels, kChannels});
  k.nc_transpose(turned, slice);
  const View stationary = k.sbuf("stationary", p.type, {kChannels, kChannels});
  k.tensor_copy(stationary, turned, Engine::scalar);
  return stationary;
}

void finish_block_by_reduction(Kernel& k, const ConvProblem& p, const View& y, const View& sums, const View& bias,
                               std::int64_t n, std::int64_t oc_tile, std::int64_t row) {
  View out = k.sbuf("out", p.type, sums.shape());
  k.tensor_scalar(out, sums, MathOp::add, bias.slice(1, oc_tile, 1));
  if (p.pool == 2) out = pool_by_reduction(k, out);
  k.dma_copy(output_part(y, n, oc_tile, row / p.pool, out.size(1)), out);
}

View pool_by_reduction(Kernel& k, const View& tile) {
  const View pooled = k.sbuf("pooled", tile.type(), {kChannels, tile.size(1) / 2, tile.size(2) / 2});
  k.tensor_reduce(pooled, tile.split(1, 2).split(3, 2).permuted({0, 1, 3, 2, 4}), MathOp::max, 2);
  return pooled;
}

View pool_by_pairs(Kernel& k, const View& tile) {
  const std::int64_t rows = tile.size(1) / 2, columns = tile.size(2) / 2;
  const View tall = k.sbuf("row_max", tile.type(), {kChannels, rows, tile.size(2)});
  k.tensor_tensor(tall, tile.slice(1, 0, rows, 2), tile.slice(1, 1, rows, 2), MathOp::max, Engine::gpsimd);
  const View pooled = k.sbuf("pooled", tile.type(), {kChannels, rows, columns});
  k.tensor_tensor(pooled, tall.slice(2, 0, columns, 2), tall.slice(2, 1, columns, 2), MathOp::max, Engine::gpsimd);
  return pooled;
}

View cache_weights(Kernel& k, const ConvProblem& p, const View& w, std::int64_t oc_tile, ElementType type,
                   Engine slicing) {
  const std::int64_t taps = p.k * p.k, ic_tiles = p.ic / kChannels;
  const View cache = k.sbuf("weight_cache", type, {kChannels, ic_tiles, taps, kChannels});
  for (std::int64_t ic = 0; ic < ic_tiles; ++ic) {
    const View block = k.sbuf("weight_block", p.type, {kChannels, kChannels, taps});
    k.dma_copy(block, weight_block(w, oc_tile, ic));
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const View slice = k.sbuf("weight_slice", type, {kChannels, kChannels});
      k.tensor_copy(slice, block.at(2, tap), slicing);
      const View turned = k.psum("turned", type, {kChannels, kChannels});
      k.nc_transpose(turned, slice);
      k.tensor_copy(cache.at(1, ic).at(1, tap), turned, Engine::scalar);
    }
  }
  return cache;
}

void finish_block(Kernel& k, const ConvProblem& p, const View& y, const View& sums, const View& bias, std::int64_t n,
                  std::int64_t oc_tile, std::int64_t row) {
  View out = k.sbuf("out", p.type, sums.shape());
  k.activation(out, Function::identity, sums, bias.slice(1, oc_tile, 1));
  if (p.pool == 2) out = pool_by_pairs(k, out);
  k.dma_copy(output_part(y, n, oc_tile, row / p.pool, out.size(1)), out);
}

void convolve_windows(Kernel& k, const ConvProblem& p, const ConvTensors& t, ElementType compute) {
  const std::int64_t rows = rows_per_block(k.spec(), p), ic_tiles = p.ic / kChannels;
  const View bias = load_bias(k, p, t.bias, ElementType::float32);
  std::vector<View> caches;
  for (std::int64_t oc = 0; oc < p.oc / kChannels; ++oc) caches.push_back(cache_weights(k, p, t.w, oc, compute));
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t oc = 0; oc < p.oc / kChannels; ++oc)
      for (std::int64_t row = 0; row < p.oh(); row += rows) {
        const View sums = k.psum("sums", ElementType::float32, {kChannels, rows, p.ow()});
        for (std::int64_t ic = 0; ic < ic_tiles; ++ic) {
          const View halo = k.sbuf("x_halo", p.type, {kChannels, rows + p.k - 1, p.w});
          k.dma_copy(halo, image_part(t.x, n, ic, row, rows + p.k - 1, 0, p.w));
          for (std::int64_t tap = 0; tap < p.k * p.k; ++tap) {
            const View window = k.sbuf("window", compute, {kChannels, rows, p.ow()});
            k.tensor_copy(window, halo.slice(1, tap / p.k, rows).slice(2, tap % p.k, p.ow()));
            k.nc_matmul(sums, caches[static_cast<std::size_t>(oc)].at(1, ic).at(1, tap), window,
                        ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
          }
        }
        finish_block(k, p, t.y, sums, bias, n, oc, row);
      }
}

}  // namespace tessera::neuron
