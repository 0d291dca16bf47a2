#pragma once

// Quantised operands of random nodes, and nodes with something fused.

#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"
#include "tessera/graph/ops/quantize.h"

#include <algorithm>
#include <string_view>

namespace tessera::cpu {

inline Array bytes_of(ElementType type, const Shape& shape, Fuzz& fuzz) {
  Array out(type, shape);
  // Ends of the type often: their products are the largest.
  const bool ends = fuzz.pick(0, 3) == 0;
  for (std::byte& b : out.bytes())
    b = ends ? fuzz.one_of({std::byte{0}, std::byte{255}, std::byte{127}, std::byte{128}})
             : static_cast<std::byte>(fuzz.random());
  return out;
}

// Quotients of powers of two end halfway between integers; some scales drive results to the ends, or out of float.
inline Array scale_of(const Shape& shape, Fuzz& fuzz, bool extreme = false) {
  Array out(ElementType::float32, shape);
  for (float& v : out.as<float>())
    v = extreme ? fuzz.one_of({1e-30f, 1e30f, 3e38f, 1e-38f, 0.01f})
                : fuzz.one_of({0.125f, 0.25f, 0.1f, 0.037f, 1.0f, 0.0009765625f});
  return out;
}

inline ElementType byte_type(Fuzz& fuzz) { return fuzz.one_of({ElementType::int8, ElementType::uint8}); }

// Appends an operator to the node of a case; `operands` become constants or inputs, absent ones are what is chained.
inline void fuse(KernelCase& test, Op op, std::vector<Operand> operands) {
  Graph& graph = test.graph;
  Node& node = graph.nodes[0];
  FusedOp fused{std::move(op), {}};
  for (Operand& operand : operands) {
    if (!operand.array) {
      fused.operands.push_back(FusedOp::kChained);
      continue;
    }
    fused.operands.push_back(static_cast<int>(node.inputs.size()));
    const std::string name = fmt::format("fused{}", node.inputs.size());
    if (operand.constant) {
      node.inputs.push_back(graph.add_constant(name, std::move(*operand.array)));
    } else {
      node.inputs.push_back(graph.add_input(name, TensorType(operand.array->type(), operand.array->shape())));
      test.arrays.push_back(std::move(*operand.array));
    }
    test.orders.push_back(operand.order);
    ++node.fused_inputs;
  }
  node.fused.push_back(std::move(fused));
  graph.value(node.outputs[0]).type = infer_node(graph, node).outputs[0];
}

// Bounds of bytes behind what the node makes so far.
inline void fuse_bounds(KernelCase& test, Fuzz& fuzz) {
  const ElementType type = test.graph.value(test.graph.nodes[0].outputs[0]).type.type;
  fuse(test, Clip{}, {{}, {bytes_of(type, Shape{}, fuzz), true}, {bytes_of(type, Shape{}, fuzz), true}});
}

// A residual sum behind what the node makes so far.
inline void fuse_sum(KernelCase& test, Fuzz& fuzz) {
  const TensorType made = test.graph.value(test.graph.nodes[0].outputs[0]).type;
  const ElementType other = byte_type(fuzz), sum = byte_type(fuzz);
  const Operand chained;
  const Operand residual{bytes_of(other, made.shape(), fuzz), false};
  const bool second = fuzz.pick(0, 1) == 0;
  const auto scale = [&] { return Operand{scale_of(Shape{}, fuzz), true}; };
  const auto zero = [&](ElementType type) { return Operand{bytes_of(type, Shape{}, fuzz), true}; };
  fuse(test, QLinearAdd{},
       {second ? residual : chained, scale(), zero(second ? other : made.type), second ? chained : residual, scale(),
        zero(second ? made.type : other), scale(), zero(sum)});
}

// Integers are right or wrong: no rounding is allowed for. Every instruction set up to AVX-512 must have accepted, and
// VNNI where it is `wanted`.
inline void expect_exact(KernelCase test, bool vnni = false) {
  test.ulps = 0;
  test.reduction = 0;
  const std::vector<std::string> names = expect_kernels_agree(test);
  const auto accepted = [&](std::string_view end) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.ends_with(end); });
  };
  EXPECT_TRUE(accepted("portable"));
  for (const Isa isa : usable_isas()) {
    if (isa == Isa::avx2) {
      EXPECT_TRUE(accepted("avx2"));
    }
    if (isa == Isa::avx512) {
      EXPECT_TRUE(accepted("avx512"));
    }
    if (isa == Isa::avx512_vnni && vnni) {
      EXPECT_TRUE(accepted("vnni"));
    }
  }
}

}  // namespace tessera::cpu
