#include "bind.h"
#include "json_text.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/core_grid.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// Unsigned in Python's signatures, so that a negative coordinate is a TypeError, as in TTNN.
CoreCoord coord(std::uint32_t x, std::uint32_t y) {
  constexpr std::uint32_t kMax = std::numeric_limits<int>::max();
  check(x <= kMax && y <= kMax, Code::invalid_argument, "core ({}, {}) is on no grid", x, y);
  return {static_cast<int>(x), static_cast<int>(y)};
}

// The same for any order of the ranges.
std::size_t hash(const CoreRangeSet& set) {
  std::size_t sum = set.ranges().size();
  for (const CoreRange& range : set.ranges()) sum += std::hash<std::string>()(range.to_string());
  return sum;
}

CoreGrid grid_of(const CoreCoord& size) { return {size.y, size.x}; }

std::vector<CoreCoord> corerange_to_cores(const CoreRangeSet& set, std::optional<std::uint32_t> max_cores,
                                          bool row_wise) {
  std::vector<CoreCoord> cores = set.cores(row_wise);
  if (max_cores && *max_cores < cores.size()) cores.resize(*max_cores);
  return cores;
}

}  // namespace

void bind_core_grid(nb::module_& module) {
  nb::class_<CoreCoord>(module, "CoreCoord", "A core: column x, row y.")
      .def(
          "__init__", [](CoreCoord* self, std::uint32_t x, std::uint32_t y) { new (self) CoreCoord(coord(x, y)); },
          "x"_a, "y"_a)
      .def(
          "__init__",
          [](CoreCoord* self, std::pair<std::uint32_t, std::uint32_t> xy) {
            new (self) CoreCoord(coord(xy.first, xy.second));
          },
          "xy"_a)
      .def_ro("x", &CoreCoord::x)
      .def_ro("y", &CoreCoord::y)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const CoreCoord& c) { return std::hash<std::string>()(c.to_string()); })
      .def("__repr__", &CoreCoord::to_string)
      .def("to_json", [](const CoreCoord& c) { return json_text(c); });

  nb::class_<CoreRange>(module, "CoreRange", "Every core from start to end, both included.")
      .def(nb::init<CoreCoord, CoreCoord>(), "start"_a, "end"_a)
      .def_ro("start", &CoreRange::start)
      .def_ro("end", &CoreRange::end)
      .def("grid_size", [](const CoreRange& r) { return CoreCoord{r.columns(), r.rows()}; })
      .def(
          "contains", [](const CoreRange& r, const CoreCoord& core) { return r.contains(core); }, "core"_a)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const CoreRange& r) { return std::hash<std::string>()(r.to_string()); })
      .def("__repr__", &CoreRange::to_string)
      .def("to_json", [](const CoreRange& r) { return json_text(r); });

  nb::class_<CoreRangeSet>(module, "CoreRangeSet", "Ranges of cores that do not overlap, in the order given.")
      .def(nb::init<std::vector<CoreRange>>(), "core_ranges"_a)
      .def(
          "__init__",
          [](CoreRangeSet* self, const std::set<CoreRange>& ranges) {
            new (self) CoreRangeSet(std::vector<CoreRange>(ranges.begin(), ranges.end()));
          },
          "core_ranges"_a)
      .def("ranges", &CoreRangeSet::ranges)
      .def("num_cores", &CoreRangeSet::num_cores)
      .def(
          "size", [](const CoreRangeSet& s) { return s.ranges().size(); }, "The number of ranges.")
      .def("empty", &CoreRangeSet::empty)
      .def("bounding_box", &CoreRangeSet::bounding_box)
      .def(
          "contains", [](const CoreRangeSet& s, const CoreCoord& core) { return s.contains(core); }, "core"_a)
      .def(
          "contains", [](const CoreRangeSet& s, const CoreRange& range) { return s.contains(range); }, "range"_a)
      .def("merge", &CoreRangeSet::merged_with, "other"_a, "The cores of both, as few ranges as rows allow.")
      .def("subtract", &CoreRangeSet::without, "other"_a)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const CoreRangeSet& s) { return hash(s); })
      .def("__repr__", &CoreRangeSet::to_string)
      .def("to_json", [](const CoreRangeSet& s) { return json_text(s); });

  nb::class_<CoreGrid>(module, "CoreGrid", "A grid that starts at core (0, 0).")
      .def(
          "__init__", [](CoreGrid* self, int x, int y) { new (self) CoreGrid{y, x}; }, nb::kw_only(), "x"_a, "y"_a)
      .def_ro("x", &CoreGrid::x)
      .def_ro("y", &CoreGrid::y)
      .def_prop_ro("num_cores", &CoreGrid::num_cores)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const CoreGrid& g) { return std::hash<std::int64_t>()((std::int64_t{g.x} << 32) + g.y); })
      .def("__repr__", [](const CoreGrid& g) { return fmt::format("ttnn.CoreGrid(x={}, y={})", g.x, g.y); });

  module.def(
      "num_cores_to_corerangeset",
      [](std::uint32_t count, const CoreCoord& grid_size, bool row_wise) {
        return num_cores_to_corerangeset({0, 0}, count, grid_of(grid_size), row_wise);
      },
      "target_num_cores"_a, "grid_size"_a, "row_wise"_a = false,
      "The first cores of a grid, column by column or row by row, in at most two ranges.");
  module.def(
      "num_cores_to_corerangeset",
      [](std::uint32_t count, std::pair<std::uint32_t, std::uint32_t> grid_size, bool row_wise) {
        return num_cores_to_corerangeset({0, 0}, count, grid_of(coord(grid_size.first, grid_size.second)), row_wise);
      },
      "target_num_cores"_a, "grid_size"_a, "row_wise"_a = false);
  module.def(
      "num_cores_to_corerangeset_in_subcoregrids",
      [](const CoreCoord& start, std::uint32_t count, const CoreRangeSet& subgrids, bool row_wise) {
        return num_cores_to_corerangeset_in_subcoregrids(start, count, subgrids, row_wise);
      },
      "start_core"_a, "target_num_cores"_a, "sub_core_grids"_a, "row_wise"_a = false);
  module.def("corerange_to_cores", &corerange_to_cores, "crs"_a, "max_cores"_a = nb::none(), "row_wise"_a = false,
             "The cores of a set, range by range.");
}

}  // namespace tessera::python
