#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/kernel_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::StartsWith;

struct Depthwise {
  Shape x;
  Window window;  // with its kernel
  bool bias = true;
  ElementType type = ElementType::float32;
  bool nasty = false;
  std::vector<Op> fused = {};  // an Add takes one more input of the result's shape
};

// Numbers whose sums leave the range of float on one way and not on another say nothing about a kernel.
void tame(Array& array) {
  visit_floating_type(array.type(), "tame", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& v : array.as<T>())
      if (const float f = static_cast<float>(v); std::isfinite(f) && std::abs(f) > 1e30f) v = T(f > 0 ? 3.0f : -3.0f);
  });
}

KernelCase make(const Depthwise& d, std::mt19937_64& random) {
  KernelCase test;
  Graph& g = test.graph;
  const auto array = [&](const Shape& shape) {
    Array out = d.nasty ? nasty_array(d.type, shape, random) : random_array(d.type, shape, random);
    if (d.nasty) tame(out);
    return out;
  };
  const ValueId x = g.add_input("x", TensorType(d.type, d.x));
  test.arrays.push_back(array(d.x));
  std::vector<std::int64_t> w{d.x[1], 1};
  w.insert(w.end(), d.window.kernel.begin(), d.window.kernel.end());
  std::vector<ValueId> inputs{x, g.add_constant("w", random_array(d.type, Shape(w), random))};
  if (d.bias) inputs.push_back(g.add_constant("b", random_array(d.type, Shape{d.x[1]}, random)));
  const ValueId y = g.add("y", Conv{d.window, d.x[1]}, inputs);
  Node& node = g.nodes[0];
  for (const Op& op : d.fused) {
    FusedOp fused{op, {FusedOp::kChained}};
    if (std::holds_alternative<Binary>(op)) {
      const Shape shape = g.value(y).type.shape();
      node.inputs.push_back(g.add_input("residual", TensorType(d.type, shape)));
      test.arrays.push_back(array(shape));
      fused.operands.push_back(static_cast<int>(node.inputs.size()) - 1);
      ++node.fused_inputs;
    }
    node.fused.push_back(fused);
  }
  g.outputs = {y};
  test.orders.assign(node.inputs.size(), Order::row_major);
  test.orders[0] = Order::channels_last;
  std::int64_t taps = 1;
  for (const std::int64_t k : d.window.kernel) taps *= k;
  test.reduction = taps + 2;
  test.magnitude = (d.nasty ? 300 : 3) * std::sqrt(static_cast<double>(taps));  // nasty ones go up to 104
  // The definition rounds what goes from one fused operator to the next: numbers up to about 8, by half a step each.
  if (!d.fused.empty() && d.type == ElementType::bfloat16)
    test.magnitude = 8 * std::ldexp(1.0, 24 - 9) / (4 * std::sqrt(static_cast<double>(test.reduction)));
  test.ulps = 8;
  return test;
}

std::vector<std::string> run(const Depthwise& d, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  return expect_kernels_agree(make(d, random));
}

TEST(Depthwise, AgreesForTheWindowsOfNetworks) {
  for (const std::int64_t channels : {16, 24, 100})
    for (const std::int64_t size : {7, 8, 13, 30})
      for (const auto& [kernel, stride, pad] :
           {std::tuple{3, 1, 1}, {3, 2, 1}, {5, 1, 2}, {5, 2, 2}, {7, 1, 3}, {3, 1, 0}, {7, 2, 3}, {1, 1, 0}})
        EXPECT_THAT(
            run({Shape{1, channels, size, size}, {{kernel, kernel}, {stride, stride}, {}, {pad, pad, pad, pad}}}),
            Contains(StartsWith("depthwise_f32")))
            << channels << " channels, " << size << " pixels, window " << kernel;
}

TEST(Depthwise, AgreesForOddChannelsPadsAndDilations) {
  for (const std::int64_t channels : {1, 3, 5, 17, 33})
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
      run({Shape{2, channels, 9, 11}, {{3, 3}, {1, 2}, {}, {0, 2, 3, 1}}, true, type});
      run({Shape{2, channels, 9, 11}, {{3, 5}, {2, 1}, {2, 2}, {3, 4, 1, 0}}, false, type});
      run({Shape{1, channels, 19}, {{3}, {1}, {}, {2, 0}}, true, type});
      run({Shape{1, channels, 2, 2}, {{5, 5}, {1, 1}, {}, {4, 4, 4, 4}}, true, type});
    }
}

TEST(Depthwise, SplitsChannelsWhenThereAreFewRows) {
  for (const std::int64_t channels : {64, 127, 128, 129, 300}) run({Shape{1, channels, 1, 40}, {{1, 3}}});
}

TEST(Depthwise, AppliesWhatIsFused) {
  const Op relu = Unary{Unary::Kind::relu}, add = Binary{Binary::Kind::add};
  const Op silu = Unary{.kind = Unary::Kind::silu, .alpha = 1}, swish = Unary{Unary::Kind::hard_swish};
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16})
    for (const std::int64_t channels : {5, 33})
      for (const std::vector<Op>& fused :
           {std::vector{relu}, {silu}, {swish}, {add}, {add, relu}, {silu, add}, {relu, add, swish}})
        EXPECT_THAT(run({Shape{2, channels, 6, 11}, {{3, 3}, {}, {}, {1, 1, 1, 1}}, true, type, false, fused}),
                    Contains(StartsWith("depthwise")));
}

TEST(Depthwise, PassesOnWhatIsNotANumberAndNothingElse) {
  for (const std::int64_t channels : {3, 20}) {
    run({Shape{1, channels, 9, 9}, {{3, 3}, {}, {}, {1, 1, 1, 1}}, true, ElementType::float32, true});
    run({Shape{1, channels, 9, 9},
         {{5, 5}, {2, 2}, {}, {2, 2, 2, 2}},
         true,
         ElementType::bfloat16,
         true,
         {Unary{Unary::Kind::relu}}});
  }
}

TEST(Depthwise, PaddingIsNotMultipliedWithWeights) {
  std::mt19937_64 random(1);
  KernelCase test = make({Shape{1, 16, 8, 8}, {{3, 3}, {}, {}, {1, 1, 1, 1}}}, random);
  Array w = *test.graph.value(1).constant;
  w.as<float>()[0] = std::numeric_limits<float>::infinity();
  test.graph.value(1).constant = std::make_shared<const Array>(w);
  expect_kernels_agree(test);
}

TEST(Depthwise, RefusesGroupsThatMixChannelsAndFusedPools) {
  std::mt19937_64 random(1);
  KernelCase test =
      make({Shape{1, 16, 8, 8}, {{3, 3}}, true, ElementType::float32, false, {MaxPool{{{2, 2}}}}}, random);
  std::vector<std::string> reasons;
  for (const CpuKernel& kernel : kernels())
    if (kernel.info.name.starts_with("depthwise_f32") && kernel.info.isa <= host_isa())
      reasons.push_back(std::get<Refusal>(run_kernel(kernel, test)).message);
  EXPECT_THAT(reasons, Contains("a pool is fused"));
}

TEST(Depthwise, AgreesForRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    Depthwise d;
    const std::int64_t kernel_h = between(random, 1, 5), kernel_w = between(random, 1, 7);
    d.window = {{kernel_h, kernel_w}, {between(random, 1, 3), between(random, 1, 3)}, {}, {}};
    if (random() % 4 == 0) d.window.dilations = {between(random, 1, 3), between(random, 1, 3)};
    for (int i = 0; i < 4; ++i) d.window.pads.push_back(between(random, 0, 4));
    d.x = Shape{between(random, 1, 2), between(random, 1, 70), between(random, 13, 20), between(random, 19, 26)};
    d.bias = coin(random);
    d.type = coin(random) ? ElementType::float32 : ElementType::bfloat16;
    d.nasty = random() % 4 == 0;
    expect_kernels_agree(make(d, random));
  });
}

}  // namespace
}  // namespace tessera::cpu
