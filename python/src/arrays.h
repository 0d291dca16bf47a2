#pragma once

// Arrays of numpy, torch and others to host tensors and back.

#include "tessera/core/tensor_from_array.h"

#include <nanobind/nanobind.h>

namespace tessera::python {

// Anything with __dlpack__, __array__ or the buffer protocol.
Tensor import_array(nanobind::handle array, const ArrayImport& how);
// Nested or flat Python numbers, in row-major order, for a tensor of this shape.
Tensor import_list(const nanobind::list& values, const Shape& shape, const ArrayImport& how);

// bfloat16 and block floats come out as float32, which numpy knows.
nanobind::object export_numpy(const Tensor& x);
// The tensor's own elements, bfloat16 as such; block floats come out as float32.
nanobind::object export_dlpack(const Tensor& x);
// Nested lists of Python numbers; a number for a tensor of rank 0.
nanobind::object export_list(const Tensor& x);
// The one element of a tensor.
nanobind::object export_item(const Tensor& x);

}  // namespace tessera::python
