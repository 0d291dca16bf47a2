#pragma once

#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// Element types, under the names that TTNN users know. The two block floats store 16 values with one shared
// exponent and exist only in tiles (block_float.h).
enum class DType : std::uint8_t {
  float32,
  bfloat16,
  float16,
  bfloat8_b,
  bfloat4_b,
  uint8,
  uint16,
  uint32,
  int32,
};

TSR_API std::string_view name(DType dtype);
TSR_API std::optional<DType> parse_dtype(std::string_view text);
TSR_API std::span<const DType> all_dtypes();

constexpr bool is_block_float(DType dtype) { return dtype == DType::bfloat8_b || dtype == DType::bfloat4_b; }
constexpr bool is_integer(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::int32;
}
constexpr bool is_floating(DType dtype) { return !is_integer(dtype); }

// Bytes of one element; 0 for block floats, whose elements have no bytes of their own.
constexpr int element_bytes(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::uint32:
    case DType::int32: return 4;
    case DType::bfloat16:
    case DType::float16:
    case DType::uint16: return 2;
    case DType::uint8: return 1;
    case DType::bfloat8_b:
    case DType::bfloat4_b: return 0;
  }
  return 0;
}

// How elements are laid out in memory: rows one after the other, or 32x32 tiles of four 16x16 faces (tile.h).
enum class Layout : std::uint8_t { row_major, tile };

TSR_API std::string_view name(Layout layout);  // "ROW_MAJOR", "TILE"
TSR_API std::optional<Layout> parse_layout(std::string_view text);

}  // namespace tessera
