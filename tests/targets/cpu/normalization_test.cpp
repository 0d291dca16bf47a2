#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16};

Array positive_array(ElementType type, const Shape& shape, std::mt19937_64& random) {
  Array out = random_array(type, shape, random);
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>)
      for (T& v : out.as<T>()) v = T(std::abs(static_cast<float>(v)) + 0.1f);
  });
  return out;
}

// x of a size far from that of its differences: what a sum of squares alone would get wrong.
Array far_array(ElementType type, const Shape& shape, float away, std::mt19937_64& random) {
  Array out = random_array(type, shape, random);
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>)
      for (T& v : out.as<T>()) v = T(static_cast<float>(v) + away);
  });
  return out;
}

// The number of kernels of a family and type that this CPU can run.
std::size_t sets() { return std::min<std::size_t>(usable_isas().size(), 3); }

TEST(NormalizationKernels, BatchNormAgreesInBothOrders) {
  for (Fuzz fuzz; fuzz.next();) {
    const ElementType type = fuzz.one_of({kTypes[0], kTypes[1]});
    const std::int64_t c = fuzz.one_of<std::int64_t>({1, 3, 5, 17, 33, 100});
    std::vector<std::int64_t> dims{fuzz.pick(1, 3), c, fuzz.pick(1, 9), fuzz.pick(1, 9)};
    dims.resize(static_cast<std::size_t>(fuzz.pick(2, 4)));
    const auto any = [&] { return Operand{random_array(type, Shape{c}, fuzz.random), true}; };
    KernelCase test = one_node(BatchNorm{}, {{nasty_array(type, Shape(dims), fuzz.random)},
                                             any(),
                                             any(),
                                             any(),
                                             {positive_array(type, Shape{c}, fuzz.random), true}});
    test.orders.assign(5, Order::row_major);
    if (dims.size() > 2) test.orders[0] = fuzz.one_of({Order::row_major, Order::channels_last});
    test.magnitude = 40;  // of the mean times the factor
    EXPECT_EQ(expect_kernels_agree(test).size(), sets());
  }
}

TEST(NormalizationKernels, InstanceAndGroupNormAgreeInBothOrders) {
  for (Fuzz fuzz; fuzz.next();) {
    const ElementType type = fuzz.one_of({kTypes[0], kTypes[1]});
    const std::int64_t groups = fuzz.one_of<std::int64_t>({1, 2, 4, 8}),
                       c = groups * fuzz.one_of<std::int64_t>({1, 3, 17});
    const Shape shape{fuzz.pick(1, 3), c, fuzz.pick(2, 17), fuzz.pick(2, 17)};
    const bool instance = fuzz.pick(0, 1) == 0, per_group = !instance && fuzz.pick(0, 1) == 0;
    const float away = fuzz.one_of({0.0f, 3.0f, 100.0f});
    const Op op = instance ? Op{InstanceNorm{}} : Op{GroupNorm{groups, 1e-5f, per_group}};
    const Shape scales{per_group ? groups : c};
    KernelCase test = one_node(op, {{far_array(type, shape, away, fuzz.random)},
                                    {random_array(type, scales, fuzz.random)},
                                    {random_array(type, scales, fuzz.random)}});
    test.orders = {fuzz.one_of({Order::row_major, Order::channels_last}), Order::row_major, Order::row_major};
    test.reduction = c * shape[2] * shape[3];
    test.magnitude = 10;
    EXPECT_EQ(expect_kernels_agree(test).size(), sets()) << shape.to_string();
  }
}

TEST(NormalizationKernels, LayerAndRmsNormAgree) {
  for (Fuzz fuzz; fuzz.next();) {
    const ElementType type = fuzz.one_of({kTypes[0], kTypes[1]});
    const std::int64_t length = fuzz.one_of<std::int64_t>({1, 3, 5, 17, 33, 100, 1000});
    const Shape shape{fuzz.pick(1, 3), fuzz.pick(1, 7), length};
    const bool both = fuzz.pick(0, 2) == 0;  // the last two axes
    const Shape row = both ? Shape{shape[1], length} : Shape{length};
    const std::int64_t axis = both ? 1 : -1;
    const bool rms = fuzz.pick(0, 1) == 0, bias = fuzz.pick(0, 1) == 0;
    std::vector<Operand> operands{{far_array(type, shape, rms ? 0.0f : fuzz.one_of({0.0f, 50.0f}), fuzz.random)},
                                  {random_array(type, row, fuzz.random)}};
    if (!rms && bias) operands.push_back({random_array(type, row, fuzz.random)});
    const int outputs = rms ? 1 : static_cast<int>(fuzz.pick(1, 3));
    KernelCase test = rms ? one_node(RmsNorm{axis}, std::move(operands))
                          : one_node(LayerNorm{axis, 1e-5f, outputs}, std::move(operands), outputs);
    test.reduction = row.volume();
    // Where a row is one number, its difference to the mean is rounding alone, and the factor 1 / sqrt(epsilon).
    test.magnitude = row.volume() == 1 ? 400 : 10;
    EXPECT_EQ(expect_kernels_agree(test).size(), sets()) << shape.to_string() << " axis " << axis;
  }
}

TEST(NormalizationKernels, LrnAgrees) {
  for (Fuzz fuzz; fuzz.next();) {
    const Shape shape{fuzz.pick(1, 2), fuzz.pick(1, 20), fuzz.pick(1, 9), fuzz.pick(1, 9)};
    const Lrn op{fuzz.pick(1, 7), fuzz.one_of({1e-4f, 1.0f}), fuzz.one_of({0.75f, 0.5f}), fuzz.one_of({1.0f, 2.0f})};
    KernelCase test = one_node(op, {{random_array(ElementType::float32, shape, fuzz.random)}});
    test.reduction = op.size;
    EXPECT_EQ(expect_kernels_agree(test).size(), sets()) << shape.to_string() << " size " << op.size;
  }
}

TEST(NormalizationKernels, OtherStatisticsAreRefusedWithTheReason) {
  std::mt19937_64 random(1);
  const auto any = [&](Shape shape) { return Operand{random_array(ElementType::float32, shape, random)}; };
  const KernelCase test = one_node(BatchNorm{}, {any({1, 3, 2, 2}), any({3}), any({3}), any({3}), any({3})});
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.name != "batch_norm_f32_portable") continue;
    EXPECT_EQ(std::get<Refusal>(run_kernel(kernel, test)).message, "its statistics are computed");
  }
}

}  // namespace
}  // namespace tessera::cpu
