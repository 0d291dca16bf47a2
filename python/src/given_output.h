#pragma once

// Results that are to be in a tensor that is there already.

#include "any_tensor.h"
#include "ops/optional_arguments.h"

#include <string_view>

namespace tessera::python {

// y, or a copy of it over `output` where that is given: of the same shape, dtype and layout.
AnyTensor into(std::string_view op, const tensix::DeviceTensor& y, const OptionalTensor& output);

}  // namespace tessera::python
