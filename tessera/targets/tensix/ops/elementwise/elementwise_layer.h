#pragma once

#include "tessera/graph/ops/binary.h"
#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include <cstdint>
#include <optional>

namespace tessera::tensix {

// Arithmetic of two operands, element by element.
struct BinaryLayer {
  Binary::Kind kind = Binary::Kind::add;
  std::optional<VectorFunction> activation;
  Constant constant;  // instead of an operand: a number, one for each channel, or a whole matrix of rows x channels
  bool constant_first = false;
  // Rows of the larger operand in so many groups, each with one row of the other one; 0: rows as they are.
  std::int64_t groups = 0;
  std::int64_t images = 1;      // among which the groups are dealt out
  bool first_is_small = false;  // of operands in groups

  bool has_matrix() const { return constant && constant->shape().rank() == 2; }

  const CardOp* op() const;
};

// A function of one value, for all values.
struct UnaryLayer {
  VectorFunction function;

  const CardOp* op() const;
};

}  // namespace tessera::tensix
