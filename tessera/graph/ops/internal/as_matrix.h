#pragma once

#include <cstdint>
#include <vector>

namespace tessera::internal {

// Extents as NumPy multiplies them: a vector on the left is a row, on the right a column.
inline std::vector<std::int64_t> as_matrix(std::vector<std::int64_t> dims, bool left) {
  if (dims.size() == 1) dims.insert(left ? dims.begin() : dims.end(), 1);
  return dims;
}

}  // namespace tessera::internal
