#pragma once

// What operators share that look at whole tensors, whatever their pages are: elements as numbers, places along one
// dimension, and one program that reads every operand once and writes its results.

#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::tensix {

// Elements in row-major order. double holds every number that the card stores.
std::vector<double> numbers_of(const DeviceTensor& x);
// Integers wrap around, fractions pass the packer.
Tensor tensor_of(std::span<const double> values, const TensorSpec& spec);

// A tensor as `outer` blocks of `length` slices of `inner` elements, the middle one being the dimension in question.
struct AlongDim {
  std::int64_t outer = 1, length = 1, inner = 1;

  AlongDim(const Shape& shape, int dim);
  std::int64_t lines() const { return outer * inner; }
  // Element `i` of a line.
  std::size_t at(std::int64_t line, std::int64_t i) const {
    return static_cast<std::size_t>((line / inner * length + i) * inner + line % inner);
  }
};

// Distances between neighbours along each dimension of a tensor in row-major order.
std::vector<std::int64_t> strides_of(const Shape& shape);

// Coordinates of all elements, in row-major order.
class Coordinates {
 public:
  explicit Coordinates(const Shape& shape) : dims_(shape.dims()), at_(shape.dims().size(), 0) {}
  std::span<const std::int64_t> at() const { return at_; }
  void next() {
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < dims_[d]) return;
      at_[d] = 0;
    }
  }

 private:
  std::vector<std::int64_t> dims_, at_;
};

using DeviceTensors = std::vector<const DeviceTensor*>;

// Where the result of such a program lies unless somebody says otherwise: with x, or, where x is sharded, in the shards
// of x cut anew for `shape`.
MemoryConfig place_of_result(const std::optional<MemoryConfig>& wish, const DeviceTensor& x, const Shape& shape);

// Two pages of every operand and every result at a time, on all cores: refused where that does not fit beside the
// tensors in L1.
void check_whole_program_fits(const DeviceTensors& inputs, const DeviceTensors& results);
void finish_whole_program(ProgramKind kind, std::string_view op, const DeviceTensors& inputs, const DeviceTensor& y);

// A program of one result; `compute` gives its elements and is not asked on a card without values.
template <class Compute>
DeviceTensor whole_program(ProgramKind kind, std::string_view op, const DeviceTensors& inputs, DeviceTensor y,
                           Compute&& compute) {
  check_whole_program_fits(inputs, {&y});
  write_values(y, [&] { return tensor_of(std::forward<Compute>(compute)(), y.spec()); });
  finish_whole_program(kind, op, inputs, y);
  return y;
}
template <class Compute>
DeviceTensor whole_program(ProgramKind kind, std::string_view op, const DeviceTensors& inputs, const TensorSpec& result,
                           Compute&& compute) {
  return whole_program(kind, op, inputs, DeviceTensor::allocate(inputs.front()->device(), result),
                       std::forward<Compute>(compute));
}

// Refuses operands that are freed or on another device than the first.
void check_together(std::string_view op, const DeviceTensors& inputs);

}  // namespace tessera::tensix
