#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Transpose {
  static constexpr std::string_view kName = "Transpose";

  std::vector<std::int64_t> perm;  // empty: reversed

  bool operator==(const Transpose&) const = default;
};

TSR_API std::vector<TensorType> infer(const Transpose& op, const Knowns& inputs);
TSR_API Work work(const Transpose& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Transpose& op, const Arrays& inputs);

}  // namespace tessera
