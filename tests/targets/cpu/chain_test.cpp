#include "tests/targets/cpu/dense_case.h"
#include "tests/targets/cpu/fuzz.h"
#include "tests/targets/cpu/kernel_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera::cpu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

struct Link {
  Conv conv;
  Shape weights;
  bool bias = true;
  int activation = 0;  // 0: none, 1: relu, 2: silu, 3: clip
};

struct ChainCase {
  Shape x;
  std::vector<Link> links;
  bool residual = false;
  bool nasty = false;
};

Link pointwise(std::int64_t ic, std::int64_t oc, int activation = 0, bool bias = true) {
  return {Conv{{{1, 1}}, 1}, Shape{oc, ic, 1, 1}, bias, activation};
}
Link depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t stride, std::int64_t pad, int activation = 0) {
  return {Conv{{{kernel, kernel}, {stride, stride}, {}, {pad, pad, pad, pad}}, channels},
          Shape{channels, 1, kernel, kernel}, true, activation};
}

KernelCase make(const ChainCase& c, std::mt19937_64& random) {
  KernelCase test;
  Graph& g = test.graph;
  const ElementType type = ElementType::float32;
  const ValueId x = g.add_input("x", TensorType(type, c.x));
  test.arrays.push_back(random_array(type, c.x, random));
  if (c.nasty) sprinkle(test.arrays[0], random);
  std::int64_t reduction = 0;
  double growth = 1;
  // Weights of such a size that values keep theirs.
  const auto constant = [&](const Shape& shape, double scale) {
    Array array = random_array(type, shape, random);
    for (float& v : array.as<float>()) v *= static_cast<float>(scale);
    return g.add_constant("c" + std::to_string(g.values.size()), std::move(array));
  };
  ValueId y = kNoValue;
  for (const Link& link : c.links) {
    const std::int64_t taps = link.weights.volume() / link.weights[0];
    reduction += taps + 2;
    growth += 2;
    const ValueId w = constant(link.weights, 1 / std::sqrt(static_cast<double>(taps)));
    const ValueId b = link.bias ? constant(Shape{link.weights[0]}, 1) : kNoValue;
    if (y == kNoValue) {
      std::vector<ValueId> inputs{x, w};
      if (link.bias) inputs.push_back(b);
      y = g.add("y", link.conv, inputs);
    } else {
      Node& node = g.nodes[0];
      FusedOp fused{link.conv, {FusedOp::kChained}};
      for (const ValueId id : {w, b})
        if (id != kNoValue) {
          fused.operands.push_back(static_cast<int>(node.inputs.size()));
          node.inputs.push_back(id);
          ++node.fused_inputs;
        }
      node.fused.push_back(fused);
    }
    Node& node = g.nodes[0];
    if (link.activation == 1) node.fused.push_back({Unary{Unary::Kind::relu}, {FusedOp::kChained}});
    if (link.activation == 2) node.fused.push_back({Unary{.kind = Unary::Kind::silu, .alpha = 1}, {FusedOp::kChained}});
    if (link.activation == 3) {
      FusedOp clip{Clip{}, {FusedOp::kChained}};
      for (const float bound : {0.0f, 6.0f}) {
        clip.operands.push_back(static_cast<int>(node.inputs.size()));
        node.inputs.push_back(g.add_constant("bound" + std::to_string(g.values.size()),
                                             Array::of<float>(Shape{}, std::vector<float>{bound})));
        ++node.fused_inputs;
      }
      node.fused.push_back(clip);
    }
  }
  Node& node = g.nodes[0];
  if (c.residual) {
    const Shape shape = infer_node(g, node).outputs.at(0).shape();
    node.fused.push_back({Binary{Binary::Kind::add}, {FusedOp::kChained, static_cast<int>(node.inputs.size())}});
    node.inputs.push_back(g.add_input("residual", TensorType(type, shape)));
    test.arrays.push_back(random_array(type, shape, random));
    ++node.fused_inputs;
  }
  g.outputs = {y};
  infer_types(g);
  test.orders.assign(node.inputs.size(), Order::row_major);
  test.orders[0] = Order::channels_last;
  test.reduction = reduction;
  test.magnitude = 4 * growth;
  test.ulps = 8;
  return test;
}

std::vector<std::string> run(const ChainCase& c, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  return expect_kernels_agree(make(c, random));
}

// AVX-512 has two.
std::size_t sets() {
  return static_cast<std::size_t>(std::ranges::count_if(kernels(), [](const CpuKernel& kernel) {
    return kernel.info.name.starts_with("chain_") && kernel.info.isa <= host_isa();
  }));
}

TEST(Chain, RunsInvertedResiduals) {
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t kernel : {3, 5})
      for (const std::int64_t size : {7, 15, 30})
        EXPECT_EQ(run({Shape{1, 8, size, size},
                       {pointwise(8, 40, 3), depthwise(40, kernel, stride, kernel / 2, 3), pointwise(40, 24)}})
                      .size(),
                  sets())
            << "stride " << stride << ", window " << kernel << ", " << size << " pixels";
}

TEST(Chain, RunsPairsOfThem) {
  EXPECT_EQ(run({Shape{2, 20, 13, 11}, {depthwise(20, 3, 1, 1, 1), pointwise(20, 12, 2)}}).size(), sets());
  EXPECT_EQ(run({Shape{2, 6, 13, 11}, {pointwise(6, 33, 2), depthwise(33, 3, 2, 1, 2)}}).size(), sets());
}

TEST(Chain, BeginsWithAnyConvolution) {
  const Link stem{Conv{{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}, 1}, Shape{24, 3, 3, 3}, true, 3};
  EXPECT_EQ(run({Shape{2, 3, 33, 40}, {stem, depthwise(24, 3, 1, 1, 3), pointwise(24, 16)}}).size(), sets());
}

TEST(Chain, AddsTheResidualOfTheEnd) {
  EXPECT_EQ(
      run({Shape{1, 24, 14, 14}, {pointwise(24, 72, 1), depthwise(72, 3, 1, 1, 1), pointwise(72, 24)}, true}).size(),
      sets());
  EXPECT_EQ(run({Shape{1, 24, 14, 14}, {pointwise(24, 24, 1), depthwise(24, 3, 1, 1, 1)}, true}).size(), sets());
}

TEST(Chain, WindowsMayBeHigherThanTheImage) {
  EXPECT_EQ(run({Shape{1, 4, 2, 9}, {pointwise(4, 18), depthwise(18, 5, 1, 4, 1), pointwise(18, 5)}}).size(), sets());
  EXPECT_EQ(run({Shape{1, 4, 1, 3}, {pointwise(4, 18), depthwise(18, 3, 1, 1), pointwise(18, 5)}}).size(), sets());
}

TEST(Chain, PassesOnWhatIsNotANumber) {
  run({Shape{1, 8, 12, 12}, {pointwise(8, 32, 1), depthwise(32, 3, 1, 1, 2), pointwise(32, 8)}, false, true});
}

TEST(Chain, RefusesWhatItCannotRun) {
  std::mt19937_64 random(1);
  const auto reasons = [&](const ChainCase& c) {
    std::vector<std::string> out;
    const KernelCase test = make(c, random);
    for (const CpuKernel& kernel : kernels())
      if (kernel.info.name.starts_with("chain") && kernel.info.isa <= host_isa())
        out.push_back(std::get<Refusal>(run_kernel(kernel, test)).message);
    return out;
  };
  EXPECT_THAT(reasons({Shape{1, 8, 9, 9}, {depthwise(8, 3, 1, 1)}}), Contains("no convolution is fused"));
  EXPECT_THAT(reasons({Shape{1, 8, 9, 9}, {pointwise(8, 8), pointwise(8, 8)}}), Contains("none of them is depthwise"));
  const Link wide{Conv{{{3, 3}}, 1}, Shape{8, 8, 3, 3}};
  EXPECT_THAT(reasons({Shape{1, 8, 9, 9}, {depthwise(8, 3, 1, 1), wide}}), Contains(HasSubstr("is not 1x1")));
  EXPECT_THAT(reasons({Shape{1, 8, 9, 9}, {pointwise(8, 8), depthwise(8, 3, 1, 1), pointwise(8, 8), pointwise(8, 4)}}),
              Contains("4 convolutions in a row"));
}

TEST(Chain, AgreesForRandomProblems) {
  for (Fuzz fuzz; fuzz.next();) {
    ChainCase c;
    const std::int64_t ic = fuzz.pick(1, 20), channels = fuzz.pick(2, 60), oc = fuzz.pick(1, 40);
    const std::int64_t kh = fuzz.pick(1, 5), kw = fuzz.pick(1, 5);
    const bool first = fuzz.pick(0, 3) > 0, last = !first || fuzz.pick(0, 3) > 0;
    c.x = Shape{fuzz.pick(1, 2), first ? ic : channels, fuzz.pick(9, 20), fuzz.pick(9, 20)};
    if (first) {
      Link link = pointwise(ic, channels, static_cast<int>(fuzz.pick(0, 3)), fuzz.pick(0, 1) == 1);
      if (fuzz.pick(0, 2) == 0) {
        link.conv.window = {{3, 3}, {fuzz.pick(1, 2), fuzz.pick(1, 2)}, {}, {1, 0, 1, 2}};
        link.weights = Shape{channels, ic, 3, 3};
      }
      c.links.push_back(link);
    }
    Link middle = depthwise(channels, 1, 1, 0, static_cast<int>(fuzz.pick(0, 3)));
    middle.conv.window = {{kh, kw}, {fuzz.pick(1, 3), fuzz.pick(1, 3)}, {}, {}};
    for (int i = 0; i < 4; ++i) middle.conv.window.pads.push_back(fuzz.pick(2, 3));
    middle.weights = Shape{channels, 1, kh, kw};
    c.links.push_back(middle);
    if (last) c.links.push_back(pointwise(channels, oc, static_cast<int>(fuzz.pick(0, 3)), fuzz.pick(0, 1) == 1));
    c.residual = fuzz.pick(0, 1) == 1;
    c.nasty = fuzz.pick(0, 3) == 0;
    EXPECT_EQ(expect_kernels_agree(make(c, fuzz.random)).size(), sets());
  }
}

}  // namespace
}  // namespace tessera::cpu
