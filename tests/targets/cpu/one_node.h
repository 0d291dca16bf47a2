#pragma once

// A case of one node made of its operands, in one line.

#include "tests/targets/cpu/kernel_case.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace tessera::cpu {

// An input of the graph, a constant, or absent.
struct Operand {
  std::optional<Array> array;
  bool constant = false;
  Order order = Order::row_major;
};

inline Operand input(Array array, Order order = Order::row_major) { return {std::move(array), false, order}; }
inline Operand constant(Array array) { return {std::move(array), true, Order::row_major}; }
inline Operand integers(const std::vector<std::int64_t>& values) {
  return constant(Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

inline KernelCase one_node(Op op, std::vector<Operand> operands, int outputs = 1) {
  KernelCase test;
  std::vector<ValueId> inputs;
  for (Operand& operand : operands) {
    const std::string name = fmt::format("in{}", inputs.size());
    test.orders.push_back(operand.order);
    if (!operand.array) {
      inputs.push_back(kNoValue);
    } else if (operand.constant) {
      inputs.push_back(test.graph.add_constant(name, std::move(*operand.array)));
    } else {
      inputs.push_back(test.graph.add_input(name, TensorType(operand.array->type(), operand.array->shape())));
      test.arrays.push_back(std::move(*operand.array));
    }
  }
  test.graph.outputs = test.graph.add_node("y", std::move(op), inputs, outputs);
  return test;
}

}  // namespace tessera::cpu
