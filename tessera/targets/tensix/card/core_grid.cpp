#include "tessera/targets/tensix/card/core_grid.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera::tensix {

std::string CoreCoord::to_string() const { return fmt::format("{}-{}", x, y); }

CoreRange::CoreRange(CoreCoord first, CoreCoord last) : start(first), end(last) {
  if (start.x < 0 || start.y < 0)
    fail(Code::invalid_argument, "core range [{} - {}] has a negative coordinate", start.to_string(), end.to_string());
  if (end.x < start.x || end.y < start.y)
    fail(Code::invalid_argument, "core range [{} - {}] ends before it starts", start.to_string(), end.to_string());
}

bool CoreRange::contains(const CoreCoord& core) const {
  return core.x >= start.x && core.x <= end.x && core.y >= start.y && core.y <= end.y;
}

bool CoreRange::contains(const CoreRange& other) const { return contains(other.start) && contains(other.end); }

bool CoreRange::intersects(const CoreRange& other) const {
  return start.x <= other.end.x && other.start.x <= end.x && start.y <= other.end.y && other.start.y <= end.y;
}

std::string CoreRange::to_string() const { return fmt::format("[{} - {}]", start.to_string(), end.to_string()); }

CoreRangeSet::CoreRangeSet(std::vector<CoreRange> ranges) : ranges_(std::move(ranges)) {
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    for (std::size_t j = i + 1; j < ranges_.size(); ++j)
      if (ranges_[i].intersects(ranges_[j]))
        fail(Code::invalid_argument, "core ranges {} and {} overlap, a CoreRangeSet holds every core once",
             ranges_[i].to_string(), ranges_[j].to_string());
}

std::int64_t CoreRangeSet::num_cores() const {
  std::int64_t count = 0;
  for (const CoreRange& range : ranges_) count += range.num_cores();
  return count;
}

bool CoreRangeSet::contains(const CoreCoord& core) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const CoreRange& range) { return range.contains(core); });
}

bool CoreRangeSet::contains(const CoreRange& range) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const CoreRange& mine) { return mine.contains(range); });
}

CoreRange CoreRangeSet::bounding_box() const {
  check(!ranges_.empty(), Code::invalid_argument, "an empty CoreRangeSet has no bounding box");
  CoreRange box = ranges_.front();
  for (const CoreRange& range : ranges_) {
    box.start = {std::min(box.start.x, range.start.x), std::min(box.start.y, range.start.y)};
    box.end = {std::max(box.end.x, range.end.x), std::max(box.end.y, range.end.y)};
  }
  return box;
}

CoreRangeSet CoreRangeSet::merged() const {
  if (ranges_.empty()) return {};
  const CoreRange box = bounding_box();
  std::vector<CoreRange> done, open;  // open: rectangles that reach the row above
  for (int y = box.start.y; y <= box.end.y; ++y) {
    std::vector<CoreRange> row;
    for (int x = box.start.x; x <= box.end.x; ++x) {
      if (!contains(CoreCoord{x, y})) continue;
      if (!row.empty() && row.back().end.x == x - 1)
        row.back().end.x = x;
      else
        row.emplace_back(CoreCoord{x, y}, CoreCoord{x, y});
    }
    for (CoreRange& run : row) {
      const auto above = std::find_if(open.begin(), open.end(), [&](const CoreRange& range) {
        return range.start.x == run.start.x && range.end.x == run.end.x;
      });
      if (above == open.end()) continue;
      run.start.y = above->start.y;
      open.erase(above);
    }
    done.insert(done.end(), open.begin(), open.end());
    open = std::move(row);
  }
  done.insert(done.end(), open.begin(), open.end());
  std::sort(done.begin(), done.end());
  return CoreRangeSet(std::move(done));
}

CoreRangeSet CoreRangeSet::merged_with(const CoreRangeSet& other) const {
  CoreRangeSet both;  // may overlap until merged() has gone over it
  both.ranges_ = ranges_;
  both.ranges_.insert(both.ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  return both.merged();
}

CoreRangeSet CoreRangeSet::without(const CoreRangeSet& other) const {
  std::vector<CoreRange> left = merged().ranges_;
  for (const CoreRange& hole : other.ranges_) {
    std::vector<CoreRange> next;
    for (const CoreRange& range : left) {
      if (!range.intersects(hole)) {
        next.push_back(range);
        continue;
      }
      const CoreCoord low{std::max(range.start.x, hole.start.x), std::max(range.start.y, hole.start.y)};
      const CoreCoord high{std::min(range.end.x, hole.end.x), std::min(range.end.y, hole.end.y)};
      if (range.start.x < low.x) next.emplace_back(range.start, CoreCoord{low.x - 1, range.end.y});
      if (high.x < range.end.x) next.emplace_back(CoreCoord{high.x + 1, range.start.y}, range.end);
      if (range.start.y < low.y) next.emplace_back(CoreCoord{low.x, range.start.y}, CoreCoord{high.x, low.y - 1});
      if (high.y < range.end.y) next.emplace_back(CoreCoord{low.x, high.y + 1}, CoreCoord{high.x, range.end.y});
    }
    left = std::move(next);
  }
  return CoreRangeSet(std::move(left));
}

std::vector<CoreCoord> CoreRangeSet::cores(bool row_wise) const {
  std::vector<CoreCoord> out;
  out.reserve(static_cast<std::size_t>(num_cores()));
  for (const CoreRange& range : ranges_) {
    if (row_wise) {
      for (int y = range.start.y; y <= range.end.y; ++y)
        for (int x = range.start.x; x <= range.end.x; ++x) out.push_back({x, y});
    } else {
      for (int x = range.start.x; x <= range.end.x; ++x)
        for (int y = range.start.y; y <= range.end.y; ++y) out.push_back({x, y});
    }
  }
  return out;
}

std::string CoreRangeSet::to_string() const {
  std::string text = "{";
  for (const CoreRange& range : ranges_) text += (text.size() > 1 ? ", " : "") + range.to_string();
  return text + "}";
}

CoreRangeSet CoreGrid::to_core_range_set() const { return CoreRange({0, 0}, {x - 1, y - 1}); }

namespace {

// The column-wise walk is the row-wise walk of the transposed grid.
CoreRange transposed(const CoreRange& range) { return {{range.start.y, range.start.x}, {range.end.y, range.end.x}}; }

std::vector<CoreRange> row_wise_ranges(CoreCoord start, std::int64_t count, int columns) {
  std::vector<CoreRange> ranges;
  CoreCoord at = start;
  const int rest_of_row = columns - at.x;
  if (at.x != 0 && count > rest_of_row) {
    ranges.emplace_back(at, CoreCoord{columns - 1, at.y});
    count -= rest_of_row;
    at = {0, at.y + 1};
  }
  if (count > columns) {
    const int rows = static_cast<int>(count / columns);
    ranges.emplace_back(at, CoreCoord{columns - 1, at.y + rows - 1});
    count -= std::int64_t{rows} * columns;
    at.y += rows;
  }
  if (count > 0) ranges.emplace_back(at, CoreCoord{at.x + static_cast<int>(count) - 1, at.y});
  return ranges;
}

}  // namespace

CoreRangeSet num_cores_to_corerangeset(CoreCoord start, std::int64_t count, CoreGrid grid, bool row_wise) {
  if (start.x < 0 || start.y < 0 || start.x >= grid.x || start.y >= grid.y)
    fail(Code::invalid_argument, "start core {} is outside the grid of {} columns and {} rows", start.to_string(),
         grid.x, grid.y);
  const CoreCoord s = row_wise ? start : CoreCoord{start.y, start.x};
  const int columns = row_wise ? grid.x : grid.y;
  const int rows = row_wise ? grid.y : grid.x;
  const std::int64_t available = std::int64_t{rows - 1 - s.y} * columns + (columns - s.x);
  if (count > available)
    fail(Code::invalid_argument, "{} cores were asked for, the grid has {} from the start core on", count, available);
  std::vector<CoreRange> ranges = row_wise_ranges(s, count, columns);
  if (!row_wise)
    for (CoreRange& range : ranges) range = transposed(range);
  return CoreRangeSet(std::move(ranges));
}

CoreRangeSet num_cores_to_corerangeset_in_subcoregrids(CoreCoord start, std::int64_t count,
                                                       const CoreRangeSet& subgrids, bool row_wise) {
  check(count > 0, Code::invalid_argument, "{} cores were asked for, at least one is needed", count);
  const std::int64_t wanted = count;
  if (wanted > subgrids.num_cores())
    fail(Code::invalid_argument, "{} cores were asked for, the set has {}", wanted, subgrids.num_cores());
  if (!subgrids.contains(start))
    fail(Code::invalid_argument, "start core {} is not in {}", start.to_string(), subgrids.to_string());
  std::vector<CoreRange> ranges;
  bool started = false;
  for (const CoreRange& grid : subgrids.ranges()) {
    CoreCoord from = grid.start;
    if (!started) {
      if (!grid.contains(start)) continue;
      started = true;
      from = start;
    }
    const CoreCoord origin = row_wise ? grid.start : CoreCoord{grid.start.y, grid.start.x};
    const CoreCoord s = row_wise ? from : CoreCoord{from.y, from.x};
    const int columns = row_wise ? grid.columns() : grid.rows();
    const int rows = row_wise ? grid.rows() : grid.columns();
    const CoreCoord local{s.x - origin.x, s.y - origin.y};
    const std::int64_t here =
        std::min<std::int64_t>(count, std::int64_t{rows - 1 - local.y} * columns + (columns - local.x));
    for (CoreRange range : row_wise_ranges(local, here, columns)) {
      range.start = {range.start.x + origin.x, range.start.y + origin.y};
      range.end = {range.end.x + origin.x, range.end.y + origin.y};
      ranges.push_back(row_wise ? range : transposed(range));
    }
    count -= here;
    if (count == 0) break;
  }
  if (count > 0)
    fail(Code::invalid_argument, Hint{"start at an earlier core: ranges before the start core are not used"},
         "{} cores were asked for, and {} of them are missing after the last range of {}", wanted, count,
         subgrids.to_string());
  return CoreRangeSet(std::move(ranges));
}

}  // namespace tessera::tensix
