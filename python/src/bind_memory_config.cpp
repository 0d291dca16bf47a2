#include "bind.h"
#include "json_text.h"
#include "shape_like.h"
#include "ttnn_enums.h"

#include "tessera/targets/tensix/card/memory_config.h"
#include "tessera/targets/tensix/card/sharded_memory_config.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <functional>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Pair = std::array<std::uint32_t, 2>;

Extent2d extent(const Pair& shape) { return {shape[0], shape[1]}; }

// Equal configs have equal hashes: what equality looks at only where both sides have it is left out.
std::size_t hash(const tensix::MemoryConfig& config) {
  std::string key = fmt::format("{} {}", name(config.layout()), name(config.buffer_type()));
  if (config.shard_spec()) key += config.shard_spec()->to_string();
  return std::hash<std::string>()(key);
}

}  // namespace

void bind_memory_config(nb::module_& module) {
  nb::class_<tensix::ShardSpec>(module, "ShardSpec", "Which cores hold a tensor, and how much of it each holds.")
      .def(
          "__init__",
          [](tensix::ShardSpec* self, const tensix::CoreRangeSet& grid, const Pair& shape,
             tensix::ShardOrientation orientation) { new (self) tensix::ShardSpec{grid, extent(shape), orientation}; },
          "grid"_a, "shard_shape"_a, "shard_orientation"_a)
      .def_rw("grid", &tensix::ShardSpec::grid)
      .def_prop_rw(
          "shape", [](const tensix::ShardSpec& s) { return std::array{s.shape.height, s.shape.width}; },
          [](tensix::ShardSpec& s, const Pair& shape) { s.shape = extent(shape); })
      .def_rw("orientation", &tensix::ShardSpec::orientation)
      .def("num_cores", &tensix::ShardSpec::num_cores)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const tensix::ShardSpec& s) { return std::hash<std::string>()(s.to_string()); })
      .def("__repr__", &tensix::ShardSpec::to_string)
      .def("to_json", [](const tensix::ShardSpec& s) { return json_text(s); });

  nb::class_<tensix::NdShardSpec>(module, "NdShardSpec", "Shards of any rank, dealt to cores.")
      .def(
          "__init__",
          [](tensix::NdShardSpec* self, const ShapeLike& shape, const tensix::CoreRangeSet& grid,
             tensix::ShardOrientation orientation, tensix::ShardDistribution distribution) {
            new (self) tensix::NdShardSpec{shape, grid, orientation, distribution};
          },
          "shard_shape"_a, "grid"_a, "orientation"_a = tensix::ShardOrientation::row_major,
          "shard_distribution_strategy"_a = tensix::ShardDistribution::round_robin_1d)
      .def_ro("shard_shape", &tensix::NdShardSpec::shard_shape)
      .def_ro("grid", &tensix::NdShardSpec::grid)
      .def_ro("orientation", &tensix::NdShardSpec::orientation)
      .def_prop_ro("shard_distribution_strategy", [](const tensix::NdShardSpec& s) { return s.distribution; })
      .def("num_cores", &tensix::NdShardSpec::num_cores)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const tensix::NdShardSpec& s) { return std::hash<std::string>()(s.to_string()); })
      .def("__repr__", &tensix::NdShardSpec::to_string);

  nb::class_<tensix::MemoryConfig>(module, "MemoryConfig",
                                   "Which memory a tensor is in and how it is spread over its banks.")
      .def(nb::init<tensix::TensorMemoryLayout, tensix::BufferType, std::optional<tensix::ShardSpec>>(),
           "memory_layout"_a = tensix::TensorMemoryLayout::interleaved, "buffer_type"_a = tensix::BufferType::dram,
           "shard_spec"_a = nb::none())
      .def(nb::init<tensix::BufferType, tensix::NdShardSpec>(), "buffer_type"_a, "nd_shard_spec"_a)
      .def_prop_ro("memory_layout", &tensix::MemoryConfig::layout)
      .def_prop_ro("buffer_type", &tensix::MemoryConfig::buffer_type)
      // Copies: a config does not change, what was read from it may.
      .def_prop_ro("shard_spec", [](const tensix::MemoryConfig& c) { return c.shard_spec(); })
      .def_prop_ro("nd_shard_spec", [](const tensix::MemoryConfig& c) { return c.nd_shard_spec(); })
      .def_prop_ro("interleaved", [](const tensix::MemoryConfig& c) { return !c.is_sharded(); })
      .def("is_sharded", &tensix::MemoryConfig::is_sharded)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(
          "__ne__", [](const tensix::MemoryConfig& a, const tensix::MemoryConfig& b) { return !(a == b); },
          nb::is_operator(), nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const tensix::MemoryConfig& c) { return hash(c); })
      .def("__repr__", &tensix::MemoryConfig::to_string)
      .def("to_json", [](const tensix::MemoryConfig& c) { return json_text(c); });

  nb::enum_<tensix::ShardStrategy>(module, "_Strategy")
      .value("HEIGHT", tensix::ShardStrategy::height)
      .value("WIDTH", tensix::ShardStrategy::width)
      .value("BLOCK", tensix::ShardStrategy::block);
  module.def(
      "_create_sharded_memory_config",
      [](const ShapeLike& shape, const tensix::CoreRangeSet& grid, tensix::ShardStrategy strategy,
         tensix::ShardOrientation orientation, bool use_height_and_width) {
        return tensix::create_sharded_memory_config({shape, grid, strategy, orientation, use_height_and_width});
      },
      "shape"_a, "grid"_a, "strategy"_a, "orientation"_a, "use_height_and_width_as_shard_shape"_a);
  module.def(
      "_create_rounded_sharded_memory_config",
      [](const ShapeLike& shape, const tensix::CoreRangeSet& grid, tensix::ShardStrategy strategy,
         tensix::ShardOrientation orientation, bool use_height_and_width, bool tile_layout) {
        return tensix::create_rounded_sharded_memory_config({shape, grid, strategy, orientation, use_height_and_width},
                                                            tile_layout);
      },
      "shape"_a, "grid"_a, "strategy"_a, "orientation"_a, "use_height_and_width_as_shard_shape"_a, "tile_layout"_a);
  module.def("_grid_cores", &tensix::CoreGrid::to_core_range_set, "grid"_a);
}

}  // namespace tessera::python
