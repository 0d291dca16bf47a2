#pragma once

// The C++ type of each element type, and how to get from one to the other at run time.

#include "tessera/core/element_type.h"
#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"

#include <cstdint>
#include <type_traits>

namespace tessera {

// Two bytes that convert to and from float; arithmetic happens in float or wider.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(bfloat16_from_float_host(value)) {}
  operator float() const { return float_from_bfloat16(bits); }
};
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(float16_from_float(value)) {}
  operator float() const { return float_from_float16(bits); }
};

template <class T>
struct TypeTag {
  using type = T;
};

template <class T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return ElementType::boolean;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return ElementType::uint8;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return ElementType::int8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return ElementType::int16;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return ElementType::uint16;
  else if constexpr (std::is_same_v<T, Float16>)
    return ElementType::float16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return ElementType::bfloat16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return ElementType::int32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return ElementType::uint32;
  else if constexpr (std::is_same_v<T, float>)
    return ElementType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::float64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return ElementType::int64;
  else {
    static_assert(std::is_same_v<T, std::uint64_t>, "no element type has this C++ type");
    return ElementType::uint64;
  }
}

// visit(TypeTag<T>{}) for the C++ type of `type`. Narrow types have none: an Error.
template <class Visit>
decltype(auto) visit_element_type(ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::boolean: return visit(TypeTag<bool>{});
    case ElementType::uint8: return visit(TypeTag<std::uint8_t>{});
    case ElementType::int8: return visit(TypeTag<std::int8_t>{});
    case ElementType::int16: return visit(TypeTag<std::int16_t>{});
    case ElementType::uint16: return visit(TypeTag<std::uint16_t>{});
    case ElementType::float16: return visit(TypeTag<Float16>{});
    case ElementType::bfloat16: return visit(TypeTag<BFloat16>{});
    case ElementType::int32: return visit(TypeTag<std::int32_t>{});
    case ElementType::uint32: return visit(TypeTag<std::uint32_t>{});
    case ElementType::float32: return visit(TypeTag<float>{});
    case ElementType::float64: return visit(TypeTag<double>{});
    case ElementType::int64: return visit(TypeTag<std::int64_t>{});
    case ElementType::uint64: return visit(TypeTag<std::uint64_t>{});
    default: break;
  }
  fail(Code::unsupported, "nothing is computed in {}", name(type));
}

// The same for floating types only; anything else is an Error that names `what`.
template <class Visit>
decltype(auto) visit_floating_type(ElementType type, std::string_view what, Visit&& visit) {
  switch (type) {
    case ElementType::float16: return visit(TypeTag<Float16>{});
    case ElementType::bfloat16: return visit(TypeTag<BFloat16>{});
    case ElementType::float32: return visit(TypeTag<float>{});
    case ElementType::float64: return visit(TypeTag<double>{});
    default: fail(Code::unsupported, "{} works on floating-point tensors, not on {}", what, name(type));
  }
}

template <class T>
constexpr bool is_floating_v =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

}  // namespace tessera
