#include "bind.h"
#include "shape_like.h"
#include "ttnn_enums.h"

#include "tessera/targets/tensix/card/tensor_spec.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {

void bind_tensor_spec(nb::module_& module) {
  using Orientation = ShardOrientation;
  constexpr Orientation kRowMajor = Orientation::row_major;
  nb::class_<TensorSpec>(module, "TensorSpec",
                         "What a tensor is: shape, dtype, layout, tile and memory config, checked.")
      .def(
          "__init__",
          [](TensorSpec* self, const ShapeLike& shape, DataType dtype, Layout layout, BufferType buffer_type,
             std::optional<Tile> tile) {
            new (self) TensorSpec(shape, dtype, layout, MemoryConfig(TensorMemoryLayout::interleaved, buffer_type),
                                  tile.value_or(Tile{}));
          },
          "shape"_a, "dtype"_a, "layout"_a, "buffer_type"_a = BufferType::dram, "tile"_a = nb::none())
      .def(
          "__init__",
          [](TensorSpec* self, const ShapeLike& shape, DataType dtype, Layout layout, TensorMemoryLayout memory_layout,
             std::optional<ShardSpec> shard_spec, BufferType buffer_type, std::optional<Tile> tile) {
            new (self) TensorSpec(shape, dtype, layout, MemoryConfig(memory_layout, buffer_type, std::move(shard_spec)),
                                  tile.value_or(Tile{}));
          },
          "shape"_a, "dtype"_a, "layout"_a, "memory_layout"_a, "shard_spec"_a = nb::none(),
          "buffer_type"_a = BufferType::dram, "tile"_a = nb::none())
      .def(
          "__init__",
          [](TensorSpec* self, const ShapeLike& shape, DataType dtype, Layout layout, const NdShardSpec& shard_spec,
             BufferType buffer_type, std::optional<Tile> tile) {
            new (self) TensorSpec(shape, dtype, layout, MemoryConfig(buffer_type, shard_spec), tile.value_or(Tile{}));
          },
          "shape"_a, "dtype"_a, "layout"_a, "nd_shard_spec"_a, "buffer_type"_a = BufferType::dram,
          "tile"_a = nb::none())
      .def_prop_ro("shape", &TensorSpec::logical_shape)
      .def_prop_ro("padded_shape", &TensorSpec::padded_shape)
      .def_prop_ro("dtype", [](const TensorSpec& s) { return DataType{s.dtype()}; })
      .def_prop_ro("layout", &TensorSpec::layout)
      .def_prop_ro("tile", &TensorSpec::tile)
      .def_prop_ro("memory_config", &TensorSpec::memory_config)
      .def("height_sharded", &TensorSpec::height_sharded, "core_ranges"_a, "orientation"_a = kRowMajor,
           "Rows divided over the cores, rounded up.")
      .def("width_sharded", &TensorSpec::width_sharded, "core_ranges"_a, "orientation"_a = kRowMajor,
           "Columns divided over the cores, rounded up.")
      .def("block_sharded", &TensorSpec::block_sharded, "core_ranges"_a, "orientation"_a = kRowMajor,
           "Rows and columns divided over the two sides of a rectangle of cores, rounded up.")
      .def(
          "block_sharded",
          [](const TensorSpec& s, const CoreRange& range, Orientation orientation) {
            return s.block_sharded(CoreRangeSet(range), orientation);
          },
          "core_range"_a, "orientation"_a = kRowMajor)
      .def(
          "sharded_across_dims",
          [](const TensorSpec& s, const std::vector<int>& dims, const CoreRangeSet& grid, Orientation orientation) {
            return s.sharded_across_dims(dims, grid, orientation);
          },
          "dims"_a, "core_ranges"_a, "orientation"_a = kRowMajor,
          "The smallest shards there are along `dims`, whole ones elsewhere.")
      .def(
          "sharded_across_dims_except",
          [](const TensorSpec& s, const std::vector<int>& dims, const CoreRangeSet& grid, Orientation orientation) {
            return s.sharded_across_dims_except(dims, grid, orientation);
          },
          "dims"_a, "core_ranges"_a, "orientation"_a = kRowMajor)
      .def("sharded", &TensorSpec::sharded, "nd_shard_spec"_a, "shard_alignment"_a)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__",
           [](const TensorSpec& s) {
             return std::hash<std::string>()(
                 fmt::format("{} {} {}", s.logical_shape().to_string(), name(s.dtype()), name(s.layout())));
           })
      .def("__repr__", &TensorSpec::to_string);
}

}  // namespace tessera::python
