#pragma once

// Arrays of other libraries as tensors: element types that machines do not compute with, defaults, padding.

#include "tessera/core/element_type.h"
#include "tessera/core/export.h"
#include "tessera/core/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// The dtype of a tensor made from such an array when none is asked for. As in TTNN, 16-bit integers become uint16 and
// 64-bit ones uint32; int8 becomes int32 and float64 float32.
TSR_API DType default_dtype(ElementType type);

struct ArrayImport {
  std::optional<DType> dtype = std::nullopt;
  std::optional<Layout> layout = std::nullopt;  // ROW_MAJOR, but TILE for block floats
  Tile tile = {};
  float pad_value = 0;  // what fills the rest of the last tiles
};

// Integers wrap around where the dtype is narrower (257 becomes 1 as uint8); floating values are truncated and
// saturate.
TSR_API Tensor tensor_from_array(std::span<const std::byte> elements, ElementType type, const Shape& shape,
                                 const ArrayImport& how);

}  // namespace tessera
