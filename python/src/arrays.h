#pragma once

// Arrays of numpy, torch and others to host tensors and arrays, and back.

#include "tessera/core/array.h"
#include "tessera/core/tensor_from_array.h"

#include <nanobind/nanobind.h>

namespace tessera::python {

// Anything with __dlpack__, __array__ or the buffer protocol.
Tensor import_array(nanobind::handle array, const ArrayImport& how);
// Nested or flat Python numbers, in row-major order, for a tensor of this shape.
Tensor import_list(const nanobind::list& values, const Shape& shape, const ArrayImport& how);

// The elements as they are, copied once; those of other strides are gathered on the way. `wanted` is the type of
// numbers and lists, which have none of their own.
tessera::Array import_host_array(nanobind::handle array, ElementType wanted);
// A numpy array that owns the elements of x. bfloat16 needs the ml_dtypes package; without it, the same numbers in
// float32.
nanobind::object export_host_array(tessera::Array x);

// bfloat16 and block floats come out as float32, which numpy knows.
nanobind::object export_numpy(const Tensor& x);
// The tensor's own elements, bfloat16 as such; block floats come out as float32.
nanobind::object export_dlpack(const Tensor& x);
// Nested lists of Python numbers; a number for a tensor of rank 0.
nanobind::object export_list(const Tensor& x);
// The one element of a tensor.
nanobind::object export_item(const Tensor& x);

}  // namespace tessera::python
