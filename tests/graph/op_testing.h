#pragma once

// Runs one operator by its own functions: what infer() promises must hold of what reference() computes.

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
inline Array floats(Shape shape, std::initializer_list<float> values) { return array_of<float>(std::move(shape), values); }

template <class X>
std::vector<Array> run(const X& op, const std::vector<std::optional<Array>>& inputs) {
  std::vector<const Array*> arrays;
  std::vector<Known> told, untold;
  for (const std::optional<Array>& input : inputs) {
    arrays.push_back(input ? &*input : nullptr);
    Known known;
    known.present = input.has_value();
    if (input) known.type = TensorType(input->type(), input->shape());
    untold.push_back(known);
    known.constant = arrays.back();
    told.push_back(known);
  }
  std::vector<Array> outputs = reference(op, Arrays(X::kName, arrays));
  for (const std::vector<Known>& known : {told, untold}) {
    const std::vector<TensorType> types = infer(op, Knowns(X::kName, known));
    EXPECT_EQ(types.size(), outputs.size());
    for (std::size_t i = 0; i < std::min(types.size(), outputs.size()); ++i) {
      EXPECT_EQ(types[i].type, outputs[i].type());
      if (!types[i].dims) continue;
      EXPECT_TRUE(std::ranges::equal(*types[i].dims, outputs[i].shape().dims(),
                                     [](auto promised, auto made) { return promised == TensorType::kUnknown || promised == made; }))
          << types[i].to_string() << " was promised, " << outputs[i].to_string() << " was made";
    }
  }
  return outputs;
}

}  // namespace tessera
