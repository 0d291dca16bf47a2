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
tensix::CoreCoord coord(std::uint32_t x, std::uint32_t y) {
  constexpr std::uint32_t kMax = std::numeric_limits<int>::max();
  check(x <= kMax && y <= kMax, Code::invalid_argument, "core ({}, {}) is on no grid", x, y);
  return {static_cast<int>(x), static_cast<int>(y)};
}

// The same for any order of the ranges.
std::size_t hash(const tensix::CoreRangeSet& set) {
  std::size_t sum = set.ranges().size();
  for (const tensix::CoreRange& range : set.ranges()) sum += std::hash<std::string>()(range.to_string());
  return sum;
}

tensix::CoreGrid grid_of(const tensix::CoreCoord& size) { return {size.y, size.x}; }

std::vector<tensix::CoreCoord> corerange_to_cores(const tensix::CoreRangeSet& set,
                                                  std::optional<std::uint32_t> max_cores, bool row_wise) {
  std::vector<tensix::CoreCoord> cores = set.cores(row_wise);
  if (max_cores && *max_cores < cores.size()) cores.resize(*max_cores);
  return cores;
}

}  // namespace

void bind_core_grid(nb::module_& module) {
  nb::class_<tensix::CoreCoord>(module, "CoreCoord", "A core: column x, row y.")
      .def(
          "__init__",
          [](tensix::CoreCoord* self, std::uint32_t x, std::uint32_t y) { new (self) tensix::CoreCoord(coord(x, y)); },
          "x"_a, "y"_a)
      .def(
          "__init__",
          [](tensix::CoreCoord* self, std::pair<std::uint32_t, std::uint32_t> xy) {
            new (self) tensix::CoreCoord(coord(xy.first, xy.second));
          },
          "xy"_a)
      .def_ro("x", &tensix::CoreCoord::x)
      .def_ro("y", &tensix::CoreCoord::y)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const tensix::CoreCoord& c) { return std::hash<std::string>()(c.to_string()); })
      .def("__repr__", &tensix::CoreCoord::to_string)
      .def("to_json", [](const tensix::CoreCoord& c) { return json_text(c); });

  nb::class_<tensix::CoreRange>(module, "CoreRange", "Every core from start to end, both included.")
      .def(nb::init<tensix::CoreCoord, tensix::CoreCoord>(), "start"_a, "end"_a)
      .def(
          "__init__",
          [](tensix::CoreRange* self, std::pair<std::uint32_t, std::uint32_t> start,
             std::pair<std::uint32_t, std::uint32_t> end) {
            new (self) tensix::CoreRange(coord(start.first, start.second), coord(end.first, end.second));
          },
          "start"_a, "end"_a)
      .def_ro("start", &tensix::CoreRange::start)
      .def_ro("end", &tensix::CoreRange::end)
      .def("grid_size", [](const tensix::CoreRange& r) { return tensix::CoreCoord{r.columns(), r.rows()}; })
      .def(
          "contains", [](const tensix::CoreRange& r, const tensix::CoreCoord& core) { return r.contains(core); },
          "core"_a)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const tensix::CoreRange& r) { return std::hash<std::string>()(r.to_string()); })
      .def("__repr__", &tensix::CoreRange::to_string)
      .def("to_json", [](const tensix::CoreRange& r) { return json_text(r); });

  nb::class_<tensix::CoreRangeSet>(module, "CoreRangeSet", "Ranges of cores that do not overlap, in the order given.")
      .def(nb::init<std::vector<tensix::CoreRange>>(), "core_ranges"_a)
      .def(
          "__init__",
          [](tensix::CoreRangeSet* self, const std::set<tensix::CoreRange>& ranges) {
            new (self) tensix::CoreRangeSet(std::vector<tensix::CoreRange>(ranges.begin(), ranges.end()));
          },
          "core_ranges"_a)
      .def("ranges", &tensix::CoreRangeSet::ranges)
      .def("num_cores", &tensix::CoreRangeSet::num_cores)
      .def(
          "size", [](const tensix::CoreRangeSet& s) { return s.ranges().size(); }, "The number of ranges.")
      .def("empty", &tensix::CoreRangeSet::empty)
      .def("bounding_box", &tensix::CoreRangeSet::bounding_box)
      .def(
          "contains", [](const tensix::CoreRangeSet& s, const tensix::CoreCoord& core) { return s.contains(core); },
          "core"_a)
      .def(
          "contains", [](const tensix::CoreRangeSet& s, const tensix::CoreRange& range) { return s.contains(range); },
          "range"_a)
      .def("merge", &tensix::CoreRangeSet::merged_with, "other"_a, "The cores of both, as few ranges as rows allow.")
      .def("subtract", &tensix::CoreRangeSet::without, "other"_a)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const tensix::CoreRangeSet& s) { return hash(s); })
      .def("__repr__", &tensix::CoreRangeSet::to_string)
      .def("to_json", [](const tensix::CoreRangeSet& s) { return json_text(s); });

  nb::class_<tensix::CoreGrid>(module, "CoreGrid", "A grid that starts at core (0, 0).")
      .def(
          "__init__", [](tensix::CoreGrid* self, int x, int y) { new (self) tensix::CoreGrid{y, x}; }, nb::kw_only(),
          "x"_a, "y"_a)
      .def_ro("x", &tensix::CoreGrid::x)
      .def_ro("y", &tensix::CoreGrid::y)
      .def_prop_ro("num_cores", &tensix::CoreGrid::num_cores)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, arg: object, /) -> bool"))
      .def("__hash__",
           [](const tensix::CoreGrid& g) { return std::hash<std::int64_t>()((std::int64_t{g.x} << 32) + g.y); })
      .def("__repr__", [](const tensix::CoreGrid& g) { return fmt::format("ttnn.CoreGrid(x={}, y={})", g.x, g.y); });

  module.def(
      "num_cores_to_corerangeset",
      [](std::uint32_t count, const tensix::CoreCoord& grid_size, bool row_wise) {
        return tensix::num_cores_to_corerangeset({0, 0}, count, grid_of(grid_size), row_wise);
      },
      "target_num_cores"_a, "grid_size"_a, "row_wise"_a = false,
      "The first cores of a grid, column by column or row by row, in at most two ranges.");
  module.def(
      "num_cores_to_corerangeset",
      [](std::uint32_t count, std::pair<std::uint32_t, std::uint32_t> grid_size, bool row_wise) {
        return tensix::num_cores_to_corerangeset({0, 0}, count, grid_of(coord(grid_size.first, grid_size.second)),
                                                 row_wise);
      },
      "target_num_cores"_a, "grid_size"_a, "row_wise"_a = false);
  module.def(
      "num_cores_to_corerangeset_in_subcoregrids",
      [](const tensix::CoreCoord& start, std::uint32_t count, const tensix::CoreRangeSet& subgrids, bool row_wise) {
        return tensix::num_cores_to_corerangeset_in_subcoregrids(start, count, subgrids, row_wise);
      },
      "start_core"_a, "target_num_cores"_a, "sub_core_grids"_a, "row_wise"_a = false);
  module.def("corerange_to_cores", &corerange_to_cores, "crs"_a, "max_cores"_a = nb::none(), "row_wise"_a = false,
             "The cores of a set, range by range.");
}

}  // namespace tessera::python
