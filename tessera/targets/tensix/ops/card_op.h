#pragma once

// One row for each operator of the card: all that lowering, simulation, pricing, planning and emission ask of an
// operator. The row stands in the operator's room (ops/<op>/<op>_op.cpp); card/card_ops.def lists them.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <cstdint>

namespace tessera::tensix {

struct TensorWork;

struct CardOp {
  ProgramKind kind;

  // The price. `count` fills in what a program does on its busiest core, from its tensors (ops/tensor_work.h). Null:
  // only the operator's plan can say, and a program that left it out is refused by who prices it.
  void (*count)(TensorWork& work) = nullptr;
};

#define CARD_OP(op) extern const CardOp card_op_##op;
#include "tessera/targets/tensix/card/card_ops.def"
#undef CARD_OP

// The row of a program's kind; transfers from and to the host have none, which is an internal Error.
TSR_API const CardOp& card_op(ProgramKind kind);

}  // namespace tessera::tensix
