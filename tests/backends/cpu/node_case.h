#pragma once

// Cases for kernel_case.h made in one line each, and as many random ones as fit into a time.

#include "tests/backends/cpu/kernel_case.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cpu {

// An operand: an input of the graph, a constant, or absent.
struct NodeOperand {
  std::optional<Array> array;
  bool constant = false;
};

inline KernelCase node_case(Op op, std::vector<NodeOperand> operands, int outputs = 1) {
  KernelCase test;
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    NodeOperand& operand = operands[i];
    const std::string name = "in" + std::to_string(i);
    if (!operand.array) {
      ids.push_back(kNoValue);
    } else if (operand.constant) {
      ids.push_back(test.graph.add_constant(name, std::move(*operand.array)));
    } else {
      ids.push_back(test.graph.add_input(name, TensorType(operand.array->type(), operand.array->shape())));
      test.arrays.push_back(std::move(*operand.array));
    }
  }
  test.graph.outputs = test.graph.add_node("node", std::move(op), std::move(ids), outputs);
  return test;
}

// for (Fuzz fuzz; fuzz.next();) { ... fuzz.random ... }: rounds for a quarter of a second, each with a seed of its own
// that a failure names. TESSERA_SEED=n runs that round alone.
class Fuzz {
 public:
  std::mt19937_64 random;

  bool next() {
    if (testing::Test::HasFailure()) return false;
    const char* wanted = std::getenv("TESSERA_SEED");
    if (wanted != nullptr && round_ > 0) return false;
    if (round_ > 0 && std::chrono::steady_clock::now() - begin_ > std::chrono::milliseconds(250)) return false;
    seed_ = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : first_ + round_;
    ++round_;
    random.seed(seed_);
    trace_.emplace(__FILE__, __LINE__, "TESSERA_SEED=" + std::to_string(seed_));
    return true;
  }
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + pick(0, static_cast<std::int64_t>(values.size()) - 1));
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t first_ = static_cast<std::uint64_t>(begin_.time_since_epoch().count());
  std::uint64_t seed_ = 0, round_ = 0;
  std::optional<testing::ScopedTrace> trace_;
};

}  // namespace tessera::cpu
