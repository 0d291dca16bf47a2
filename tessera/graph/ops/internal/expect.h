#pragma once

// Refusals that many operators share.

#include "tessera/core/error.h"
#include "tessera/graph/operands.h"

#include <string_view>

namespace tessera::internal {

constexpr bool is_floating(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 || type == ElementType::float32 ||
         type == ElementType::float64;
}

constexpr bool is_computable(ElementType type) { return !is_narrow(type); }

constexpr bool is_integer(ElementType type) {
  return is_computable(type) && !is_floating(type) && type != ElementType::boolean;
}

constexpr bool is_number(ElementType type) { return is_floating(type) || is_integer(type); }

inline void expect_floating(const Knowns& inputs, std::size_t i, std::string_view op) {
  if (!is_floating(inputs[i].type))
    fail(Code::unsupported, "{}: input {} is {}, a floating-point type is needed", op, i, name(inputs[i].type));
}

inline void expect_number(const Knowns& inputs, std::size_t i, std::string_view op) {
  if (!is_number(inputs[i].type))
    fail(Code::unsupported, "{}: input {} is {}, a type of numbers is needed", op, i, name(inputs[i].type));
}

inline void expect_type(const Knowns& inputs, std::size_t i, ElementType type, std::string_view op) {
  if (inputs[i].type != type)
    fail(Code::invalid_argument, "{}: input {} is {}, {} is needed", op, i, name(inputs[i].type), name(type));
}

// The type as it is, if its rank and its number of elements can be had at all.
inline TensorType possible(TensorType type) {
  if (type.dims) {
    std::vector<std::int64_t> known = *type.dims;
    for (std::int64_t& d : known)
      if (d == TensorType::kUnknown) d = 1;
    (void)Shape(std::move(known));
  }
  return type;
}

// Refuses an input i whose shape cannot be repeated to become that of x.
inline void expect_broadcast_to(const Knowns& inputs, std::size_t i, const TensorType& x, std::string_view op) {
  const TensorType& t = inputs[i];
  if (!t.dims || !x.dims) return;
  bool fits = t.dims->size() <= x.dims->size();
  for (std::size_t d = 0; fits && d < t.dims->size(); ++d) {
    const std::int64_t mine = (*t.dims)[d], wanted = (*x.dims)[x.dims->size() - t.dims->size() + d];
    fits = mine == TensorType::kUnknown || mine == 1 || wanted == TensorType::kUnknown || mine == wanted;
  }
  if (!fits)
    fail(Code::invalid_argument, "{}: input {} is {}, which cannot be broadcast to {}", op, i, t.to_string(),
         x.to_string());
}

// Refuses an input i that is not a vector of `count` elements, as far as that is known.
inline void expect_vector(const Knowns& inputs, std::size_t i, std::int64_t count, std::string_view op) {
  inputs.expect_rank(i, 1, 1);
  if (!inputs[i].dims) return;
  const std::int64_t found = (*inputs[i].dims)[0];
  if (found != TensorType::kUnknown && count != TensorType::kUnknown && found != count)
    fail(Code::invalid_argument, "{}: input {} has {} elements, {} are needed", op, i, found, count);
}

}  // namespace tessera::internal
