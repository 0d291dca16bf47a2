#pragma once

#include "tessera/core/element_type.h"
#include "tessera/kernel_plan/order.h"
#include "tessera/targets/cuda/kernels/kernel.h"
#include "tessera/targets/cuda/kernels/strides.h"

#include <optional>
#include <span>

namespace tessera::cuda {

// Whether elements of one type can be copied as another.
bool can_copy(ElementType from, ElementType to);

// A copy of these dimensions: the steps of each are of the result and of what is copied.
Launch copy_launch(KernelLibrary& library, ElementType from_type, const void* from, ElementType to_type, void* to,
                   std::span<const Dimension> dimensions);

// A value into another order, and into another type where they differ.
Launch reorder_launch(KernelLibrary& library, const Shape& shape, ElementType from_type, Order from_order,
                      const void* from, ElementType to_type, Order to_order, void* to);

}  // namespace tessera::cuda
