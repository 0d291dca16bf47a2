#include "tessera/core/array.h"

#include "tessera/core/memory_size.h"

#include <limits>

namespace tessera {

namespace {

// The bytes of an array; an Error if this machine could not hold it.
std::size_t array_bytes(ElementType type, const Shape& shape) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.volume(), element_bytes(type), &bytes) || bytes > memory_size_bytes())
    fail(Code::out_of_memory, "{} {} takes {:.4g} GB, this machine has {:.4g} GB", shape.to_string(), name(type),
         static_cast<double>(shape.volume()) * static_cast<double>(element_bytes(type)) * 1e-9,
         static_cast<double>(memory_size_bytes()) * 1e-9);
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Array::Array(ElementType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  bytes_.resize(array_bytes(type_, shape_));
}

Array::Array(ElementType type, Shape shape, std::vector<std::byte> bytes)
    : type_(type), shape_(std::move(shape)), bytes_(std::move(bytes)) {
  if (static_cast<std::int64_t>(bytes_.size()) != count() * element_bytes(type_))
    fail(Code::invalid_argument, "{} {} takes {} B, {} B were given", shape_.to_string(), name(type_),
         count() * element_bytes(type_), bytes_.size());
}

std::vector<std::int64_t> Array::to_int64() const {
  return visit_element_type(type_, [&](auto tag) -> std::vector<std::int64_t> {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      std::vector<std::int64_t> out;
      for (const T value : as<T>()) {
        if constexpr (std::is_same_v<T, std::uint64_t>)
          check(value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), Code::invalid_argument,
                "{} does not fit int64", value);
        out.push_back(static_cast<std::int64_t>(value));
      }
      return out;
    } else {
      fail(Code::invalid_argument, "whole numbers are needed here, not {}", to_string());
    }
  });
}

std::vector<double> Array::to_double() const {
  return visit_element_type(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(count()));
    for (const T value : as<T>()) {
      if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>)
        out.push_back(static_cast<double>(value));
      else
        out.push_back(static_cast<float>(value));
    }
    return out;
  });
}

Array Array::reshaped(Shape shape) const& { return Array(*this).reshaped(std::move(shape)); }

Array Array::reshaped(Shape shape) && {
  if (shape.volume() != count())
    fail(Code::invalid_argument, "{} cannot be seen as {}: {} elements against {}", to_string(), shape.to_string(),
         count(), shape.volume());
  shape_ = std::move(shape);
  return std::move(*this);
}

std::string Array::to_string() const { return fmt::format("{} {}", shape_.to_string(), name(type_)); }

void Array::check_type(ElementType wanted) const {
  if (type_ != wanted) fail(Code::invalid_argument, "elements are {}, {} was asked for", name(type_), name(wanted));
}

}  // namespace tessera
