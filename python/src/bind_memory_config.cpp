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
std::size_t hash(const MemoryConfig& config) {
  std::string key = fmt::format("{} {}", name(config.layout()), name(config.buffer_type()));
  if (config.shard_spec()) key += config.shard_spec()->to_string();
  return std::hash<std::string>()(key);
}

}  // namespace

void bind_memory_config(nb::module_& module) {
  nb::class_<ShardSpec>(module, "ShardSpec", "Which cores hold a tensor, and how much of it each holds.")
      .def(
          "__init__",
          [](ShardSpec* self, const CoreRangeSet& grid, const Pair& shape, ShardOrientation orientation) {
            new (self) ShardSpec{grid, extent(shape), orientation};
          },
          "grid"_a, "shard_shape"_a, "shard_orientation"_a)
      .def_rw("grid", &ShardSpec::grid)
      .def_prop_rw(
          "shape", [](const ShardSpec& s) { return std::array{s.shape.height, s.shape.width}; },
          [](ShardSpec& s, const Pair& shape) { s.shape = extent(shape); })
      .def_rw("orientation", &ShardSpec::orientation)
      .def("num_cores", &ShardSpec::num_cores)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const ShardSpec& s) { return std::hash<std::string>()(s.to_string()); })
      .def("__repr__", &ShardSpec::to_string)
      .def("to_json", [](const ShardSpec& s) { return json_text(s); });

  nb::class_<NdShardSpec>(module, "NdShardSpec", "Shards of any rank, dealt to cores.")
      .def(
          "__init__",
          [](NdShardSpec* self, const ShapeLike& shape, const CoreRangeSet& grid, ShardOrientation orientation,
             ShardDistribution distribution) { new (self) NdShardSpec{shape, grid, orientation, distribution}; },
          "shard_shape"_a, "grid"_a, "orientation"_a = ShardOrientation::row_major,
          "shard_distribution_strategy"_a = ShardDistribution::round_robin_1d)
      .def_ro("shard_shape", &NdShardSpec::shard_shape)
      .def_ro("grid", &NdShardSpec::grid)
      .def_ro("orientation", &NdShardSpec::orientation)
      .def_prop_ro("shard_distribution_strategy", [](const NdShardSpec& s) { return s.distribution; })
      .def("num_cores", &NdShardSpec::num_cores)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const NdShardSpec& s) { return std::hash<std::string>()(s.to_string()); })
      .def("__repr__", &NdShardSpec::to_string);

  nb::class_<MemoryConfig>(module, "MemoryConfig", "Which memory a tensor is in and how it is spread over its banks.")
      .def(nb::init<TensorMemoryLayout, BufferType, std::optional<ShardSpec>>(),
           "memory_layout"_a = TensorMemoryLayout::interleaved, "buffer_type"_a = BufferType::dram,
           "shard_spec"_a = nb::none())
      .def(nb::init<BufferType, NdShardSpec>(), "buffer_type"_a, "nd_shard_spec"_a)
      .def_prop_ro("memory_layout", &MemoryConfig::layout)
      .def_prop_ro("buffer_type", &MemoryConfig::buffer_type)
      // Copies: a config does not change, what was read from it may.
      .def_prop_ro("shard_spec", [](const MemoryConfig& c) { return c.shard_spec(); })
      .def_prop_ro("nd_shard_spec", [](const MemoryConfig& c) { return c.nd_shard_spec(); })
      .def_prop_ro("interleaved", [](const MemoryConfig& c) { return !c.is_sharded(); })
      .def("is_sharded", &MemoryConfig::is_sharded)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(
          "__ne__", [](const MemoryConfig& a, const MemoryConfig& b) { return !(a == b); }, nb::is_operator(),
          nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const MemoryConfig& c) { return hash(c); })
      .def("__repr__", &MemoryConfig::to_string)
      .def("to_json", [](const MemoryConfig& c) { return json_text(c); });

  nb::enum_<ShardStrategy>(module, "_Strategy")
      .value("HEIGHT", ShardStrategy::height)
      .value("WIDTH", ShardStrategy::width)
      .value("BLOCK", ShardStrategy::block);
  module.def(
      "_create_sharded_memory_config",
      [](const ShapeLike& shape, const CoreRangeSet& grid, ShardStrategy strategy, ShardOrientation orientation,
         bool use_height_and_width) {
        return create_sharded_memory_config({shape, grid, strategy, orientation, use_height_and_width});
      },
      "shape"_a, "grid"_a, "strategy"_a, "orientation"_a, "use_height_and_width_as_shard_shape"_a);
  module.def(
      "_create_rounded_sharded_memory_config",
      [](const ShapeLike& shape, const CoreRangeSet& grid, ShardStrategy strategy, ShardOrientation orientation,
         bool use_height_and_width, bool tile_layout) {
        return create_rounded_sharded_memory_config({shape, grid, strategy, orientation, use_height_and_width},
                                                    tile_layout);
      },
      "shape"_a, "grid"_a, "strategy"_a, "orientation"_a, "use_height_and_width_as_shard_shape"_a, "tile_layout"_a);
  module.def("_grid_cores", &CoreGrid::to_core_range_set, "grid"_a);
}

}  // namespace tessera::python
