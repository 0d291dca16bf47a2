#pragma once

// Arguments that most operators of the card take and few callers give.

#include "any_tensor.h"

#include "tessera/targets/tensix/card/core_grid.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <optional>
#include <string_view>

namespace tessera::python {

using OptionalConfig = std::optional<tensix::MemoryConfig>;
using OptionalTensor = std::optional<AnyTensor>;
using OptionalCores = std::optional<tensix::CoreRangeSet>;

inline std::optional<tensix::DeviceTensor> device_tensor(const OptionalTensor& x, std::string_view what) {
  return x ? std::optional(x->device(what)) : std::nullopt;
}

}  // namespace tessera::python
