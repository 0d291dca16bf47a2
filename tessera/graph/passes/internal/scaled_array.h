#pragma once

#include "tessera/core/array.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::internal {

// A float32 array times factors: runs of `run` elements have one each, and after the last run that has one of its own
// the first begins again. Each product is rounded once. Large results are deferred: only who needs them makes them, and
// in place of the old weights there are not two.
//
// None if a result is not finite.
std::optional<Array> scaled_array(const std::shared_ptr<const Array>& array, std::int64_t run,
                                  std::vector<double> factors);

}  // namespace tessera::internal
