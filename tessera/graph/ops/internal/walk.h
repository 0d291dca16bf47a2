#pragma once

// Row-major walks over several operands that lie differently in memory.

#include "tessera/core/shape.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::internal {

inline std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

// Strides of an operand of shape `from` seen as `to`: 0 where it repeats.
inline std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> own = strides_of(from.dims());
  std::vector<std::int64_t> strides(to.dims().size(), 0);
  const std::size_t missing = to.dims().size() - from.dims().size();
  for (std::size_t d = 0; d < own.size(); ++d)
    if (from.dims()[d] != 1) strides[missing + d] = own[d];
  return strides;
}

// visit(offsets) at every position of dims, the last dimension fastest. offsets[i] = position . strides[i].
template <std::size_t N, class Visit>
void walk(std::span<const std::int64_t> dims, const std::array<std::vector<std::int64_t>, N>& strides, Visit&& visit) {
  for (const std::int64_t d : dims)
    if (d == 0) return;
  std::array<std::int64_t, N> offsets{};
  if (dims.empty()) {
    visit(offsets);
    return;
  }
  const std::size_t last = dims.size() - 1;
  std::vector<std::int64_t> position(dims.size(), 0);
  while (true) {
    std::array<std::int64_t, N> at = offsets;
    for (std::int64_t i = 0; i < dims[last]; ++i) {
      visit(at);
      for (std::size_t n = 0; n < N; ++n) at[n] += strides[n][last];
    }
    std::size_t d = last;
    while (d-- > 0) {
      for (std::size_t n = 0; n < N; ++n) offsets[n] += strides[n][d];
      if (++position[d] < dims[d]) break;
      for (std::size_t n = 0; n < N; ++n) offsets[n] -= strides[n][d] * dims[d];
      position[d] = 0;
    }
    if (d > last) return;  // wrapped around: every dimension is done
  }
}

}  // namespace tessera::internal
