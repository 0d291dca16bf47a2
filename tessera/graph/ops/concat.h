#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Concat {
  static constexpr std::string_view kName = "Concat";

  std::int64_t axis = 0;

  bool operator==(const Concat&) const = default;
};

TSR_API std::vector<TensorType> infer(const Concat& op, const Knowns& inputs);
TSR_API Work work(const Concat& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Concat& op, const Arrays& inputs);

}  // namespace tessera
