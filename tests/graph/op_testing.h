#pragma once

// Runs one operator: infer(), reference(), and the comparison of what was promised with what came out.

#include "tessera/core/array.h"
#include "tessera/graph/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

namespace tessera {

template <class T>
Array array_of(Shape shape, std::initializer_list<T> values) {
  return Array::of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
}
inline Array floats(Shape shape, std::initializer_list<float> values) {
  return array_of<float>(std::move(shape), values);
}

// The outputs of reference(); types inferred with and without the values of the inputs must hold of them.
template <class X>
std::vector<Array> run(const X& op, const std::vector<std::optional<Array>>& inputs) {
  std::vector<const Array*> arrays;
  std::vector<Known> with_values, types_only;
  for (const std::optional<Array>& input : inputs) {
    arrays.push_back(input ? &*input : nullptr);
    Known known;
    known.present = input.has_value();
    if (input) known.type = TensorType(input->type(), input->shape());
    types_only.push_back(known);
    known.constant = arrays.back();
    with_values.push_back(known);
  }
  const std::vector<TensorType> exact = infer(op, Knowns(X::kName, with_values)),
                                rough = infer(op, Knowns(X::kName, types_only));
  std::vector<Array> outputs = reference(op, Arrays(X::kName, arrays));
  EXPECT_EQ(exact.size(), outputs.size());
  EXPECT_EQ(rough.size(), outputs.size());
  for (std::size_t i = 0; i < std::min({exact.size(), rough.size(), outputs.size()}); ++i) {
    EXPECT_EQ(exact[i], TensorType(outputs[i].type(), outputs[i].shape()));
    EXPECT_EQ(rough[i].type, outputs[i].type());
    if (!rough[i].dims) continue;
    EXPECT_TRUE(std::ranges::equal(*rough[i].dims, outputs[i].shape().dims(),
                                   [](auto told, auto made) { return told == TensorType::kUnknown || told == made; }))
        << rough[i].to_string() << " was promised, " << outputs[i].to_string() << " was made";
  }
  return outputs;
}

}  // namespace tessera
