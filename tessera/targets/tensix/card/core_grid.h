#pragma once

// Where things are on a grid of cores: coordinates, rectangles, and sets of rectangles that do not overlap.

#include "tessera/core/export.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

struct TSR_API CoreCoord {
  int x = 0;  // column
  int y = 0;  // row
  auto operator<=>(const CoreCoord&) const = default;
  std::string to_string() const;  // "3-4"
};

// Every core from start to end, both included.
struct TSR_API CoreRange {
  CoreCoord start;
  CoreCoord end;

  CoreRange() = default;
  explicit CoreRange(CoreCoord core) : CoreRange(core, core) {}
  CoreRange(CoreCoord start, CoreCoord end);  // refuses start beyond end, and negative coordinates

  int columns() const { return end.x - start.x + 1; }
  int rows() const { return end.y - start.y + 1; }
  std::int64_t num_cores() const { return std::int64_t{columns()} * rows(); }
  bool contains(const CoreCoord& core) const;
  bool contains(const CoreRange& other) const;
  bool intersects(const CoreRange& other) const;
  auto operator<=>(const CoreRange&) const = default;
  std::string to_string() const;  // "[0-0 - 7-7]"
};

class TSR_API CoreRangeSet {
 public:
  CoreRangeSet() = default;
  CoreRangeSet(CoreRange range) : ranges_{range} {}
  explicit CoreRangeSet(std::vector<CoreRange> ranges);  // refuses ranges that overlap

  const std::vector<CoreRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  std::int64_t num_cores() const;
  bool contains(const CoreCoord& core) const;
  bool contains(const CoreRange& range) const;  // whether one of our ranges holds all of it
  CoreRange bounding_box() const;               // refuses an empty set

  // The same cores cut into the longest runs of each row, equal runs of neighbouring rows joined, sorted by their
  // start.
  CoreRangeSet merged() const;
  CoreRangeSet merged_with(const CoreRangeSet& other) const;
  CoreRangeSet without(const CoreRangeSet& other) const;

  // Range by range, each row by row (row_wise) or column by column.
  std::vector<CoreCoord> cores(bool row_wise) const;

  bool operator==(const CoreRangeSet&) const = default;
  std::string to_string() const;  // "{[0-0 - 7-6], [0-7 - 6-7]}"

 private:
  std::vector<CoreRange> ranges_;
};

// A grid that starts at (0, 0).
struct TSR_API CoreGrid {
  int y = 0;
  int x = 0;
  std::int64_t num_cores() const { return std::int64_t{x} * y; }
  CoreRangeSet to_core_range_set() const;
  auto operator<=>(const CoreGrid&) const = default;
};

// `count` cores of a grid from start on, row by row or column by column, in at most three ranges: the rest of a partial
// first line, a rectangle of full lines, a partial last line. (One full line exactly is its own last range.)
TSR_API CoreRangeSet num_cores_to_corerangeset(CoreCoord start, std::int64_t count, CoreGrid grid, bool row_wise);

// `count` cores of a set: from start to the end of its range, then the ranges after that one, never going back.
TSR_API CoreRangeSet num_cores_to_corerangeset_in_subcoregrids(CoreCoord start, std::int64_t count,
                                                               const CoreRangeSet& subgrids, bool row_wise);

}  // namespace tessera::tensix
