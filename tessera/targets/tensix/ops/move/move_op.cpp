#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

const CardOp card_op_move = {.kind = ProgramKind::move, .count = count_copied_pages};

}  // namespace tessera::tensix
