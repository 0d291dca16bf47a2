// Gather: rows by index. Indices are read and checked when it runs.

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/move/moving.h"

#include <algorithm>
#include <cstring>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kGrainBytes = 1 << 16;

Answer consider(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  // A list of indices leaves the axes as they are, in any order; others change the rank.
  const Order order = problem.input(1).rank() == 1 ? problem.orders[0] : Order::row_major;
  return moving_offer(problem, order, order);
}

struct Rows {
  std::int64_t outer = 1, extent = 1, row_bytes = 1, count = 0;
};

template <class I>
std::int64_t position(const I* indices, std::int64_t i, std::int64_t extent) {
  const std::int64_t index = static_cast<std::int64_t>(indices[i]);
  return index < 0 ? index + extent : index;
}

template <std::size_t kBytes>
void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, kBytes == 0 ? bytes : kBytes);
}

template <class I, std::size_t kBytes>
void gather_rows(const Rows& rows, const std::byte* x, const I* indices, std::byte* y) {
  parallel_for(rows.outer * rows.count, std::max<std::int64_t>(1, kGrainBytes / rows.row_bytes),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   const std::int64_t o = r / rows.count, at = position(indices, r % rows.count, rows.extent);
                   copy_row<kBytes>(y + r * rows.row_bytes, x + (o * rows.extent + at) * rows.row_bytes,
                                    static_cast<std::size_t>(rows.row_bytes));
                 }
               });
}

template <class I>
void gather(const Rows& rows, const std::byte* x, const I* indices, std::byte* y) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const std::int64_t index = static_cast<std::int64_t>(indices[i]);
    if (index < -rows.extent || index >= rows.extent)
      fail(Code::invalid_argument, "{}: index {} is outside a dimension of {} elements", Gather::kName, index,
           rows.extent);
  }
  if (rows.outer * rows.count * rows.row_bytes == 0) return;
  switch (rows.row_bytes) {
    case 1: return gather_rows<I, 1>(rows, x, indices, y);
    case 2: return gather_rows<I, 2>(rows, x, indices, y);
    case 4: return gather_rows<I, 4>(rows, x, indices, y);
    case 8: return gather_rows<I, 8>(rows, x, indices, y);
    default: return gather_rows<I, 0>(rows, x, indices, y);
  }
}

Runner prepare(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  const Shape shape = problem.input(0).shape(), x = stored_shape(shape, offer.inputs[0]);
  const int axis = stored_axis(normalized_axis(std::get<Gather>(problem.node.op).axis, shape.rank(), Gather::kName),
                               shape.rank(), offer.inputs[0]);
  Rows rows;
  for (int d = 0; d < axis; ++d) rows.outer *= x[d];
  rows.extent = x[axis];
  rows.row_bytes = element_bytes(problem.input(0).type);
  for (int d = axis + 1; d < x.rank(); ++d) rows.row_bytes *= x[d];
  rows.count = problem.input(1).shape().volume();
  if (problem.input(1).type == ElementType::int32)
    return [rows](const StepArgs& args) { gather(rows, args.inputs[0], args.input<std::int32_t>(1), args.outputs[0]); };
  return [rows](const StepArgs& args) { gather(rows, args.inputs[0], args.input<std::int64_t>(1), args.outputs[0]); };
}

constexpr CpuKernel kKernels[] = {{{.name = "gather", .op = Gather::kName, .consider = consider}, prepare}};

}  // namespace

std::span<const CpuKernel> gather_kernels() { return kKernels; }

}  // namespace tessera::cpu
