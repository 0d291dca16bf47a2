#include "tessera/targets/cpu/kernels/move/convert_order.h"

#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/move/transpose.h"

#include <algorithm>
#include <cstring>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kPart = 1 << 14;  // elements that a thread takes at least
constexpr std::int64_t kManyPixels = 512;
constexpr std::int64_t kSide = 16;  // squares in which kernels work: parts are whole ones

}  // namespace

TransposeKernel transpose_kernel() { return TSR_FOR_ISA(active_isa(), transpose); }

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
  // Each image is cut along its pixels, which are many, so that threads write apart from each other; or along its
  // channels, where pixels are so few that pieces of planes would share lines.
  const bool by_pixel = pixels >= kManyPixels;
  const std::int64_t along = by_pixel ? pixels : channels, across = by_pixel ? channels : pixels;
  const std::int64_t part = round_up(std::max<std::int64_t>(1, kPart / across), by_pixel ? kSide : 4 * kSide),
                     parts = ceil_div(along, part);
  const TransposeKernel transpose = transpose_kernel();
  const std::int64_t grain = std::max<std::int64_t>(1, kPart / (std::min(part, along) * across));
  parallel_for(batch * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t first = u % parts * part, count = std::min(part, along - first);
      const std::byte* image = from + u / parts * rows * columns * element_bytes;
      std::byte* result = to + u / parts * rows * columns * element_bytes;
      if (by_pixel == to_last)  // columns [first, first + count)
        transpose(image + first * element_bytes, columns, result + first * rows * element_bytes, rows, rows, count,
                  element_bytes);
      else
        transpose(image + first * columns * element_bytes, columns, result + first * element_bytes, rows, count,
                  columns, element_bytes);
    }
  });
}

}  // namespace tessera::cpu
