#pragma once

#include "tessera/core/array.h"
#include "tessera/graph/operands.h"

#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tessera {

// Results that were computed in double, stored as a floating type.
inline Array rounded(ElementType type, std::span<const double> values, Shape shape, std::string_view op) {
  Array out(type, std::move(shape));
  visit_floating_type(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> to = out.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, double>)
        to[i] = values[i];
      else
        to[i] = static_cast<T>(static_cast<float>(values[i]));
    }
  });
  return out;
}

}  // namespace tessera
