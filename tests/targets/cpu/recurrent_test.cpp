#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

using Kind = Recurrent::Kind;
using Direction = Recurrent::Direction;

struct Sizes {
  std::int64_t steps, batch, input, hidden;
};

struct Parts {
  bool bias = true, lengths = false, initial = false, peephole = false;
};

Array small_array(const Shape& shape, std::mt19937_64& random) {
  Array out = random_array(ElementType::float32, shape, random);
  for (float& v : out.as<float>()) v *= 0.3f;
  return out;
}

KernelCase case_of(const Recurrent& op, const Sizes& s, const Parts& parts, std::mt19937_64& random) {
  const std::int64_t gates = op.kind == Kind::lstm ? 4 : op.kind == Kind::gru ? 3 : 1;
  const std::int64_t d = op.direction == Direction::bidirectional ? 2 : 1;
  const Shape x = op.batch_first ? Shape{s.batch, s.steps, s.input} : Shape{s.steps, s.batch, s.input};
  const Shape state = op.batch_first ? Shape{s.batch, d, s.hidden} : Shape{d, s.batch, s.hidden};
  std::vector<Operand> operands{{random_array(ElementType::float32, x, random)},
                                {small_array({d, gates * s.hidden, s.input}, random), true},
                                {small_array({d, gates * s.hidden, s.hidden}, random), true},
                                {},
                                {},
                                {}};
  if (parts.bias) operands[3] = {small_array({d, 2 * gates * s.hidden}, random), true};
  if (parts.lengths) {
    Array lengths(ElementType::int32, Shape{s.batch});
    for (std::int32_t& v : lengths.as<std::int32_t>())
      v = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(s.steps + 1));
    operands[4] = {std::move(lengths)};
  }
  if (parts.initial) operands[5] = {random_array(ElementType::float32, state, random)};
  if (op.kind == Kind::lstm) {
    operands.emplace_back();
    if (parts.initial) operands[6] = {random_array(ElementType::float32, state, random)};
    if (parts.peephole) operands.push_back({small_array({d, 3 * s.hidden}, random), true});
  }
  KernelCase test = one_node(op, std::move(operands), op.kind == Kind::lstm ? 3 : 2);
  // Errors of sums enter the next step's, which the gates keep from growing.
  test.reduction = (s.input + s.hidden) * s.steps;
  test.magnitude = 4;
  return test;
}

TEST(RecurrentKernels, RandomLayersAgree) {
  const std::size_t sets = std::min<std::size_t>(usable_isas().size(), 3);
  for (Fuzz fuzz; fuzz.next();) {
    Recurrent op{.kind = fuzz.one_of({Kind::rnn, Kind::gru, Kind::lstm}),
                 .direction = fuzz.one_of({Direction::forward, Direction::reverse, Direction::bidirectional})};
    const Sizes s{fuzz.pick(1, 6), fuzz.pick(1, 19), fuzz.one_of<std::int64_t>({1, 3, 17, 33}),
                  fuzz.one_of<std::int64_t>({1, 5, 16, 33, 40})};
    op.hidden = s.hidden;
    if (fuzz.pick(0, 2) == 0) op.clip = 0.5f;
    op.linear_before_reset = op.kind == Kind::gru && fuzz.pick(0, 1) == 0;
    op.input_forget = op.kind == Kind::lstm && fuzz.pick(0, 3) == 0;
    op.batch_first = fuzz.pick(0, 1) == 0;
    const Parts parts{fuzz.pick(0, 1) == 0, fuzz.pick(0, 1) == 0, fuzz.pick(0, 1) == 0,
                      op.kind == Kind::lstm && fuzz.pick(0, 2) == 0};
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(op.kind) << " direction "
                                    << static_cast<int>(op.direction) << ", " << s.steps << " steps of " << s.batch
                                    << " x " << s.input << " to " << s.hidden);
    EXPECT_EQ(expect_kernels_agree(case_of(op, s, parts, fuzz.random)).size(), sets);
  }
}

// Few samples and many units: threads share the units and wait for each other at every step.
TEST(RecurrentKernels, LayersWhoseUnitsAreSharedOutAgree) {
  std::mt19937_64 random(4);
  const std::size_t sets = std::min<std::size_t>(usable_isas().size(), 3);
  for (const Kind kind : {Kind::rnn, Kind::gru, Kind::lstm})
    for (const Direction direction : {Direction::forward, Direction::bidirectional})
      for (const bool linear : {false, true})
        for (const std::int64_t batch : {1, 3}) {
          if (linear && kind != Kind::gru) continue;
          const Recurrent op{.kind = kind,
                             .direction = direction,
                             .hidden = 101,
                             .linear_before_reset = linear,
                             .batch_first = linear};
          SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", batch " << batch);
          const KernelCase test = case_of(
              op, {5, batch, 33, 101}, {.lengths = batch > 1, .initial = true, .peephole = kind == Kind::lstm}, random);
          EXPECT_EQ(expect_kernels_agree(test).size(), sets);
        }
}

// Gates at their ends, where exponentials overflow.
TEST(RecurrentKernels, HugeSumsSaturateTheGates) {
  std::mt19937_64 random(5);
  for (const Kind kind : {Kind::rnn, Kind::gru, Kind::lstm})
    for (const float size : {50.0f, 1e3f, 1e30f}) {
      KernelCase test = case_of({.kind = kind, .hidden = 20}, {3, 2, 4, 20}, {}, random);
      for (std::size_t i = 0; i < test.arrays[0].as<float>().size(); ++i)
        test.arrays[0].as<float>()[i] = i % 3 == 0 ? size : i % 3 == 1 ? -size : 0;
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", inputs of " << size);
      test.magnitude = 1 + std::min(size, 60.0f);
      EXPECT_FALSE(expect_kernels_agree(test).empty());
    }
}

TEST(RecurrentKernels, NamesOfTheUsualActivationsAreTheUsualOnes) {
  std::mt19937_64 random(1);
  Recurrent op{.kind = Kind::lstm, .hidden = 5, .activations = {"sigmoid", "Tanh", "tanh"}};
  EXPECT_FALSE(expect_kernels_agree(case_of(op, {2, 3, 4, 5}, {}, random)).empty());
}

TEST(RecurrentKernels, WhatIsUnusualIsRefusedWithTheReason) {
  std::mt19937_64 random(2);
  const auto reason = [](const KernelCase& test) {
    for (const CpuKernel& kernel : kernels())
      if (kernel.info.name == "recurrent_f32_portable") return std::get<Refusal>(run_kernel(kernel, test)).message;
    return std::string();
  };
  const Recurrent relu{.kind = Kind::rnn, .hidden = 5, .activations = {"Relu"}};
  EXPECT_EQ(reason(case_of(relu, {2, 3, 4, 5}, {}, random)), "activations other than the usual ones");
}

TEST(RecurrentKernels, ASequenceLongerThanTheInputIsAnError) {
  std::mt19937_64 random(3);
  KernelCase test = case_of({.kind = Kind::gru, .hidden = 5}, {2, 3, 4, 5}, {.lengths = true}, random);
  test.arrays[1].as<std::int32_t>()[1] = 3;
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.name != "recurrent_f32_portable") continue;
    EXPECT_THROW(run_kernel(kernel, test), Error);
  }
}

}  // namespace
}  // namespace tessera::cpu
