#include "tessera/targets/tensix/ops/lowering.h"

namespace tessera::tensix {

std::int64_t card_rows(const Shape& shape) { return shape.rank() < 2 || shape[1] == 0 ? 0 : shape.volume() / shape[1]; }

}  // namespace tessera::tensix
