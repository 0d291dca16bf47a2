#include "tessera/core/dtype.h"

#include <array>

namespace tessera {
namespace {

constexpr std::array kAll{DType::float32, DType::bfloat16, DType::float16, DType::bfloat8_b, DType::bfloat4_b,
                          DType::uint8,   DType::uint16,   DType::uint32,  DType::int32};

}  // namespace

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::bfloat16: return "bfloat16";
    case DType::float16: return "float16";
    case DType::bfloat8_b: return "bfloat8_b";
    case DType::bfloat4_b: return "bfloat4_b";
    case DType::uint8: return "uint8";
    case DType::uint16: return "uint16";
    case DType::uint32: return "uint32";
    case DType::int32: return "int32";
  }
  return "unknown";
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (DType dtype : kAll)
    if (name(dtype) == text) return dtype;
  if (text == "f32") return DType::float32;
  if (text == "bf16") return DType::bfloat16;
  if (text == "f16") return DType::float16;
  if (text == "bfp8") return DType::bfloat8_b;
  if (text == "bfp4") return DType::bfloat4_b;
  return std::nullopt;
}

std::span<const DType> all_dtypes() { return kAll; }

std::string_view name(Layout layout) { return layout == Layout::tile ? "TILE" : "ROW_MAJOR"; }

std::optional<Layout> parse_layout(std::string_view text) {
  if (text == "TILE" || text == "tile") return Layout::tile;
  if (text == "ROW_MAJOR" || text == "row_major") return Layout::row_major;
  return std::nullopt;
}

}  // namespace tessera
