#include "tessera/core/elements.h"

#include <cstring>

namespace tessera {
namespace {

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int i = shape.rank() - 2; i >= 0; --i)
    strides[static_cast<std::size_t>(i)] = strides[static_cast<std::size_t>(i) + 1] * shape[i + 1];
  return strides;
}

}  // namespace

void copy_box(const BoxCopy& box, int element_bytes, const std::byte* from, std::byte* to) {
  if (box.extent.volume() == 0) return;
  const int rank = box.extent.rank();
  if (rank == 0) {
    std::memcpy(to, from, static_cast<std::size_t>(element_bytes));
    return;
  }
  const std::vector<std::int64_t> from_strides = strides_of(box.from_shape), to_strides = strides_of(box.to_shape);
  const std::size_t last = static_cast<std::size_t>(rank) - 1;
  const std::int64_t row = box.extent[-1];
  std::vector<std::int64_t> at(static_cast<std::size_t>(rank), 0);
  for (bool more = true; more;) {
    std::int64_t source = 0, target = 0;
    for (std::size_t d = 0; d <= last; ++d) {
      source += (box.from_begin[d] + at[d] * box.from_step[d]) * from_strides[d];
      target += (box.to_begin[d] + at[d]) * to_strides[d];
    }
    if (box.from_step[last] == 1) {
      std::memcpy(to + target * element_bytes, from + source * element_bytes,
                  static_cast<std::size_t>(row * element_bytes));
    } else {
      for (std::int64_t i = 0; i < row; ++i)
        std::memcpy(to + (target + i) * element_bytes, from + (source + i * box.from_step[last]) * element_bytes,
                    static_cast<std::size_t>(element_bytes));
    }
    more = false;
    for (std::size_t d = last; d-- > 0;) {
      if (++at[d] < box.extent.dims()[d]) {
        more = true;
        break;
      }
      at[d] = 0;
    }
  }
}

}  // namespace tessera
