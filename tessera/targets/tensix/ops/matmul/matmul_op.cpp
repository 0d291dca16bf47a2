#include "tessera/targets/tensix/ops/card_op.h"

namespace tessera::tensix {

const CardOp card_op_matmul = {.kind = ProgramKind::matmul, .measured = Measured::blackhole_and_wormhole};

}  // namespace tessera::tensix
