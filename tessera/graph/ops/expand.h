#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Second input: a shape to broadcast to, both ways.
struct Expand {
  static constexpr std::string_view kName = "Expand";

  bool operator==(const Expand&) const = default;
};

TSR_API std::vector<TensorType> infer(const Expand& op, const Knowns& inputs);
TSR_API Work work(const Expand& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Expand& op, const Arrays& inputs);

// Second input: repeats per dimension. (The name Tile belongs to the tile of a machine.)
struct TileRepeat {
  static constexpr std::string_view kName = "Tile";

  bool operator==(const TileRepeat&) const = default;
};

TSR_API std::vector<TensorType> infer(const TileRepeat& op, const Knowns& inputs);
TSR_API Work work(const TileRepeat& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const TileRepeat& op, const Arrays& inputs);

}  // namespace tessera
