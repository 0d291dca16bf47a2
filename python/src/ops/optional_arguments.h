#pragma once

// Arguments that most operators of the card take and few callers give.

#include "any_tensor.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/core_grid.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <optional>
#include <string_view>

namespace tessera::python {

using OptionalConfig = std::optional<tensix::MemoryConfig>;
using OptionalTensor = std::optional<AnyTensor>;
using OptionalCores = std::optional<tensix::CoreRangeSet>;

// Cores that are to work on x instead of all of its device's: they must be there. Results are the same.
inline void check_cores(std::string_view op, const OptionalCores& cores, const AnyTensor& x) {
  if (!cores) return;
  const tensix::CoreGrid grid = x.device(op).device()->grid();
  const tensix::CoreRange box = cores->bounding_box();
  check(box.end.x < grid.x && box.end.y < grid.y, Code::invalid_argument,
        "{}: the cores {} are not all among the {} x {} of the device", op, cores->to_string(), grid.x, grid.y);
}

inline std::optional<tensix::DeviceTensor> device_tensor(const OptionalTensor& x, std::string_view what) {
  return x ? std::optional(x->device(what)) : std::nullopt;
}

}  // namespace tessera::python
