#pragma once

// The integer engine: convolutions and products of bytes, exactly, as rows times columns. It is the dense engine with
// other numbers: rows are pixels of images with their channels last, read through tables of row pointers where taps in
// the padding point to the zero point; columns are output channels, their weights packed in panels of groups.
//
// With VNNI a row is read where it lies: sum of x * w, from which the zero point of x times the sum of the column's
// weights is taken as part of the bias. Elsewhere x is copied first, as differences from its zero point in int16.

#include "tessera/targets/cpu/kernels/integer/integer_tile.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::cpu {

struct IntegerKernel {
  Isa isa;
  std::int64_t rows, columns;  // of the tile
  std::int64_t group;          // elements of a group
  IntegerTileFn tile;

  bool in_place() const { return group == 4; }  // reads x as it is, and weights must fit int8
  std::int64_t element_bytes() const { return 4 / group; }
};
const IntegerKernel& integer_kernel(Isa isa);

// One convolution; a product of matrices is one whose pixels are the rows. Groups work on their own channels each; so
// do the matrices of a batch, whose rows are then apart.
struct IntegerShape {
  std::int64_t images = 1, groups = 1, ic = 1, oc = 1;  // channels of one group
  std::int64_t h = 1, w = 1, oh = 1, ow = 1, kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, left = 0;
  bool batched = false;

  std::int64_t taps() const { return kh * kw; }
  std::int64_t rows() const { return images * oh * ow; }
  std::int64_t x_count() const { return images * h * w * ic * groups; }
};

struct IntegerWork {
  const IntegerKernel* kernel = nullptr;
  IntegerShape shape;
  // A tap reads `run` pixels side by side: `depth` elements.
  std::int64_t taps = 1, run = 1, depth = 0;
  std::int64_t x_pixel = 0, x_group = 0, y_pixel = 0, y_group = 0;  // elements from one to the next
  std::int64_t groups_of_row = 0, last_at = -1;                     // as in IntegerTile
  std::int64_t panels = 0, panel_bytes = 0;                         // of one group
  std::int64_t padded = 0;                                          // columns of one group in whole panels
  std::int64_t panel_block = 1, row_block = 1, units = 0, grain = 1;
  std::vector<std::int64_t> tap_y, tap_x, tap_offsets;  // pixels; bytes

  std::int64_t weight_bytes() const { return shape.groups * panels * panel_bytes; }
  std::int64_t columns() const { return shape.groups * padded; }
  // Scratch: the padding's elements, and x where it has to be copied.
  std::int64_t padding_bytes() const;
  std::int64_t copy_bytes() const;
};

// Why a shape is not for this kernel; empty if it is.
std::string_view refuse_integer(const IntegerShape& shape, const IntegerKernel& kernel);
IntegerWork integer_work(const IntegerShape& shape, const IntegerKernel& kernel, int threads);

struct IntegerWeights {
  const std::byte* at = nullptr;
  bool has_sign = false;
  // Element k (taps of channels) of column n of group g lies at g * group + n * column + (k % taps) * tap + k / taps *
  // channel, where k counts channels first in a convolution's weights.
  std::int64_t group = 0, column = 0, channel = 0, tap = 0;
  const std::byte* zeros = nullptr;  // null: none
  bool one_zero = true;
};
// Panels, and behind them the sum of each column: weight_bytes() and 4 * columns() bytes.
void pack_integers(const IntegerWork& work, const IntegerWeights& weights, std::byte* to);
// By what each unit of the zero point of x (and 128 more, if x is int8) has to lower each sum; null: by nothing.
const std::int32_t* integer_sums(const IntegerWork& work, const std::byte* packed);
// Whether differences from the zero points fit int8.
bool fit_int8(const Array& weights, const Array* zeros, std::int64_t per_zero);

struct IntegerOperands {
  const std::byte* x = nullptr;
  bool x_sign = false;
  std::int32_t x_zero = 0;
  const std::byte* weights = nullptr;
  const std::int32_t* bias = nullptr;  // columns(), less what the zero point of x adds
  const float* factors = nullptr;      // columns()
  bool within_int32 = false;           // as in IntegerTile
  const IntegerEpilogue* epilogue = nullptr;
  const std::byte* residual = nullptr;
  std::byte* y = nullptr;
  std::byte* scratch = nullptr;  // padding_bytes() + copy_bytes()
};
void run_integer(const IntegerWork& work, const IntegerOperands& operands);

// The part of the machine's float32 peak that the engine's products count as.
double integer_efficiency(const IntegerWork& work);

}  // namespace tessera::cpu
