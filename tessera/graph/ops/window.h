#pragma once

// The sliding window that convolutions and pools share: how it lies over the spatial dimensions of N C D1 D2 ...

#include "tessera/core/export.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera {

// none: use the pads given. same_upper and same_lower: as much as makes the output ceil(input / stride), the odd one
// at the end or at the beginning. valid: no padding.
enum class AutoPad : std::uint8_t { none, same_upper, same_lower, valid };

struct Window {
  std::vector<std::int64_t> kernel = {};                   // empty: taken from the weights
  std::vector<std::int64_t> strides = {}, dilations = {};  // one per spatial dimension; empty: all 1
  std::vector<std::int64_t> pads = {};                     // all begins, then all ends; empty: all 0
  AutoPad auto_pad = AutoPad::none;

  bool operator==(const Window&) const = default;
};

// The window with every list filled in and auto_pad worked out for an input of these spatial extents. Refuses lists of
// the wrong length, strides, dilations and kernels below 1, negative pads, naming the operator.
struct ResolvedWindow {
  std::vector<std::int64_t> kernel, strides, dilations, begins, ends;
  std::vector<std::int64_t> output;  // extents, kUnknown where the input's is
};
TSR_API ResolvedWindow resolve(const Window& window, const std::vector<std::int64_t>& spatial, bool ceil_mode,
                               std::string_view op);

}  // namespace tessera
