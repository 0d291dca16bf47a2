#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

const CardOp card_op_softmax = {.kind = ProgramKind::softmax, .count = count_normalized_rows};

}  // namespace tessera::tensix
