#pragma once

// The dense engine: rows times columns, for convolutions, products of matrices and transposed convolutions alike.
//
// A row is a pixel of a grid laid over images with their channels last; its elements are those of a list of taps, each
// a run of `depth` elements at an offset from the pixel's place in the input (a matrix is an image one pixel high with
// a single tap). Nothing is copied out of the input: tiles read it through tables of row pointers, where taps in the
// padding point to zeros. Columns are output channels, their weights packed in panels [tap][depth][columns of the
// tile], or [tap][depth / 2][columns][2] for tiles that multiply bfloat16 (which read x as it is stored; others are
// given it as float32).
//
// Work is cut into blocks of panels, whose weights stay in the second cache while rows pass by, times blocks of rows;
// threads take blocks. Few rows and many weights: threads share out panels and each weight is read once. Many rows:
// they share out rows.

#include "tessera/core/dtype.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/shape.h"
#include "tessera/targets/cpu/kernels/dense/dense_expand.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"
#include "tessera/targets/cpu/kernels/epilogue.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cpu {

// One line of dense.def.
struct DenseKernel {
  Isa isa;    // whose tiles these are
  Isa needs;  // of the CPU: less than `isa` for a tile in plain C++
  ElementType type;
  std::int64_t rows, columns, width;  // of the tile, and columns of one vector
  DenseTileFn tile;
  DenseMaxFn max;
  DenseBeginFn begin = nullptr;  // null: the tile has no state in the CPU
  DenseEndFn end = nullptr;
  // Weights that are kept in fewer bits than `type` come through `expand`, part by part; null: the tile reads them.
  DType weights = DType::float32;
  DenseExpandFn expand = nullptr;

  // Elements of the depth that the tile takes in one step.
  std::int64_t step() const { return isa == Isa::amx ? 32 : isa == Isa::avx512_bf16 ? 2 : 1; }
  std::int64_t pair() const { return step() > 1 ? 2 : 1; }  // elements of a column side by side in packed weights
  ElementType x_type() const { return step() > 1 ? ElementType::bfloat16 : ElementType::float32; }
  // Of one panel, and of so many codes in it, for a kernel that expands.
  std::int64_t panel_bytes(std::int64_t reduction) const;
  std::int64_t code_bytes(std::int64_t count) const;
};
std::span<const DenseKernel> dense_kernels();
// The instruction set whose vectors a tile has, for estimates.
constexpr Isa width_isa(const DenseKernel& kernel) {
  return kernel.isa == Isa::avx512 && kernel.width == 8 ? Isa::avx2 : kernel.isa;
}
// The tile with the storage, weights, shape and instruction set of a kernel.
const DenseKernel& dense_kernel(const KernelInfo& info);

// The entry of a tile in a family's table of kernels; the family has functions consider and prepare.
constexpr ElementType kDenseType_f32 = ElementType::float32, kDenseType_bf16 = ElementType::bfloat16;
constexpr Arithmetic dense_arithmetic(Isa isa) {
  return isa == Isa::amx ? Arithmetic::bf16_tiles : isa == Isa::avx512_bf16 ? Arithmetic::bf16_pairs : Arithmetic::f32;
}
#define TSR_DENSE_EXPAND_KERNEL(stem, Operator, storage, dtype, rows, columns, set) \
  {{.name = stem "_" #storage "_" #rows "x" #columns "_" #set,                      \
    .op = Operator::kName,                                                          \
    .isa = Isa::set,                                                                \
    .weights = DType::dtype,                                                        \
    .m = rows,                                                                      \
    .n = columns,                                                                   \
    .consider = consider},                                                          \
   prepare},
#define TSR_DENSE_KERNEL(stem, Operator, storage, rows, columns, set) \
  {{.name = stem "_" #storage "_" #rows "x" #columns "_" #set,        \
    .op = Operator::kName,                                            \
    .isa = Isa::set,                                                  \
    .type = kDenseType_##storage,                                     \
    .arithmetic = dense_arithmetic(Isa::set),                         \
    .m = rows,                                                        \
    .n = columns,                                                     \
    .consider = consider},                                            \
   prepare},

// A tap that reads several pixels side by side at once (run > 1) is copied where it begins or ends in the padding; its
// row may have so many elements.
constexpr std::int64_t kDenseBorderElements = 512;

// The reduction as packed weights have it: runs of `depth` elements, each padded to whole steps of the tile. A run is a
// tap, or all taps where a tile copies its rows and so can join them.
struct DenseDepth {
  std::int64_t runs = 0, depth = 0, padded = 0;
  std::int64_t elements() const { return runs * padded; }
};
DenseDepth packed_depth(const DenseKernel& kernel, std::int64_t taps = 1, std::int64_t depth = 1);

struct DenseTap {
  std::int64_t dy = 0, dx = 0;  // from a pixel's place, in pixels of the input
};

// The rows of a grid in a result or residual, in elements.
struct DensePlaces {
  std::int64_t first = 0, image = 0, row = 0, pixel = 0;
};

struct DenseJob {
  // Rows: a grid over images. Pixel (i, gy, gx) lies over (gy * step_h, gx * step_w) of image i.
  std::int64_t images = 1, grid_h = 1, grid_w = 1, step_h = 1, step_w = 1;
  std::int64_t height = 1, width = 1, pixel = 1;  // of the input; `pixel` elements from one pixel to the next
  std::int64_t x_first = 0;                       // elements
  std::vector<DenseTap> taps;
  std::int64_t depth = 0;
  std::int64_t run = 1;  // pixels side by side that a tap reads

  // Where pixel (i, gy, gx) of the result begins, and of a residual.
  DensePlaces y, residual;

  std::int64_t columns = 0;
  std::int64_t weights_first = 0, bias_first = 0;  // elements

  // Filled in by split_work().
  std::vector<std::int64_t> tap_offsets;  // bytes
  DenseDepth packed;
  std::int64_t panels = 0, panel_block = 1, row_block = 1;
  std::int64_t tap_block = 0, depth_block = 0;  // parts of the reduction whose weights fit the second cache

  std::int64_t row_count() const { return images * grid_h * grid_w; }
  std::int64_t reduction() const { return static_cast<std::int64_t>(taps.size()) * depth; }
};

struct DenseWork {
  const DenseKernel* kernel = nullptr;
  std::vector<DenseJob> jobs;
  DenseEpilogue epilogue;
  std::vector<float> zeros;                // as long as the longest depth
  std::vector<std::int64_t> units_before;  // of each job, and all of them
  std::int64_t grain = 1;                  // units that are worth a thread
};

struct DenseOperands {
  const void* x = nullptr;  // of the kernel's x_type()
  const void* weights = nullptr;
  const float* bias = nullptr;     // null: none
  const void* residual = nullptr;  // null: none
  void* y = nullptr;
  // A matrix of the kernel's storage that is added to the products, of rows and columns as far apart as said; for jobs
  // of one image with a grid of one row.
  const void* addend = nullptr;
  std::int64_t addend_row = 0, addend_column = 0;
  float addend_scale = 1;
  std::int64_t y_ring = 0;  // > 0: y has so many rows of a single image, used in turns
};

// Elements of the packed weights of `columns` columns.
std::int64_t packed_elements(const DenseKernel& kernel, std::int64_t taps, std::int64_t depth, std::int64_t columns);
// Names all that packing depends on but the operator's own numbers, for the key of a WeightCache.
std::string packing_key(const DenseKernel& kernel);

DenseEpilogue dense_epilogue(const Epilogue& epilogue);

// Cuts the jobs into units for so many threads and makes the rest of `work` ready.
void split_work(DenseWork& work, int threads);

void run_dense(const DenseWork& work, const DenseOperands& operands);
// Rows [row_begin, row_end) of one job, all columns.
void run_dense_rows(const DenseWork& work, const DenseJob& job, const DenseOperands& operands, std::int64_t row_begin,
                    std::int64_t row_end);

// The part of the machine's peak that the tile reaches: what is useful of its columns and steps, and what its loop
// loses. Rows of x are row_elements apart.
double dense_efficiency(const DenseKernel& kernel, std::int64_t rows, std::int64_t columns, std::int64_t row_elements,
                        std::int64_t taps = 1, std::int64_t depth = 1);

// estimate() for a tile. What is bounded by memory there may lie in a cache, and then the better tile is faster: part
// of its arithmetic is added.
Estimate dense_estimate(const Problem& problem, const KernelInfo& info, const Work& work, double efficiency);
// The kernel as one of the instruction set whose vectors its tile has, for estimates.
KernelInfo as_wide(const KernelInfo& info);

// A constant bias as the tile reads it, each group padded to whole panels.
std::vector<float> pack_bias(const Array& bias, std::int64_t groups, const DenseKernel& kernel);

// Whether x has to be converted to float32 first.
inline bool widens(const DenseKernel& kernel) { return kernel.type != kernel.x_type(); }
// x as the tile reads it: itself, or `rows` rows of `count` elements, `pitch` elements apart, converted into `to` one
// after the other.
const void* widened(const std::byte* x, const DenseKernel& kernel, std::int64_t rows, std::int64_t count,
                    std::int64_t pitch, std::byte* to);

// Panels that are worth a thread when weights are packed.
inline std::int64_t packing_grain(const DenseKernel& kernel, std::int64_t reduction) {
  constexpr std::int64_t kElements = 1 << 14;
  return std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, reduction * kernel.columns));
}

// Copies weights into panels: to[panel][k][column of the tile] = element(column, k), where k counts taps and their
// depth; by pairs of k where the tile wants them. Columns and steps that do not exist are 0.
template <class T, class Element>
void pack_panels(const DenseKernel& kernel, std::int64_t taps, std::int64_t depth, std::int64_t columns, T* to,
                 const Element& element) {
  const DenseDepth packed = packed_depth(kernel, taps, depth);
  const std::int64_t panel_elements = packed.elements() * kernel.columns, pair = kernel.pair(), odd = pair - 1;
  parallel_for(ceil_div(columns, kernel.columns), packing_grain(kernel, packed.elements()),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t panel = begin; panel < end; ++panel)
                   for (std::int64_t n = 0; n < kernel.columns; ++n) {
                     const std::int64_t column = panel * kernel.columns + n;
                     T* at = to + panel * panel_elements + n * pair;
                     for (std::int64_t run = 0; run < packed.runs; ++run, at += packed.padded * kernel.columns)
                       for (std::int64_t c = 0; c < packed.padded; ++c)
                         at[(c - (c & odd)) * kernel.columns + (c & odd)] =
                             column < columns && c < packed.depth ? element(column, run * packed.depth + c) : T{};
                   }
               });
}

// The same for weights that lie column by column: to[panel][place(k)][column] = change(from[column * reduction + k]).
// A line of each column in turn is read, and spread over a few rows of the panel that stay in the first cache.
template <class T, class Place, class Change>
void pack_columns(const DenseKernel& kernel, std::int64_t reduction, std::int64_t columns, const T* from, T* to,
                  const Place& place, const Change& change) {
  constexpr std::int64_t kLine = 16;
  parallel_for(ceil_div(columns, kernel.columns), packing_grain(kernel, reduction),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t panel = begin; panel < end; ++panel) {
                   const std::int64_t first = panel * kernel.columns, count = std::min(kernel.columns, columns - first);
                   T* panel_at = to + panel * reduction * kernel.columns;
                   for (std::int64_t k = 0; k < reduction; k += kLine) {
                     const std::int64_t line = std::min(kLine, reduction - k);
                     T* rows[kLine];
                     for (std::int64_t i = 0; i < line; ++i) rows[i] = panel_at + place(k + i) * kernel.columns;
                     for (std::int64_t n = 0; n < count; ++n) {
                       const T* at = from + (first + n) * reduction + k;
                       for (std::int64_t i = 0; i < line; ++i) rows[i][n] = change(at[i]);
                     }
                     for (std::int64_t i = 0; i < line; ++i) std::fill(rows[i] + count, rows[i] + kernel.columns, T{});
                   }
                 }
               });
}

}  // namespace tessera::cpu
