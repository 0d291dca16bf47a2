#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

Array scaled(const Shape& shape, std::mt19937_64& random, float by = 0.4f, float plus = 0) {
  Array out = random_array(ElementType::float32, shape, random);
  for (float& v : out.as<float>()) v = by * v + plus;
  return out;
}

// Positive numbers, some of them 0 (`sparse`).
Array positive(const Shape& shape, std::mt19937_64& random, bool sparse) {
  Array out = random_array(ElementType::float32, shape, random);
  for (float& v : out.as<float>()) v = sparse && random() % 3 == 0 ? 0 : 0.1f + std::abs(v);
  return out;
}

struct Sizes {
  std::int64_t batch, steps, inputs, units;
};

Sizes sizes_of(Fuzz& fuzz) {
  return {fuzz.pick(1, 19), fuzz.pick(1, 5), fuzz.one_of<std::int64_t>({1, 3, 17}),
          fuzz.one_of<std::int64_t>({1, 5, 16, 33})};
}

// The sequence, and at random times and a first state.
std::vector<Operand> first_operands(const Sizes& s, bool batch_first, Fuzz& fuzz) {
  const auto sequence = [&](std::int64_t width) {
    return batch_first ? Shape{s.batch, s.steps, width} : Shape{s.steps, s.batch, width};
  };
  std::vector<Operand> operands{{random_array(ElementType::float32, sequence(s.inputs), fuzz.random)}, {}, {}};
  const std::int64_t times = fuzz.pick(0, 2);
  if (times > 0) operands[1] = {positive(times == 1 ? Shape{1} : sequence(1), fuzz.random, false)};
  if (fuzz.pick(0, 1) == 0) operands[2] = {scaled({s.batch, s.units}, fuzz.random)};
  return operands;
}

std::size_t expected_kernels() { return std::min<std::size_t>(usable_isas().size(), 3); }

// Errors of sums enter the next step's.
void expect_agree(KernelCase test, std::int64_t reduction) {
  test.reduction = reduction;
  test.magnitude = 4;
  EXPECT_EQ(expect_kernels_agree(test).size(), expected_kernels());
}

TEST(LiquidKernels, RandomCfcCellsAgree) {
  for (Fuzz fuzz; fuzz.next();) {
    const Cfc op{.mode = fuzz.one_of({Cfc::Mode::gated, Cfc::Mode::no_gate, Cfc::Mode::pure}),
                 .activation = fuzz.one_of({Cfc::Activation::lecun_tanh, Cfc::Activation::silu, Cfc::Activation::relu,
                                            Cfc::Activation::tanh, Cfc::Activation::gelu}),
                 .head = fuzz.one_of({Cfc::Head::tanh, Cfc::Head::none, Cfc::Head::lecun_tanh}),
                 .batch_first = fuzz.pick(0, 1) == 0};
    const Sizes s = sizes_of(fuzz);
    std::vector<Operand> operands = first_operands(s, op.batch_first, fuzz);
    std::vector<std::int64_t> widths{s.inputs + s.units};
    for (std::int64_t left = fuzz.pick(0, 2); left > 0; --left) widths.push_back(fuzz.one_of<std::int64_t>({1, 7, 40}));
    const std::int64_t rows = op.heads() * s.units;
    const float small = 1.0f / static_cast<float>(std::sqrt(widths.back()));
    operands.push_back(constant(scaled({rows, widths.back()}, fuzz.random, small)));
    operands.push_back(constant(scaled({rows}, fuzz.random)));
    operands.push_back(op.mode == Cfc::Mode::pure ? constant(scaled({2, s.units}, fuzz.random)) : Operand{});
    for (std::size_t l = 1; l < widths.size(); ++l) {
      const float each = 1.0f / static_cast<float>(std::sqrt(widths[l - 1]));
      operands.push_back(constant(scaled({widths[l], widths[l - 1]}, fuzz.random, each)));
      operands.push_back(constant(scaled({widths[l]}, fuzz.random)));
    }
    expect_agree(one_node(op, std::move(operands), 2), 16 * s.steps * (s.inputs + s.units + 40));
  }
}

KernelCase ltc_case(const Ltc& op, const Sizes& s, Fuzz& fuzz) {
  std::vector<Operand> operands = first_operands(s, op.batch_first, fuzz);
  Array membrane = positive({3, s.units}, fuzz.random, false);
  operands.push_back(constant(std::move(membrane)));
  for (const std::int64_t from : {s.inputs, s.units}) {
    Array synapses = scaled({4, from, s.units}, fuzz.random, 1);
    const Array weights = positive({from, s.units}, fuzz.random, true);
    std::ranges::copy(weights.as<float>(), synapses.as<float>().begin());
    operands.push_back(constant(std::move(synapses)));
  }
  return one_node(op, std::move(operands), 2);
}

TEST(LiquidKernels, RandomLtcCellsAgree) {
  for (Fuzz fuzz; fuzz.next();) {
    const Ltc op{.unfolds = static_cast<int>(fuzz.pick(1, 6)), .batch_first = fuzz.pick(0, 1) == 0};
    const Sizes s = sizes_of(fuzz);
    expect_agree(ltc_case(op, s, fuzz), 16 * s.steps * op.unfolds * (s.inputs + s.units));
  }
}

TEST(LiquidKernels, WhatTheyDoNotTakeIsSaid) {
  Fuzz fuzz;
  ASSERT_TRUE(fuzz.next());
  const Sizes s{2, 3, 2, 4};
  EXPECT_TRUE(expect_kernels_agree(ltc_case({.solver = Ltc::Solver::runge_kutta}, s, fuzz)).empty());
  KernelCase open = ltc_case({}, s, fuzz);
  Value& membrane = open.graph.value(open.graph.nodes[0].inputs[Ltc::kMembrane]);
  open.arrays.push_back(*membrane.constant);
  open.graph.inputs.push_back(open.graph.nodes[0].inputs[Ltc::kMembrane]);
  membrane.constant = nullptr;
  EXPECT_TRUE(expect_kernels_agree(open).empty());
}

}  // namespace
}  // namespace tessera::cpu
