#pragma once

// Which gelu: Accurate and FastLut are one here, the exact one.

#include "tessera/core/error.h"

#include <cstdint>
#include <string>

namespace tessera::python {

enum class GeluVariant : std::uint8_t { Accurate, FastLut, Tanh };

// "none" or "tanh", as PyTorch has it.
inline GeluVariant gelu_variant(const std::string& approximate) {
  check(approximate == "none" || approximate == "tanh", Code::invalid_argument,
        "approximate is '{}', it can be 'none' or 'tanh'", approximate);
  return approximate == "tanh" ? GeluVariant::Tanh : GeluVariant::Accurate;
}

}  // namespace tessera::python
