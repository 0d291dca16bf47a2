#pragma once

// What the drawing and the page share: one look for every segment, and the map of cores and banks.

#include "tessera/targets/tensix/views/memory_column.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

// Equal columns are kept once; most cores look the same.
struct MemoryColumns {
  explicit MemoryColumns(const MemoryState& state);
  const MemoryColumn& of_core(int core) const {
    return distinct[static_cast<std::size_t>(cores[static_cast<std::size_t>(core)])];
  }
  const MemoryColumn& of_bank(int bank) const {
    return distinct[static_cast<std::size_t>(banks[static_cast<std::size_t>(bank)])];
  }

  std::vector<MemoryColumn> distinct;
  std::vector<int> cores;  // position in `distinct`
  std::vector<int> banks;
};

// How a segment, or the swatch of one, is painted.
struct Paint {
  std::string css_class;
  std::string fill;  // a pattern, or nothing where the class says it
};
Paint paint_of(SegmentKind kind, int index);
std::string paint(SegmentKind kind, int index);  // as attributes: class="b3"

// Patterns that paints refer to, for a <defs> element.
std::string paint_patterns(const MemoryState& state);

// Rules for the classes that paints and the map use, light and dark.
std::string_view drawing_style();

struct Drawing {
  std::string elements;  // to stand in an <svg> element
  double width = 0;
  double height = 0;
  double cores_width = 0;  // right of the cores and above the banks there may be room
  double cores_height = 0;
};

// The core grid and the DRAM banks from (0, 0) on. Cells of an interactive map take the focus and carry data-core or
// data-bank, and it is no wider than the cores; those of a still one have a <title>.
Drawing draw_map(const MemoryState& state, const MemoryColumns& columns, bool interactive);

}  // namespace tessera::tensix
