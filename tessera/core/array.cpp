#include "tessera/core/array.h"

#include "tessera/core/memory_budget.h"
#include "tessera/core/memory_size.h"
#include "tessera/core/narrow_element.h"

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

void check_size(std::size_t bytes, ElementType type, const Shape& shape) {
  if (static_cast<std::int64_t>(bytes) != shape.volume() * element_bytes(type))
    fail(Code::invalid_argument, "{} {} takes {} B, {} B were given", shape.to_string(), name(type),
         shape.volume() * element_bytes(type), bytes);
}

// For a copy that is kept from the start.
class Copied : public DeferredBytes {
 public:
  explicit Copied(const DeferredBytes& from) : DeferredBytes(from.size()), from_(from) { kept(); }
  void write(std::byte* to) const override {
    if (!is_kept())
      from_.write(to);
    else if (size() > 0)
      std::memcpy(to, kept().data(), size());
  }

 private:
  const DeferredBytes& from_;  // read at the start only
};

}  // namespace

Array::Array(ElementType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  const std::size_t bytes = array_bytes(type_, shape_);
  BudgetScope::check_room(static_cast<std::int64_t>(bytes));
  bytes_.resize(bytes);
}

Array::Array(ElementType type, Shape shape, std::vector<std::byte> bytes)
    : type_(type), shape_(std::move(shape)), bytes_(std::move(bytes)) {
  check_size(bytes_.size(), type_, shape_);
}

Array::Array(ElementType type, Shape shape, std::shared_ptr<const DeferredBytes> bytes)
    : type_(type), shape_(std::move(shape)), deferred_(std::move(bytes)) {
  check_size(deferred_->size(), type_, shape_);
}

Array Array::loaded() const {
  if (!deferred_ || deferred_->is_kept()) return *this;
  return Array(type_, shape_, std::make_shared<const Copied>(*deferred_));
}

void Array::own() {
  bytes_.resize(deferred_->size());
  deferred_->write(bytes_.data());
  deferred_.reset();
}

bool Array::operator==(const Array& other) const {
  if (type_ != other.type_ || shape_ != other.shape_) return false;
  const std::span<const std::byte> a = bytes(), b = other.bytes();
  return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

std::vector<std::int64_t> Array::to_int64() const {
  if (type_ == ElementType::int4 || type_ == ElementType::uint4 || type_ == ElementType::int2 ||
      type_ == ElementType::uint2) {
    std::vector<std::int64_t> out;
    for (const std::byte b : bytes())
      out.push_back(static_cast<std::int64_t>(narrow_value(type_, static_cast<std::uint8_t>(b))));
    return out;
  }
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
  if (is_narrow(type_)) {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(count()));
    for (const std::byte b : bytes()) out.push_back(narrow_value(type_, static_cast<std::uint8_t>(b)));
    return out;
  }
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
