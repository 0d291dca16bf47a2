#pragma once

// One call of a tile of the dense engine: `count` rows times one or more panels of columns,
//
//   y[m][n] = epilogue(sum over taps t and c < depth of rows[t][m][c] * weights[panel][t][c][n] + bias[n])
//
// Rows are float32, or bfloat16 for tiles that multiply it; those find weights by pairs, [t][c / 2][n][c % 2], with
// zeros behind an odd depth.
//
// Plain data: files compiled for an instruction set include it.

#include "tessera/targets/cpu/kernels/activation.h"

#include <cstddef>

namespace tessera::cpu {

// after(before(sum + bias) + residual). Where both are clips (a rectifier is one, and so is nothing), `clips` is true
// and the four bounds say all.
struct DenseEpilogue {
  Activation before, after;
  bool clips = true;
  float before_low = 0, before_high = 0, after_low = 0, after_high = 0;
};

// Rows that make a job one of few rows, for tiles of so many.
constexpr int dense_few(int tile_rows) { return tile_rows / 2; }

struct DenseTile {
  const void* const* rows = nullptr;  // rows[tap * (rows of the tile) + m]
  std::ptrdiff_t row_offset = 0;      // elements, added to each
  std::ptrdiff_t taps = 0, depth = 0;
  bool joined = false;       // weights count all taps as one run of taps * depth
  std::ptrdiff_t count = 0;  // rows, at most those of the tile
  bool few = false;          // the whole job has no more rows than dense_few() says
  std::ptrdiff_t most = 0;   // rows that begin() was told of

  const void* weights = nullptr;      // of the first panel
  std::ptrdiff_t panel_elements = 0;  // from one panel to the next
  std::ptrdiff_t columns = 0;         // in all panels together, the last of which may be cut short
  const float* bias = nullptr;        // of the first panel; padded to whole panels; may be null

  // Sums over parts of the depth: [panel][count][columns of the tile]. Without `first` they are taken up from there,
  // without `last` put down there and nothing else is done.
  float* partial = nullptr;
  bool first = true, last = true;

  void* const* y = nullptr;               // `count` rows, at the first panel's first column
  const void* const* residual = nullptr;  // likewise; may be null
  const DenseEpilogue* epilogue = nullptr;
};

// Largest of any count > 0 rows, element by element; NaN wins.
using DenseMaxFn = void (*)(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, void* y);

using DenseTileFn = void (*)(const DenseTile& tile);

// Elements of x that a tile on AMX copies at most, for all rows together (on the stack, and in the second cache beside
// as many weights): 32 rows of 3x3x1024.
constexpr std::ptrdiff_t kDenseTileElements = std::ptrdiff_t{32} * 9216;

// Called by a thread before and after some calls of a tile that has state in the CPU; `most` rows come at once.
using DenseBeginFn = void (*)(std::ptrdiff_t most);
using DenseEndFn = void (*)();

#define K(storage, rows, columns, isa, vectors) \
  void dense_##storage##_##rows##x##columns##_##isa(const DenseTile& tile);
#define M(storage, isa) \
  void dense_max_##storage##_##isa(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, void* y);
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M
#if defined(__x86_64__)
void dense_begin_amx(std::ptrdiff_t most);
void dense_end_amx();
#endif

// The tile on AMX in plain C++ (emulated_tiles.h), for tests: no family makes a kernel of it.
void dense_bf16_32x32_amx_emulated(const DenseTile& tile);
void dense_begin_amx_emulated(std::ptrdiff_t most);
void dense_end_amx_emulated();

}  // namespace tessera::cpu
