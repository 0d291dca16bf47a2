#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

const CardOp card_op_reshape = {.kind = ProgramKind::reshape, .count = count_streamed_rows};

}  // namespace tessera::tensix
