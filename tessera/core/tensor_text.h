#pragma once

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"

#include <string>

namespace tessera {

// The values in nested brackets, as array libraries print them: the ends of dimensions that are longer than four, "..."
// between them. Lines after the first are indented by `indent` and one column per open bracket.
TSR_API std::string values_text(const Tensor& x, int indent = 0);

}  // namespace tessera
