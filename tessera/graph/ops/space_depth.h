#pragma once

// Blocks of pixels as channels, and back: N C H W.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct DepthToSpace {
  static constexpr std::string_view kName = "DepthToSpace";

  std::int64_t block = 1;
  bool column_row_depth = false;  // CRD instead of DCR

  bool operator==(const DepthToSpace&) const = default;
};

TSR_API std::vector<TensorType> infer(const DepthToSpace& op, const Knowns& inputs);
TSR_API Work work(const DepthToSpace& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const DepthToSpace& op, const Arrays& inputs);

struct SpaceToDepth {
  static constexpr std::string_view kName = "SpaceToDepth";

  std::int64_t block = 1;

  bool operator==(const SpaceToDepth&) const = default;
};

TSR_API std::vector<TensorType> infer(const SpaceToDepth& op, const Knowns& inputs);
TSR_API Work work(const SpaceToDepth& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const SpaceToDepth& op, const Arrays& inputs);

}  // namespace tessera
