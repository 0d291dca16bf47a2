#pragma once

// Shapes as arguments: a Shape, or any sequence of extents.

#include "tessera/core/shape.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::python {

struct ShapeLike {
  std::vector<std::int64_t> dims;
  operator Shape() const {
    return Shape(dims);
  }  // here, and not while arguments are read, so that a refusal is an Error
};

}  // namespace tessera::python

namespace nanobind::detail {

template <>
struct type_caster<tessera::python::ShapeLike> {
  using Dims = make_caster<std::vector<std::uint32_t>>;  // unsigned: a negative extent is a TypeError
  NB_TYPE_CASTER(tessera::python::ShapeLike, make_caster<tessera::Shape>::Name + const_name(" | ") + Dims::Name)

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    if (isinstance<tessera::Shape>(source)) {
      value.dims = cast<const tessera::Shape&>(source).dims();
      return true;
    }
    Dims dims;
    if (!dims.from_python(source, flags, cleanup)) return false;
    value.dims.assign(dims.value.begin(), dims.value.end());
    return true;
  }
};

}  // namespace nanobind::detail
