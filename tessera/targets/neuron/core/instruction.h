#pragma once

// What an instruction is told besides its views.

#include "tessera/targets/neuron/core/engine.h"
#include "tessera/targets/neuron/core/view.h"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace tessera::neuron {

// By tile, in the order in which a kernel makes those on chip: the last instruction that uses it; -1: none does.
using Lifetimes = std::vector<std::int64_t>;

struct KernelOptions {
  bool values = true;
  bool time = true;
  // Memory without end: to learn lifetimes. With those a tile's memory is free behind its last use, as compilers know
  // it, and not only when the kernel lets go of it.
  bool endless_memory = false;
  std::shared_ptr<const Lifetimes> lifetimes = nullptr;
};

// What nc_matmul does with what PSUM holds. `automatic`: adds where products were put before, else overwrites.
// `where_written`: adds where anything was written, else overwrites.
enum class Accumulate : std::uint8_t { overwrite, add, automatic, where_written };

// The second operand of tensor_scalar: a number, or one per partition ([p, 1]).
using Operand = std::variant<float, View>;

}  // namespace tessera::neuron
