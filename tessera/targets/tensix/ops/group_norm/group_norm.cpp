#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

// Nothing here runs it yet: measured networks do, and its price was fitted with theirs.
const CardOp card_op_group_norm = {.kind = ProgramKind::group_norm, .count = count_normalized_rows};

}  // namespace tessera::tensix
