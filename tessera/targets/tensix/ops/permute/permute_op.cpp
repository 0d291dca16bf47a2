#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

namespace {

void count_transpose(TensorWork& w) { w.element_wise(1, false); }

}  // namespace

const CardOp card_op_permute = {.kind = ProgramKind::permute, .count = count_rearranged};
// Of the last two dimensions of tiles: each tile is turned on its way through the core.
const CardOp card_op_transpose = {.kind = ProgramKind::transpose, .count = count_transpose};

}  // namespace tessera::tensix
