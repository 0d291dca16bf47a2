#include "tessera/backends/cpu/convert_order.h"

#include "tessera/backends/cpu/internal/transpose.h"
#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"

#include <algorithm>
#include <cstring>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kPart = 1 << 14;  // elements that a thread takes at least
constexpr std::int64_t kSide = 16;       // squares in which kernels work: parts are whole ones

}  // namespace

TransposeKernel transpose_kernel() {
#if defined(__x86_64__)
  if (active_isa() >= Isa::avx512) return avx512::transpose;
  if (active_isa() >= Isa::avx2) return avx2::transpose;
#endif
  return portable::transpose;
}

void convert_order(const std::byte* from, Order from_order, std::byte* to, Order to_order, const Shape& shape,
                   std::int64_t element_bytes) {
  const std::int64_t volume = shape.volume();
  if (volume == 0) return;
  if (from_order == to_order || shape.rank() < 3) {
    std::memcpy(to, from, static_cast<std::size_t>(volume * element_bytes));
    return;
  }
  check(element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8, Code::internal,
        "elements of {} bytes", element_bytes);
  const std::int64_t batch = shape[0], channels = shape[1], pixels = volume / (batch * channels);
  if (channels == 1 || pixels == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(volume * element_bytes));
    return;
  }
  const bool to_last = to_order == Order::channels_last;
  const std::int64_t rows = to_last ? channels : pixels, columns = to_last ? pixels : channels;
  // Each image is cut along its pixels, which are many, so that threads write apart from each other.
  const std::int64_t part = round_up(std::max<std::int64_t>(1, kPart / channels), kSide),
                     parts = ceil_div(pixels, part);
  const TransposeKernel transpose = transpose_kernel();
  const std::int64_t grain = std::max<std::int64_t>(1, kPart / (std::min(part, pixels) * channels));
  parallel_for(batch * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t image = u / parts * rows * columns, first = u % parts * part,
                         count = std::min(part, pixels - first);
      if (to_last)
        transpose(from + (image + first) * element_bytes, columns, to + (image + first * rows) * element_bytes, rows,
                  rows, count, element_bytes);
      else
        transpose(from + (image + first * columns) * element_bytes, columns, to + (image + first) * element_bytes, rows,
                  count, columns, element_bytes);
    }
  });
}

}  // namespace tessera::cpu
