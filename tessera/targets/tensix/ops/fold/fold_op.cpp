#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

const CardOp card_op_fold = {.kind = ProgramKind::fold, .count = count_streamed_rows};

}  // namespace tessera::tensix
