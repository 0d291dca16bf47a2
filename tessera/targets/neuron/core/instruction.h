#pragma once

// What an instruction is told besides its views.

#include "tessera/targets/neuron/core/engine.h"
#include "tessera/targets/neuron/core/view.h"

#include <cstdint>
#include <variant>

namespace tessera::neuron {

struct KernelOptions {
  bool values = true;
  bool time = true;
};

// What nc_matmul does with what PSUM holds. `automatic`: adds where products were put before, else overwrites.
enum class Accumulate : std::uint8_t { overwrite, add, automatic };

// The second operand of tensor_scalar: a number, or one per partition ([p, 1]).
using Operand = std::variant<float, View>;

}  // namespace tessera::neuron
