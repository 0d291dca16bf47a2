#pragma once

// In which order a value's elements lie in memory. The graph speaks of N C D1 D2 ... always; a plan may keep a value
// with its channels last.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera {

enum class Order : std::uint8_t {
  row_major,      // as the graph says it
  channels_last,  // N D1 D2 ... C: rank 3 or more
};

TSR_API std::string_view name(Order order);

// The extents in the order in which they lie in memory, outermost first.
TSR_API Shape stored_shape(const Shape& shape, Order order);

// Where axis `axis` of the graph's shape lies in stored_shape().
TSR_API int stored_axis(int axis, int rank, Order order);

}  // namespace tessera
