#include "tessera/targets/tensix/ops/card_op.h"

#include "tessera/core/error.h"

namespace tessera::tensix {

const CardOp& card_op(ProgramKind kind) {
  switch (kind) {
#define CARD_OP(op) \
  case ProgramKind::op: return card_op_##op;
#include "tessera/targets/tensix/card/card_ops.def"
#undef CARD_OP
    default: fail(Code::internal, "{} is a transfer, no program of the card", name(kind));
  }
}

std::span<const CardOp* const> card_ops() {
  static constexpr const CardOp* kRows[] = {
#define CARD_OP(op) &card_op_##op,
#include "tessera/targets/tensix/card/card_ops.def"
#undef CARD_OP
  };
  return kRows;
}

}  // namespace tessera::tensix
