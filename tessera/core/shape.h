#pragma once

#include "tessera/core/export.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tessera {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) { return ceil_div(a, multiple) * multiple; }

// A matrix of elements or of tiles.
struct Extent2d {
  std::int64_t height = 0;
  std::int64_t width = 0;
  constexpr std::int64_t area() const { return height * width; }
  bool operator==(const Extent2d&) const = default;
};

// The dimensions of a tensor, outermost first: any rank up to kMaxRank, every extent >= 0, and a volume that
// fits 63 bits (checked on construction, so volume() cannot overflow).
class TSR_API Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::vector<std::int64_t>(dims)) {}
  explicit Shape(std::vector<std::int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  // Negative positions count from the end; out of range is an Error that names the shape.
  std::int64_t operator[](int position) const;
  const std::vector<std::int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  std::int64_t volume() const;  // 1 for rank 0
  // Any rank seen as a matrix: height = product of all but the last, width = the last (1 x 1 for rank 0).
  Extent2d as_2d() const;

  // "[1, 1, 32, 64]"
  std::string to_string() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

}  // namespace tessera
