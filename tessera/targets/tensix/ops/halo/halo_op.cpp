#include "tessera/targets/tensix/ops/card_op.h"

namespace tessera::tensix {

const CardOp card_op_halo = {.kind = ProgramKind::halo};

}  // namespace tessera::tensix
