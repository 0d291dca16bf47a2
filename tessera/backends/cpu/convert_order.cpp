#include "tessera/backends/cpu/convert_order.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"

#include <algorithm>
#include <cstring>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kBlock = 16;  // a square of elements that stays in the first cache

// to[c][r] = from[r][c]
template <class T>
void transpose(const T* from, T* to, std::int64_t rows, std::int64_t columns) {
  parallel_for(ceil_div(rows, kBlock), std::max<std::int64_t>(1, 16384 / (kBlock * columns)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r0 = begin * kBlock; r0 < std::min(rows, end * kBlock); r0 += kBlock)
                   for (std::int64_t c0 = 0; c0 < columns; c0 += kBlock) {
                     const std::int64_t r1 = std::min(rows, r0 + kBlock), c1 = std::min(columns, c0 + kBlock);
                     for (std::int64_t r = r0; r < r1; ++r)
                       for (std::int64_t c = c0; c < c1; ++c) to[c * rows + r] = from[r * columns + c];
                   }
               });
}

template <class T>
void transpose_each(const std::byte* from, std::byte* to, std::int64_t count, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < count; ++i)
    transpose(reinterpret_cast<const T*>(from) + i * rows * columns, reinterpret_cast<T*>(to) + i * rows * columns,
              rows, columns);
}

}  // namespace

void convert_order(const std::byte* from, Order from_order, std::byte* to, Order to_order, const Shape& shape,
                   std::int64_t element_bytes) {
  const std::int64_t volume = shape.volume();
  if (volume == 0) return;
  if (from_order == to_order || shape.rank() < 3) {
    std::memcpy(to, from, static_cast<std::size_t>(volume * element_bytes));
    return;
  }
  const std::int64_t batch = shape[0], channels = shape[1], pixels = volume / (batch * channels);
  const bool to_last = to_order == Order::channels_last;
  const std::int64_t rows = to_last ? channels : pixels, columns = to_last ? pixels : channels;
  switch (element_bytes) {
    case 1: return transpose_each<std::uint8_t>(from, to, batch, rows, columns);
    case 2: return transpose_each<std::uint16_t>(from, to, batch, rows, columns);
    case 4: return transpose_each<std::uint32_t>(from, to, batch, rows, columns);
    case 8: return transpose_each<std::uint64_t>(from, to, batch, rows, columns);
    default: fail(Code::internal, "elements of {} bytes", element_bytes);
  }
}

}  // namespace tessera::cpu
