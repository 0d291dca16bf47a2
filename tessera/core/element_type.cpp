#include "tessera/core/element_type.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  std::int64_t bytes;
  std::string_view numpy;
  std::string_view safetensors;
  std::optional<DType> dtype;
};

// In the order of the enumeration.
constexpr std::array kRows{
    Row{ElementType::boolean, "bool", 1, "|b1", "BOOL", std::nullopt},
    Row{ElementType::uint8, "uint8", 1, "|u1", "U8", DType::uint8},
    Row{ElementType::int8, "int8", 1, "|i1", "I8", std::nullopt},
    Row{ElementType::float8_e5m2, "float8_e5m2", 1, "", "F8_E5M2", std::nullopt},
    Row{ElementType::float8_e4m3, "float8_e4m3", 1, "", "F8_E4M3", std::nullopt},
    Row{ElementType::int16, "int16", 2, "<i2", "I16", std::nullopt},
    Row{ElementType::uint16, "uint16", 2, "<u2", "U16", DType::uint16},
    Row{ElementType::float16, "float16", 2, "<f2", "F16", DType::float16},
    Row{ElementType::bfloat16, "bfloat16", 2, "<V2", "BF16", DType::bfloat16},
    Row{ElementType::int32, "int32", 4, "<i4", "I32", DType::int32},
    Row{ElementType::uint32, "uint32", 4, "<u4", "U32", DType::uint32},
    Row{ElementType::float32, "float32", 4, "<f4", "F32", DType::float32},
    Row{ElementType::float64, "float64", 8, "<f8", "F64", std::nullopt},
    Row{ElementType::int64, "int64", 8, "<i8", "I64", std::nullopt},
    Row{ElementType::uint64, "uint64", 8, "<u8", "U64", std::nullopt},
    Row{ElementType::float8_e5m2fnuz, "float8_e5m2fnuz", 1, "", "", std::nullopt},
    Row{ElementType::float8_e4m3fnuz, "float8_e4m3fnuz", 1, "", "", std::nullopt},
    Row{ElementType::float8_e8m0, "float8_e8m0", 1, "", "", std::nullopt},
    Row{ElementType::float4_e2m1, "float4_e2m1", 1, "", "", std::nullopt},
    Row{ElementType::int4, "int4", 1, "", "", std::nullopt},
    Row{ElementType::uint4, "uint4", 1, "", "", std::nullopt},
    Row{ElementType::int2, "int2", 1, "", "", std::nullopt},
    Row{ElementType::uint2, "uint2", 1, "", "", std::nullopt},
};

constexpr auto kTypes = [] {
  std::array<ElementType, kRows.size()> types{};
  for (std::size_t i = 0; i < kRows.size(); ++i) types[i] = kRows[i].type;
  return types;
}();

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  return true;
}
static_assert(rows_follow_the_enumeration());

const Row& row(ElementType type) { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

std::span<const ElementType> all_element_types() { return kTypes; }

std::string_view name(ElementType type) { return row(type).name; }

std::int64_t element_bytes(ElementType type) { return row(type).bytes; }

int element_bits(ElementType type) {
  switch (type) {
    case ElementType::float4_e2m1:
    case ElementType::int4:
    case ElementType::uint4: return 4;
    case ElementType::int2:
    case ElementType::uint2: return 2;
    default: return static_cast<int>(element_bytes(type)) * 8;
  }
}

std::string_view numpy_descr(ElementType type) { return row(type).numpy; }

std::string_view safetensors_name(ElementType type) { return row(type).safetensors; }

std::optional<ElementType> parse_safetensors_name(std::string_view text) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.safetensors == text; });
  return found == kRows.end() || text.empty() ? std::nullopt : std::optional(found->type);
}

std::optional<DType> to_dtype(ElementType type) { return row(type).dtype; }

std::optional<ElementType> to_element_type(DType dtype) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.dtype == dtype; });
  return found == kRows.end() ? std::nullopt : std::optional(found->type);
}

}  // namespace tessera
