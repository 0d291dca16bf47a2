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
  using Orientation = tensix::ShardOrientation;
  constexpr Orientation kRowMajor = Orientation::row_major;
  nb::class_<tensix::TensorSpec>(module, "TensorSpec",
                                 "What a tensor is: shape, dtype, layout, tile and memory config, checked.")
      .def(
          "__init__",
          [](tensix::TensorSpec* self, const ShapeLike& shape, DataType dtype, Layout layout,
             tensix::BufferType buffer_type, std::optional<Tile> tile) {
            new (self) tensix::TensorSpec(shape, dtype, layout,
                                          tensix::MemoryConfig(tensix::TensorMemoryLayout::interleaved, buffer_type),
                                          tile.value_or(Tile{}));
          },
          "shape"_a, "dtype"_a, "layout"_a, "buffer_type"_a = tensix::BufferType::dram, "tile"_a = nb::none())
      .def(
          "__init__",
          [](tensix::TensorSpec* self, const ShapeLike& shape, DataType dtype, Layout layout,
             tensix::TensorMemoryLayout memory_layout, std::optional<tensix::ShardSpec> shard_spec,
             tensix::BufferType buffer_type, std::optional<Tile> tile) {
            new (self) tensix::TensorSpec(shape, dtype, layout,
                                          tensix::MemoryConfig(memory_layout, buffer_type, std::move(shard_spec)),
                                          tile.value_or(Tile{}));
          },
          "shape"_a, "dtype"_a, "layout"_a, "memory_layout"_a, "shard_spec"_a = nb::none(),
          "buffer_type"_a = tensix::BufferType::dram, "tile"_a = nb::none())
      .def(
          "__init__",
          [](tensix::TensorSpec* self, const ShapeLike& shape, DataType dtype, Layout layout,
             const tensix::NdShardSpec& shard_spec, tensix::BufferType buffer_type, std::optional<Tile> tile) {
            new (self) tensix::TensorSpec(shape, dtype, layout, tensix::MemoryConfig(buffer_type, shard_spec),
                                          tile.value_or(Tile{}));
          },
          "shape"_a, "dtype"_a, "layout"_a, "nd_shard_spec"_a, "buffer_type"_a = tensix::BufferType::dram,
          "tile"_a = nb::none())
      .def_prop_ro("shape", &tensix::TensorSpec::logical_shape)
      .def_prop_ro("padded_shape", &tensix::TensorSpec::padded_shape)
      .def_prop_ro("dtype", [](const tensix::TensorSpec& s) { return DataType{s.dtype()}; })
      .def_prop_ro("layout", &tensix::TensorSpec::layout)
      .def_prop_ro("tile", &tensix::TensorSpec::tile)
      .def_prop_ro("memory_config", &tensix::TensorSpec::memory_config)
      .def("height_sharded", &tensix::TensorSpec::height_sharded, "grid"_a, "orientation"_a = kRowMajor,
           "Rows divided over the cores, rounded up.")
      .def("width_sharded", &tensix::TensorSpec::width_sharded, "grid"_a, "orientation"_a = kRowMajor,
           "Columns divided over the cores, rounded up.")
      .def("block_sharded", &tensix::TensorSpec::block_sharded, "grid"_a, "orientation"_a = kRowMajor,
           "Rows and columns divided over the two sides of a rectangle of cores, rounded up.")
      .def(
          "block_sharded",
          [](const tensix::TensorSpec& s, const tensix::CoreRange& range, Orientation orientation) {
            return s.block_sharded(tensix::CoreRangeSet(range), orientation);
          },
          "core_range"_a, "orientation"_a = kRowMajor)
      .def(
          "sharded_across_dims",
          [](const tensix::TensorSpec& s, const std::vector<int>& dims, const tensix::CoreRangeSet& grid,
             Orientation orientation) { return s.sharded_across_dims(dims, grid, orientation); },
          "dims"_a, "grid"_a, "orientation"_a = kRowMajor,
          "The smallest shards there are along `dims`, whole ones elsewhere.")
      .def(
          "sharded_across_dims_except",
          [](const tensix::TensorSpec& s, const std::vector<int>& dims, const tensix::CoreRangeSet& grid,
             Orientation orientation) { return s.sharded_across_dims_except(dims, grid, orientation); },
          "dims"_a, "grid"_a, "orientation"_a = kRowMajor)
      .def("sharded", &tensix::TensorSpec::sharded, "nd_shard_spec"_a,
           "shard_alignment"_a = tensix::ShardAlignment::recommended)
      .def(
          "sharded",
          [](const tensix::TensorSpec& s, const ShapeLike& shape, const tensix::CoreRangeSet& grid,
             tensix::ShardAlignment alignment, Orientation orientation, tensix::ShardDistribution distribution) {
            return s.sharded(tensix::NdShardSpec{shape, grid, orientation, distribution}, alignment);
          },
          "shard_shape"_a, "grid"_a, "shard_alignment"_a = tensix::ShardAlignment::recommended,
          "orientation"_a = kRowMajor, "shard_distribution_strategy"_a = tensix::ShardDistribution::round_robin_1d)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__",
           [](const tensix::TensorSpec& s) {
             return std::hash<std::string>()(
                 fmt::format("{} {} {}", s.logical_shape().to_string(), name(s.dtype()), name(s.layout())));
           })
      .def("__repr__", &tensix::TensorSpec::to_string);
}

}  // namespace tessera::python
