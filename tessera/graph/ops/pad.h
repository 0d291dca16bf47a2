#pragma once

// Inputs x, pads (begins then ends), optional value, optional axes. Negative pads cut off.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Pad {
  static constexpr std::string_view kName = "Pad";

  enum class Mode : std::uint8_t { constant, reflect, edge, wrap };
  Mode mode = Mode::constant;

  bool operator==(const Pad&) const = default;
};

TSR_API std::vector<TensorType> infer(const Pad& op, const Knowns& inputs);
TSR_API Work work(const Pad& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Pad& op, const Arrays& inputs);

}  // namespace tessera
