#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

namespace {

void count_unary(TensorWork& w) { w.element_wise(1, false); }
void count_binary(TensorWork& w) { w.element_wise(std::min<std::size_t>(w.inputs(), 2), true); }

}  // namespace

const CardOp card_op_unary = {.kind = ProgramKind::unary, .count = count_unary};
const CardOp card_op_binary = {.kind = ProgramKind::binary, .count = count_binary};

}  // namespace tessera::tensix
