#pragma once

#include "tessera/graph/ops/binary.h"
#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include <optional>

namespace tessera::tensix {

// Arithmetic of two operands, element by element.
struct BinaryLayer {
  Binary::Kind kind = Binary::Kind::add;
  std::optional<VectorFunction> activation;
  Constant constant;  // instead of an operand: a number, or one for each channel
  bool constant_first = false;

  const CardOp* op() const;
};

// A function of one value, for all values.
struct UnaryLayer {
  VectorFunction function;

  const CardOp* op() const;
};

}  // namespace tessera::tensix
