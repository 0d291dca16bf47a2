#include "bind.h"
#include "ttnn_enums.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/core/tile.h"

#include <nanobind/make_iterator.h>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

std::string shape_text(const Shape& shape) { return "Shape(" + shape.to_string() + ")"; }

// Shapes count as having four dimensions at least: [-4] of a shorter one is 1.
std::int64_t at(const Shape& shape, int position) {
  const int rank = shape.rank(), low = -std::max(rank, 4);
  check(position >= low && position < rank, Code::invalid_argument,
        "shape index out of range: {} not in [{}, {}) of {}", position, low, rank, shape_text(shape));
  return position < -rank ? 1 : shape[position];
}

Shape to_rank(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> dims = shape.dims();
  while (dims.size() < rank) dims.insert(dims.begin(), 1);
  while (dims.size() > rank && dims.front() == 1) dims.erase(dims.begin());
  check(dims.size() == rank, Code::invalid_argument,
        "{} cannot be written with {} dimensions: only leading 1s can be left out", shape_text(shape), rank);
  return Shape(std::move(dims));
}

}  // namespace

void bind_shape(nb::module_& module) {
  nb::class_<Shape>(module, "Shape", "The dimensions of a tensor, outermost first.")
      .def(
          "__init__",
          [](Shape* self, const std::vector<std::uint32_t>& dims) {
            new (self) Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
          },
          "shape"_a)
      .def("__len__", &Shape::rank)
      .def_prop_ro("rank", &Shape::rank)
      .def("volume", &Shape::volume)
      .def("__getitem__", &at, "index"_a)
      .def(
          "__iter__",
          [](const Shape& s) { return nb::make_iterator(nb::type<Shape>(), "ShapeIterator", s.begin(), s.end()); },
          nb::keep_alive<0, 1>())
      .def("to_rank", &to_rank, "rank"_a, "The same with leading 1s added or left out.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Shape& s) { return std::hash<std::string>()(s.to_string()); })
      .def("__repr__", &shape_text);
  nb::implicitly_convertible<std::vector<std::uint32_t>, Shape>();

  nb::class_<Tile>(module, "Tile", "The block of elements that a tile machine computes on.")
      .def(
          "__init__",
          [](Tile* self, std::array<int, 2> shape) {
            const Tile tile{shape[0], shape[1]};
            check_tile(tile);
            new (self) Tile(tile);
          },
          "tile_shape"_a)
      .def_prop_ro("tile_shape", [](const Tile& t) { return std::array{t.height, t.width}; })
      .def_prop_ro("face_shape", [](const Tile& t) { return std::array{t.face_height(), t.face_width()}; })
      .def_prop_ro("num_faces", &Tile::faces)
      .def(
          "get_tile_size", [](const Tile& t, DataType dtype) { return tile_bytes(t, dtype); }, "dtype"_a,
          "Bytes of one tile.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Tile& t) { return std::hash<int>()(t.height * 64 + t.width); })
      .def("__repr__", [](const Tile& t) { return fmt::format("Tile with shape: [{}, {}]", t.height, t.width); });
}

}  // namespace tessera::python
