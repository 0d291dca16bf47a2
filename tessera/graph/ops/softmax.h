#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Softmax {
  static constexpr std::string_view kName = "Softmax";

  std::int64_t axis = -1;
  bool log = false;
  bool flatten = false;  // before opset 13: everything from axis on is one row

  bool operator==(const Softmax&) const = default;
};

TSR_API std::vector<TensorType> infer(const Softmax& op, const Knowns& inputs);
TSR_API Work work(const Softmax& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Softmax& op, const Arrays& inputs);

}  // namespace tessera
