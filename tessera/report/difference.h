#pragma once

#include "tessera/core/array.h"
#include "tessera/core/export.h"

#include <cstdint>
#include <optional>

namespace tessera {

// How far a value is from what it should be. Two NaN in the same place agree, and so do two infinities of one sign;
// otherwise either makes the error infinite.
struct Difference {
  bool same_form = true;  // type and shape; without, the rest says nothing
  double max_abs = 0;
  double max_relative = 0;         // max_abs over the largest magnitude that is expected; infinite if only that is 0
  std::optional<double> pcc;       // Pearson's correlation; none for fewer than two elements or a constant
  std::int64_t worst = 0;          // position of max_abs, row-major
  double found = 0, expected = 0;  // there

  bool within(double tolerance) const { return same_form && max_relative <= tolerance; }
};

TSR_API Difference difference(const Array& found, const Array& expected);

}  // namespace tessera
