#pragma once

#include "tessera/graph/tensor_type.h"

#include <string>

namespace tessera {

// An input or output of a network: its name, and its type as far as the model tells.
struct Port {
  std::string name;
  TensorType type;
};

}  // namespace tessera
