#pragma once

// Two inputs with broadcasting. Comparisons give bool.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// min and max pass NaN on. pow may have an exponent of another type. prelu: x, slope.
struct Binary {
  static constexpr std::string_view kName = "Binary";

  enum class Kind : std::uint8_t {
    add,
    sub,
    mul,
    div,
    pow,
    min,
    max,
    mod,
    fmod,
    logical_and,
    logical_or,
    logical_xor,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
    equal,
    less,
    less_equal,
    greater,
    greater_equal,
    prelu,
  };
  Kind kind = Kind::add;

  bool operator==(const Binary&) const = default;
};

TSR_API std::vector<TensorType> infer(const Binary& op, const Knowns& inputs);
TSR_API Work work(const Binary& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Binary& op, const Arrays& inputs);

}  // namespace tessera
