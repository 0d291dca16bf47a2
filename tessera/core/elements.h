#pragma once

// Rearranging row-major elements of any size, without caring what they mean.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera {

// Copies a box of `extent` elements from one row-major array into another. Position i of the box along a dimension is
// at from_begin + i * from_step in the source and at to_begin + i in the destination. Ranks must agree; nothing is
// checked here.
struct BoxCopy {
  Shape extent;
  Shape from_shape, to_shape;
  std::vector<std::int64_t> from_begin, from_step, to_begin;
};
TSR_API void copy_box(const BoxCopy& box, int element_bytes, const std::byte* from, std::byte* to);

}  // namespace tessera
