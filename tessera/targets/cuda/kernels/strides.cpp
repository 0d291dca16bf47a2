#include "tessera/targets/cuda/kernels/strides.h"

#include <algorithm>

namespace tessera::cuda {

std::vector<std::int64_t> strides_of(const Shape& shape, Order order, std::int64_t pixel) {
  const Shape stored = stored_shape(shape, order);
  const int rank = shape.rank();
  std::vector<std::int64_t> in_store(static_cast<std::size_t>(rank));
  std::int64_t step = 1;
  for (int d = rank - 1; d >= 0; --d) {
    in_store[static_cast<std::size_t>(d)] = step;
    const bool channels = order == Order::channels_last && rank >= 3 && d == rank - 1;
    step = channels && pixel > 0 ? pixel : step * stored[d];
  }
  std::vector<std::int64_t> out;
  for (int axis = 0; axis < rank; ++axis)
    out.push_back(in_store[static_cast<std::size_t>(stored_axis(axis, rank, order))]);
  return out;
}

std::vector<Dimension> collapsed(std::span<const Dimension> dimensions) {
  std::vector<Dimension> out;
  for (const Dimension& dimension : dimensions) {
    if (dimension.size == 1) continue;
    const bool merges = !out.empty() && std::ranges::equal(out.back().strides, dimension.strides,
                                                           [&](std::int64_t outer, std::int64_t inner) {
                                                             return outer == inner * dimension.size;
                                                           });
    if (merges)
      out.back() = {out.back().size * dimension.size, dimension.strides};
    else
      out.push_back(dimension);
  }
  if (out.empty() && !dimensions.empty()) out.push_back(dimensions.back());
  if (out.empty()) out.push_back({1, {1, 1, 1}});
  return out;
}

bool has_packs(std::span<const Dimension> dimensions, std::int64_t elements) {
  const Dimension& last = dimensions.back();
  if (last.size % elements != 0 || last.strides[0] != 1) return false;
  for (std::size_t operand = 0; operand < last.strides.size(); ++operand) {
    if (last.strides[operand] != 0 && last.strides[operand] != 1) return false;
    if (last.strides[operand] == 0) continue;
    for (std::size_t d = 0; d + 1 < dimensions.size(); ++d)
      if (dimensions[d].strides[operand] % elements != 0) return false;
  }
  return true;
}

}  // namespace tessera::cuda
