#pragma once

// Runs one operator by its own functions: infer() must accept the operands, and what it promises must hold of what
// reference() computes, whether it was told the values of its inputs or only their types.

#include "tessera/core/array.h"
#include "tessera/graph/operands.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <vector>

namespace tessera {

using Operands = std::vector<std::optional<Array>>;  // nullopt: left out

template <class T>
Array array_of(Shape shape, std::initializer_list<T> values) {
  const std::vector<T> copy(values);
  if constexpr (std::is_same_v<T, bool>) {  // vector<bool> has no elements to point at
    Array out(ElementType::boolean, std::move(shape));
    check(static_cast<std::int64_t>(values.size()) == out.count(), Code::invalid_argument, "{} values for {}",
          values.size(), out.to_string());
    std::copy(values.begin(), values.end(), out.as<bool>().begin());
    return out;
  } else {
    return Array::of<T>(std::move(shape), copy);
  }
}
inline Array floats(Shape shape, std::initializer_list<float> values) {
  return array_of<float>(std::move(shape), values);
}
inline Array int64s(Shape shape, std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>(std::move(shape), values);
}

template <class T>
std::vector<T> values_of(const Array& array) {
  const auto elements = array.as<T>();
  return {elements.begin(), elements.end()};
}

template <class Op>
std::vector<TensorType> infer_types_of(const Op& op, const Operands& operands, bool tell_values = true) {
  std::vector<Known> knowns;
  for (const auto& o : operands)
    knowns.push_back(o ? Known{TensorType(o->type(), o->shape()), tell_values ? &*o : nullptr, true}
                       : Known{{}, nullptr, false});
  return infer(op, Knowns(Op::kName, knowns));
}

inline void expect_agrees(const TensorType& promised, const Array& made) {
  EXPECT_EQ(promised.type, made.type());
  if (!promised.dims) return;
  ASSERT_EQ(promised.rank(), made.shape().rank())
      << promised.to_string() << " was promised, " << made.to_string() << " was made";
  for (int d = 0; d < made.shape().rank(); ++d) {
    const std::int64_t extent = (*promised.dims)[static_cast<std::size_t>(d)];
    EXPECT_TRUE(extent == TensorType::kUnknown || extent == made.shape()[d])
        << promised.to_string() << " was promised, " << made.to_string() << " was made";
  }
}

template <class Op>
std::vector<Array> run(const Op& op, const Operands& operands) {
  const std::vector<TensorType> told = infer_types_of(op, operands, true), untold = infer_types_of(op, operands, false);
  std::vector<const Array*> pointers;
  for (const auto& o : operands) pointers.push_back(o ? &*o : nullptr);
  std::vector<Array> outputs = reference(op, Arrays(Op::kName, pointers));
  EXPECT_EQ(told.size(), outputs.size());
  EXPECT_EQ(untold.size(), outputs.size());
  for (std::size_t i = 0; i < std::min({told.size(), untold.size(), outputs.size()}); ++i) {
    expect_agrees(told[i], outputs[i]);
    expect_agrees(untold[i], outputs[i]);
  }
  return outputs;
}

}  // namespace tessera
