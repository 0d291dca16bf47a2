#include "tessera/targets/tensix/ops/lowering.h"

namespace tessera::tensix {

bool fits_card(ElementType type, const Shape& shape) {
  return type == ElementType::float32 && shape.rank() >= 2 && shape.volume() > 0;
}

std::int64_t card_rows(const Shape& shape) { return shape.rank() < 2 || shape[1] == 0 ? 0 : shape.volume() / shape[1]; }

}  // namespace tessera::tensix
