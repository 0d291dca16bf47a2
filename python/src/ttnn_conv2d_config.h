#pragma once

// ttnn.Conv2dConfig with two names of the TT-CNN builder that guides pass to it, though TTNN takes them elsewhere.

#include "tessera/targets/tensix/ops/conv2d/conv2d_config.h"

#include <optional>

namespace tessera::python {

struct TtnnConv2dConfig : tensix::Conv2dConfig {
  std::optional<DType> activation_dtype;  // the input is converted to it first
  std::optional<DType> output_dtype;      // where the call says none
  bool operator==(const TtnnConv2dConfig&) const = default;
};

}  // namespace tessera::python
