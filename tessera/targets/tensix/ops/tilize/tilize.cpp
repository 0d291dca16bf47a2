#include "tessera/targets/tensix/ops/tilize/tilize.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

namespace tessera::tensix {

DeviceTensor tilize(const DeviceTensor& x, const std::optional<MemoryConfig>& config, std::optional<DType> dtype) {
  x.check_allocated();
  check(x.spec().layout() == Layout::row_major, Code::invalid_argument, "tilize: the tensor is in TILE layout already");
  const Tile tile;
  const Extent2d matrix = x.spec().physical();
  const Hint hint{"to_layout pads on the way"};
  check(matrix.width % tile.width == 0, Code::invalid_argument, hint,
        "tilize: width {} is not a multiple of the tile width {}", matrix.width, tile.width);
  check(matrix.height % tile.height == 0, Code::invalid_argument, hint,
        "tilize: height {} is not a multiple of the tile height {}", matrix.height, tile.height);
  return to_layout(x, Layout::tile, dtype, config);
}

DeviceTensor untilize(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  check(x.spec().layout() == Layout::tile, Code::invalid_argument,
        "untilize: the tensor is in ROW_MAJOR layout already");
  return to_layout(x, Layout::row_major, std::nullopt, config);
}

}  // namespace tessera::tensix
