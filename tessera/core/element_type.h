#pragma once

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// Element types that files can hold: more than the machines compute with (DType), and no block floats, which exist only
// in tiles. The two 8-bit floats are carried as raw bytes.
enum class ElementType : std::uint8_t {
  boolean,  // one byte, 0 or 1 by custom; readers pass the byte on as it is
  uint8,
  int8,
  float8_e5m2,
  float8_e4m3,
  int16,
  uint16,
  float16,
  bfloat16,
  int32,
  uint32,
  float32,
  float64,
  int64,
  uint64,
};

TSR_API std::span<const ElementType> all_element_types();

TSR_API std::string_view name(ElementType type);  // "float32", "bool", "float8_e4m3"
TSR_API std::int64_t element_bytes(ElementType type);

// How NumPy spells the type in an .npy header, little-endian: "<f4", "|b1". bfloat16 is "<V2", as written for arrays of
// the ml_dtypes package. Empty for the 8-bit floats, which .npy cannot tell apart.
TSR_API std::string_view numpy_descr(ElementType type);

// "F32", "BF16", "F8_E4M3".
TSR_API std::string_view safetensors_name(ElementType type);
TSR_API std::optional<ElementType> parse_safetensors_name(std::string_view text);

TSR_API std::optional<DType> to_dtype(ElementType type);          // none for bool, 8-bit floats, int8/16, 64 bits
TSR_API std::optional<ElementType> to_element_type(DType dtype);  // none for block floats

}  // namespace tessera
