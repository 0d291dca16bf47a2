#include "tessera/targets/tensix/ops/card_op.h"

namespace tessera::tensix {

const CardOp card_op_conv2d = {.kind = ProgramKind::conv2d, .measured = Measured::blackhole_and_wormhole};

}  // namespace tessera::tensix
