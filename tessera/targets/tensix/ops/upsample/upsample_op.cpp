#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

// Every row of pixels is written as often as it is enlarged.
const CardOp card_op_upsample = {.kind = ProgramKind::upsample, .count = count_streamed_rows};

}  // namespace tessera::tensix
