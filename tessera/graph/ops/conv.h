#pragma once

// Convolution over N C D1 ... with weights M C/groups k1 ... and an optional bias of M: any number of spatial
// dimensions.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"
#include "tessera/graph/ops/window.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Conv {
  static constexpr std::string_view kName = "Conv";

  Window window = {};
  std::int64_t groups = 1;

  bool operator==(const Conv&) const = default;
};

TSR_API std::vector<TensorType> infer(const Conv& op, const Knowns& inputs);
TSR_API Work work(const Conv& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Conv& op, const Arrays& inputs);

}  // namespace tessera
