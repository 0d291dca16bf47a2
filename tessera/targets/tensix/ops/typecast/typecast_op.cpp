#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

namespace {

void count_typecast(TensorWork& w) { w.element_wise(1, false); }

}  // namespace

const CardOp card_op_typecast = {.kind = ProgramKind::typecast, .count = count_typecast, .role = CallRole::converts};

}  // namespace tessera::tensix
