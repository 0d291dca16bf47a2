#pragma once

#include "tessera/core/export.h"

#include <cstdint>
#include <string_view>

namespace tessera::neuron {

enum class Engine : std::uint8_t { tensor, vector, scalar, gpsimd, dma };
TSR_API std::string_view name(Engine engine);

enum class MathOp : std::uint8_t { copy, add, subtract, multiply, divide, max, min };
TSR_API std::string_view name(MathOp op);

enum class Function : std::uint8_t {
  identity,
  relu,
  exp,
  tanh,
  sigmoid,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  log,
  abs,
  silu
};
TSR_API std::string_view name(Function function);

}  // namespace tessera::neuron
