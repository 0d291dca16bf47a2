#include "tessera/targets/tensix/ops/softmax/softmax.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/compute_defaults.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// Elements as a stack of matrices: `outer` x `length` x `inner`, the middle one being worked on.
struct Axis {
  std::int64_t outer = 1, length = 1, inner = 1;
  Axis(const Shape& shape, int dim) : length(shape[dim]) {
    for (int d = 0; d < dim; ++d) outer *= shape[d];
    for (int d = dim + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

std::vector<float> transposed(std::span<const float> x, std::int64_t outer, std::int64_t rows, std::int64_t columns) {
  std::vector<float> y(x.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        y[static_cast<std::size_t>((o * columns + c) * rows + r)] =
            x[static_cast<std::size_t>((o * rows + r) * columns + c)];
  return y;
}

std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::min(n, most); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

}  // namespace

std::vector<CircularBuffer> plan_softmax(const TensorSpec& x, DType out, int dim, CoreGrid grid,
                                         std::int64_t free_bytes) {
  constexpr std::int64_t kLargeTiles = 80;  // of a row that is worked on in pieces
  const std::int64_t in = tile_bytes(x.dtype()), to = tile_bytes(out), two = 2 * tile_bytes(DType::bfloat16);
  const bool float32 = x.dtype() == DType::float32;
  const std::int64_t between = tile_bytes(float32 ? DType::float32 : DType::bfloat16);
  const Extent2d matrix = x.physical();
  const Shape& padded = x.padded_shape();
  const std::int64_t rows = padded[-2] / kTile, columns = padded[-1] / kTile;
  const std::int64_t all = matrix.height / kTile * columns;
  const int from_last = x.logical_shape().rank() - dim;
  const std::int64_t cores = std::int64_t{grid.x} * grid.y;
  std::vector<std::int64_t> bytes;
  if (from_last == 1) {
    const bool pads = x.logical_shape()[-1] % kTile != 0;
    const std::int64_t block = largest_divisor(columns, 4);
    bytes = {(pads ? 2 * block : columns) * in, 2 * block * to, two, between, two, columns * between,
             tile_bytes(DType::bfloat16),       between};
    if (pads) bytes.push_back(columns * between);
    std::int64_t total = 0;
    for (const std::int64_t b : bytes) total += b;
    if (total > free_bytes)
      bytes = {kLargeTiles * in,
               2 * 4 * to,
               two,
               two,
               between,
               two,
               between,
               two,
               kLargeTiles * between,
               tile_bytes(DType::bfloat16),
               between,
               kLargeTiles * between};
    const std::int64_t lines = matrix.height / kTile;
    const CoreRangeSet used = first_cores(std::min(lines, cores), grid);
    std::vector<CircularBuffer> out_list;
    for (const std::int64_t b : bytes) out_list.push_back({"softmax", used, b});
    return out_list;
  }
  std::int64_t lines = all;
  if (from_last == 2) {
    lines = all / rows;
    const std::int64_t wide = tile_bytes(DType::float32);
    bytes = {rows * in, between, between, between, rows * to, rows * wide, wide, wide, rows * wide, wide};
    std::int64_t total = 0;
    for (const std::int64_t b : bytes) total += b;
    if (total > free_bytes) bytes = {2 * in, between, between, between, 2 * to, 2 * wide, wide, wide, wide, wide};
  } else {
    bytes = {2 * in, 2 * to, two, two, 2 * two, to, two};
  }
  const CoreRangeSet used = first_cores(std::min(lines, cores), grid, false);
  std::vector<CircularBuffer> list;
  for (const std::int64_t b : bytes) list.push_back({"softmax", used, b});
  return list;
}

DeviceTensor softmax(const DeviceTensor& x, int dim, const std::optional<MemoryConfig>& config,
                     std::optional<ComputeConfig> compute) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const int rank = from.logical_shape().rank();
  check(dim >= -rank && dim < rank, Code::invalid_argument,
        "softmax: dimension out of range (expected to be in range of [-{}, {}], but got {})", rank, rank - 1, dim);
  if (dim < 0) dim += rank;
  check(from.dtype() == DType::float32 || from.dtype() == DType::bfloat16 || from.dtype() == DType::bfloat8_b,
        Code::unsupported, Hint{"use typecast"}, "softmax: the input must be FLOAT32, BFLOAT16 or BFLOAT8_B, it is {}",
        name(from.dtype()));
  if (from.layout() == Layout::row_major) {
    check(rank == 4 && dim == rank - 1, Code::unsupported, Hint{"use to_layout"},
          "softmax: the input must be tilized (ROW_MAJOR is taken for rank 4 and the last dimension only, this is rank "
          "{}, dim {})",
          rank, dim);
    return softmax(to_layout(x, Layout::tile), dim, config ? config : std::optional(from.memory_config()), compute);
  }
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), from.with_memory_config(placement_like(config, from, x.device()->grid())));
  if (from.logical_shape().volume() > 0)
    check_program_fits(*x.device(),
                       plan_softmax(from, y.spec().dtype(), dim, x.device()->grid(), free_l1_bytes(*x.device())));
  const Axis axis(from.logical_shape(), dim);
  const ComputeConfig how = compute.value_or(precise_compute(x.device()->card()));
  std::vector<Transfer> moved = stream_transfers(x, y);
  write_values(y, [&] {
    std::vector<float> values = read_pages(x).to_float32();
    if (axis.inner > 1) values = transposed(values, axis.outer, axis.length, axis.inner);
    values = softmax_values(values, axis.outer * axis.inner, axis.length, how);
    if (axis.inner > 1) values = transposed(values, axis.outer, axis.inner, axis.length);
    return Tensor::from_float32(values, from.logical_shape(), from.dtype(), Layout::tile, from.tile(),
                                Rounding::packer);
  });
  finish_program(
      {ProgramKind::softmax, fmt::format("{} along {}", from.logical_shape().to_string(), dim), std::move(moved)}, {&x},
      y);
  return y;
}

}  // namespace tessera::tensix
