#pragma once

// What versions of the fused convolution share: where tiles begin, and the way out of PSUM.

#include "tessera/targets/neuron/kernels/conv2d.h"

#include <cstdint>

namespace tessera::neuron {

constexpr std::int64_t kChannels = 128;  // of a tile

// Rows of output that one accumulation takes: as many as fit a bank, a divisor of the height, a multiple of the pool.
std::int64_t rows_per_block(const NeuronSpec& spec, const ConvProblem& problem);

// x[n, channels of the tile, first row.., first column..] as [128, rows, columns].
View image_part(const View& x, std::int64_t n, std::int64_t ic_tile, std::int64_t row, std::int64_t rows,
                std::int64_t column, std::int64_t columns);
// w[channels of the tiles] as [128 oc, 128 ic, k * k]: contiguous in each partition.
View weight_block(const View& w, std::int64_t oc_tile, std::int64_t ic_tile);
// y[n, channels of the tile, rows] as [128, rows, columns].
View output_part(const View& y, std::int64_t n, std::int64_t oc_tile, std::int64_t row, std::int64_t rows);

// The bias of every tile of output channels: [128, tiles], of the given type.
View load_bias(Kernel& k, const ConvProblem& p, const View& bias, ElementType type);

// One filter tap's slice of the weights, fetched and turned on the PE array: [128 ic, 128 oc].
View load_turned_slice(Kernel& k, const ConvProblem& p, const View& w, std::int64_t oc_tile, std::int64_t ic_tile,
                       std::int64_t tap);

// Bias and pool by VectorE on the way out of PSUM, and the store.
void finish_block_by_reduction(Kernel& k, const ConvProblem& p, const View& y, const View& sums, const View& bias,
                               std::int64_t n, std::int64_t oc_tile, std::int64_t row);

// The larger of each 2x2 of a [128, rows, columns] tile, on VectorE in one reduction.
View pool_by_reduction(Kernel& k, const View& tile);
// The same in two steps of two operands each, on GpSimd.
View pool_by_pairs(Kernel& k, const View& tile);

// All filter taps, transposed to [128 ic, ic tile, tap, 128 oc] for one tile of output channels, of type `type`.
View cache_weights(Kernel& k, const ConvProblem& p, const View& w, std::int64_t oc_tile, ElementType type,
                   Engine slicing = Engine::vector);

// Bias and conversion by ScalarE on the way out of PSUM, the pool by GpSimd, and the store.
void finish_block(Kernel& k, const ConvProblem& p, const View& y, const View& sums, const View& bias, std::int64_t n,
                  std::int64_t oc_tile, std::int64_t row);

// The loops of the last versions over resident weights: windows are copied out of the halo tile and multiplied.
// `compute` is what operands are converted to.
void convolve_windows(Kernel& k, const ConvProblem& p, const ConvTensors& t, ElementType compute);

void conv2d_baseline(Kernel& k, const ConvProblem& p, const ConvTensors& t);
void conv2d_halo(Kernel& k, const ConvProblem& p, const ConvTensors& t);
void conv2d_hoisted(Kernel& k, const ConvProblem& p, const ConvTensors& t);
void conv2d_cached(Kernel& k, const ConvProblem& p, const ConvTensors& t);
void conv2d_native(Kernel& k, const ConvProblem& p, const ConvTensors& t);
void conv2d_small(Kernel& k, const ConvProblem& p, const ConvTensors& t);
void conv2d_independent(Kernel& k, const ConvProblem& p, const ConvTensors& t);

}  // namespace tessera::neuron
