#pragma once

// What the tests of graphs and of operators with many outputs need beside op_testing.h.

#include "tests/graph/op_testing.h"

#include <optional>
#include <vector>

namespace tessera {

using Operands = std::vector<std::optional<Array>>;  // nullopt: left out

inline Array int64_array(Shape shape, std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>(std::move(shape), values);
}

template <class T>
std::vector<T> values_of(const Array& array) {
  const auto elements = array.as<T>();
  return {elements.begin(), elements.end()};
}

template <class X>
std::vector<TensorType> infer_types_of(const X& op, const Operands& operands, bool tell_values = true) {
  std::vector<Known> knowns;
  for (const auto& o : operands)
    knowns.push_back(o ? Known{TensorType(o->type(), o->shape()), tell_values ? &*o : nullptr, true}
                       : Known{{}, nullptr, false});
  return infer(op, Knowns(X::kName, knowns));
}

}  // namespace tessera
