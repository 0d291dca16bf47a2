#pragma once

// A convolution over two dimensions in numbers (over one: height 1), and the pool that may be fused into it.

#include "tessera/graph/ops/conv.h"
#include "tessera/graph/ops/pool.h"
#include "tessera/targets/cpu/kernels/dense/dense.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace tessera::cpu {

struct Conv2dShape {
  std::int64_t n = 0, ic = 0, h = 0, w = 0, oc = 0, oh = 0, ow = 0, kh = 0, kw = 0;
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0, groups = 1;
  // Channels last, elements from one pixel to the next of the input, of what is stored in the end (a pool's result, if
  // one is fused) and of a residual.
  std::int64_t x_pixel = 0, y_pixel = 0, residual_pixel = 0;
};
// With pixels as far apart as the problem says; see set_wide().
std::variant<Conv2dShape, Refusal> read_conv2d(const Problem& problem);
// The offer of a convolution that reads its input and a residual, and writes its result, in wider values too where
// those have their channels last.
void set_wide(Offer& offer, const Epilogue& epilogue);
// Why a kernel with this storage cannot take the node's operands: another type, weights or a bias that come with a run.
std::optional<Refusal> refuse_operands(const KernelInfo& info, const Problem& problem);
// Of float32; for kernels that multiply padding by weights instead of leaving it out.
bool all_finite(const Array& weights);
// Results in row_major are for the caller alone: why a node inside a network should not make one, or nothing.
std::optional<Refusal> refuse_inner_planes(const Problem& problem);
// By the shapes of the input, the weights and the result, whose pixels lie side by side.
std::variant<Conv2dShape, Refusal> read_conv2d(const Conv& conv, const Shape& x, const Shape& w, const Shape& y);

// The parts of a convolution on the dense engine: one job for each group, and packed weights. Results are those of the
// convolution, pooled or not.
std::vector<DenseJob> conv2d_jobs(const Conv2dShape& shape, const DenseKernel& kernel);
std::shared_ptr<const PackedWeights> conv2d_weights(const std::shared_ptr<const Array>& constant,
                                                    const Conv2dShape& shape, const DenseKernel& kernel, Flush flush,
                                                    WeightCache& weights);

struct PoolShape {
  std::int64_t kh = 1, kw = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
  std::int64_t oh = 0, ow = 0;
};
// Where rows of a convolution lie until a pool has seen them: row r at r % rows.
struct PoolRing {
  std::byte* at = nullptr;
  std::int64_t rows = 0, row_bytes = 0, pixel_bytes = 0;
};
// Rows [begin, end) of the pool, counted over all images, to y. make(image, from, to) computes rows [from, to) of the
// convolution into the ring, each once; `max` is of the elements' type.
void pool_rows(const PoolShape& pool, const Conv2dShape& conv, const PoolRing& ring, DenseMaxFn max, std::byte* y,
               std::int64_t y_pixel_bytes, std::int64_t begin, std::int64_t end,
               FunctionRef<void(std::int64_t image, std::int64_t from, std::int64_t to)> make);

std::optional<std::string> refuse_pool(const MaxPool& pool, const Conv2dShape& conv);
PoolShape read_pool(const MaxPool& pool, const Conv2dShape& conv);

// Rows of the pool are cut into chunks; each has a slot of scratch for the convolution's rows that a row of the pool
// sees, used in turns.
int pool_chunks(int threads);
std::int64_t pool_slot_bytes(const PoolShape& pool, const Conv2dShape& conv, std::int64_t element_bytes);
void run_pooled(const DenseWork& work, const DenseOperands& operands, const Conv2dShape& conv, const PoolShape& pool,
                int chunks, std::byte* scratch);

}  // namespace tessera::cpu
