#pragma once

// What operators on quantised values ask of their inputs.

#include "tessera/core/error.h"
#include "tessera/graph/ops/quantize.h"

namespace tessera::internal {

inline void expect_bytes(const Knowns& inputs, std::size_t i) {
  const ElementType type = inputs[i].type;
  check(type == ElementType::int8 || type == ElementType::uint8, Code::unsupported,
        "{}: input {} is {}, int8 or uint8 is needed", inputs.op(), i, name(type));
}

inline void expect_one(const Knowns& inputs, std::size_t i) {
  check(!inputs[i].is_static() || inputs[i].shape().volume() == 1, Code::invalid_argument,
        "{}: input {} is {}, one value is needed", inputs.op(), i, inputs[i].to_string());
}

}  // namespace tessera::internal
