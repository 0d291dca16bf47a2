#pragma once

// An array in host memory: row-major elements of any type a network computes with. (Tensor is the card's kind: it knows
// tiles and block floats.)

#include "tessera/core/deferred_bytes.h"
#include "tessera/core/element_type_of.h"
#include "tessera/core/error.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class TSR_API Array {
 public:
  Array() : Array(ElementType::float32, Shape{0}) {}
  Array(ElementType type, Shape shape);                                              // zeros
  Array(ElementType type, Shape shape, std::vector<std::byte> bytes);                // refuses a size that does not fit
  Array(ElementType type, Shape shape, std::shared_ptr<const DeferredBytes> bytes);  // likewise

  template <class T>
  static Array of(Shape shape, std::span<const T> values) {
    Array out(element_type_of<T>(), std::move(shape));
    check(static_cast<std::int64_t>(values.size()) == out.count(), Code::invalid_argument,
          "shape {} takes {} values, {} were given", out.shape().to_string(), out.count(), values.size());
    if (!values.empty()) std::memcpy(out.bytes().data(), values.data(), values.size_bytes());
    return out;
  }
  template <class T>
  static Array scalar(T value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }

  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t count() const { return shape_.volume(); }
  // Deferred bytes are there from the first call on; who writes gets a copy of them to itself.
  std::span<const std::byte> bytes() const { return deferred_ ? deferred_->kept() : bytes_; }
  std::span<std::byte> bytes() {
    if (deferred_) own();
    return bytes_;
  }
  const DeferredBytes* deferred() const { return deferred_.get(); }  // null: there anyway
  // The same array for a short while: deferred bytes are written for it, and go with it.
  Array loaded() const;

  // The elements; an Error unless T is their type.
  template <class T>
  std::span<const T> as() const {
    check_type(element_type_of<T>());
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<std::size_t>(count())};
  }
  template <class T>
  std::span<T> as() {
    check_type(element_type_of<T>());
    return {reinterpret_cast<T*>(bytes().data()), static_cast<std::size_t>(count())};
  }

  // Whole numbers of any integer type as int64 (uint64 beyond its range is an Error), for axes, shapes and counts.
  std::vector<std::int64_t> to_int64() const;
  std::vector<double> to_double() const;  // any type

  // The same elements under another shape of the same volume.
  Array reshaped(Shape shape) const&;
  Array reshaped(Shape shape) &&;

  bool operator==(const Array& other) const;
  std::string to_string() const;  // "[2, 3] float32"

 private:
  void check_type(ElementType wanted) const;
  void own();

  ElementType type_;
  Shape shape_;
  std::vector<std::byte> bytes_;
  std::shared_ptr<const DeferredBytes> deferred_;  // instead of bytes_
};

}  // namespace tessera
