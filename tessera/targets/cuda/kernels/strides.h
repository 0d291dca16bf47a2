#pragma once

// Where elements lie, for kernels that take any shape: dimensions with a step for each operand.

#include "tessera/core/shape.h"
#include "tessera/kernel_plan/order.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cuda {

// For each axis of the graph's shape, elements from one to the next. `pixel`: elements from one pixel to the next where
// channels come last; 0: as many as channels.
std::vector<std::int64_t> strides_of(const Shape& shape, Order order, std::int64_t pixel = 0);

// One dimension and the steps along it, one for each operand; the result's comes first.
struct Dimension {
  std::int64_t size = 1;
  std::vector<std::int64_t> strides;
};

// Without dimensions of 1; neighbours that no operand can tell apart are one. At least one is left. Dimensions are
// given and come back from the outermost to the innermost.
std::vector<Dimension> collapsed(std::span<const Dimension> dimensions);

// Whether packs of so many elements of the innermost dimension can be moved at once: it has whole packs, the result's
// elements are neighbours, the others' too or all the same, and every other step is a whole number of packs.
bool has_packs(std::span<const Dimension> dimensions, std::int64_t elements);

}  // namespace tessera::cuda
