#pragma once

// Sub-devices: sets of a device's cores that programs can be confined to.

#include "any_tensor.h"
#include "ops/optional_arguments.h"

#include <optional>

namespace tessera::python {

struct SubDeviceId {
  int value = 0;
  bool operator==(const SubDeviceId&) const = default;
};
using OptionalSubDevice = std::optional<SubDeviceId>;

// The cores that an operator on x works on: those that are given, or of a sub-device, or, where sub-devices are loaded
// and nobody says, of the first one. None: all.
OptionalCores cores_of(std::string_view op, const AnyTensor& x, const OptionalCores& cores,
                       const OptionalSubDevice& sub_device);

}  // namespace tessera::python
