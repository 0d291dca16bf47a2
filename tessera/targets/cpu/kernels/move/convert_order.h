#pragma once

// The same elements in another order: N C D1 D2 ... to N D1 D2 ... C and back.

#include "tessera/core/export.h"
#include "tessera/kernel_plan/order.h"

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

TSR_API void convert_order(const std::byte* from, Order from_order, std::byte* to, Order to_order, const Shape& shape,
                           std::int64_t element_bytes);

}  // namespace tessera::cpu
