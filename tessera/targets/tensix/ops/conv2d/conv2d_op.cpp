#include "tessera/targets/tensix/ops/card_op.h"

namespace tessera::tensix {

const CardOp card_op_conv2d = {.kind = ProgramKind::conv2d};

}  // namespace tessera::tensix
