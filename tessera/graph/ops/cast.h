#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Floating to integer truncates towards zero; to bool is != 0. As bits: the same bytes seen as another type.
struct Cast {
  static constexpr std::string_view kName = "Cast";

  ElementType to = ElementType::float32;
  bool saturate = true;
  bool bits = false;

  bool operator==(const Cast&) const = default;
};

TSR_API std::vector<TensorType> infer(const Cast& op, const Knowns& inputs);
TSR_API Work work(const Cast& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Cast& op, const Arrays& inputs);

}  // namespace tessera
