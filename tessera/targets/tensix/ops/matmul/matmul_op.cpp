#include "tessera/targets/tensix/ops/card_op.h"

namespace tessera::tensix {

const CardOp card_op_matmul = {.kind = ProgramKind::matmul};

}  // namespace tessera::tensix
