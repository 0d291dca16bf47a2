#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

namespace tessera::tensix {

const CardOp card_op_convert_to_hwc = {
    .kind = ProgramKind::convert_to_hwc, .count = count_rearranged, .role = CallRole::converts};
const CardOp card_op_convert_to_chw = {
    .kind = ProgramKind::convert_to_chw, .count = count_rearranged, .role = CallRole::converts};

}  // namespace tessera::tensix
