#pragma once

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// Element types that files can hold: more than the machines compute with (DType), and no block floats, which exist only
// in tiles. Narrow ones, of 8 bits or fewer, are carried one in a byte and computed with by conversions alone
// (narrow_element.h).
enum class ElementType : std::uint8_t {
  boolean,  // one byte, 0 or 1 by custom; readers pass the byte on as it is
  uint8,
  int8,
  float8_e5m2,
  float8_e4m3,  // ONNX calls it float8_e4m3fn: no infinities
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
  float8_e5m2fnuz,
  float8_e4m3fnuz,
  float8_e8m0,  // a power of 2, without sign
  float4_e2m1,
  int4,
  uint4,
  int2,
  uint2,
};

constexpr bool is_narrow(ElementType type) {
  return type == ElementType::float8_e5m2 || type == ElementType::float8_e4m3 || type > ElementType::uint64;
}

TSR_API std::span<const ElementType> all_element_types();

TSR_API std::string_view name(ElementType type);       // "float32", "bool", "float8_e4m3"
TSR_API std::int64_t element_bytes(ElementType type);  // in memory
TSR_API int element_bits(ElementType type);            // that mean something: 4 of int4's byte

// How NumPy spells the type in an .npy header, little-endian: "<f4", "|b1". bfloat16 is "<V2", as written for arrays of
// the ml_dtypes package. Empty for narrow types, which .npy cannot tell apart.
TSR_API std::string_view numpy_descr(ElementType type);

// "F32", "BF16", "F8_E4M3". Empty for types that such files have no name for.
TSR_API std::string_view safetensors_name(ElementType type);
TSR_API std::optional<ElementType> parse_safetensors_name(std::string_view text);

TSR_API std::optional<DType> to_dtype(ElementType type);          // none for bool, narrow types, int8/16, 64 bits
TSR_API std::optional<ElementType> to_element_type(DType dtype);  // none for block floats

}  // namespace tessera
