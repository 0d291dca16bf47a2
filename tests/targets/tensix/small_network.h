#pragma once

// A residual network in small: what the tests of whole networks run.

#include "tests/targets/tensix/random_values.h"

#include "tessera/graph/graph.h"

#include <cmath>
#include <string>
#include <vector>

namespace tessera::tensix {

struct SmallNetwork {
  Graph graph;
  std::vector<Array> inputs;
};

inline Array random_array(const Shape& shape, std::uint64_t seed, float scale) {
  Array out = Array::of<float>(shape, random_values(shape.volume(), seed, Kind::normal));
  for (float& v : out.as<float>()) v *= scale;
  return out;
}

inline SmallNetwork small_network() {
  constexpr std::int64_t kChannels = 32;
  SmallNetwork network;
  Graph& g = network.graph;
  g.name = "small";
  std::uint64_t seed = 1;
  const auto conv_bn = [&](const std::string& name, ValueId x, std::int64_t from, std::int64_t kernel) {
    const float size = std::sqrt(2.0f / static_cast<float>(from * kernel * kernel));
    Conv conv;
    conv.window.kernel = {kernel, kernel};
    conv.window.pads = std::vector<std::int64_t>(4, kernel / 2);
    const Shape each{kChannels};
    x = g.add(
        name, conv,
        {x, g.add_constant(name + ".weight", random_array(Shape{kChannels, from, kernel, kernel}, seed++, size))});
    Array ones(ElementType::float32, each);
    for (float& v : ones.as<float>()) v = 1;
    return g.add(
        name + ".bn", BatchNorm{},
        {x, g.add_constant(name + ".scale", ones), g.add_constant(name + ".shift", random_array(each, seed++, 0.1f)),
         g.add_constant(name + ".mean", random_array(each, seed++, 0.1f)), g.add_constant(name + ".var", ones)});
  };
  const auto relu = [&](const std::string& name, ValueId x) { return g.add(name, Unary{Unary::Kind::relu}, {x}); };
  ValueId x = g.add_input("x", TensorType(ElementType::float32, Shape{1, 3, 20, 20}));
  x = relu("conv1.relu", conv_bn("conv1", x, 3, 3));
  MaxPool pool;
  pool.window.kernel = pool.window.strides = {2, 2};
  x = g.add("pool", pool, {x});
  ValueId y = relu("a.relu", conv_bn("a", x, kChannels, 1));
  y = relu("b.relu", conv_bn("b", y, kChannels, 3));
  y = conv_bn("c", y, kChannels, 1);
  x = relu("sum.relu", g.add("sum", Binary{Binary::Kind::add}, {y, x}));
  x = g.add("flat", Flatten{}, {g.add("average", GlobalPool{}, {x})});
  Gemm dense;
  dense.transpose_b = true;
  x = g.add("fc", dense,
            {x, g.add_constant("fc.weight", random_array(Shape{50, kChannels}, seed++, 0.2f)),
             g.add_constant("fc.bias", random_array(Shape{50}, seed++, 0.1f))});
  g.outputs = {x};
  verify(g);
  network.inputs = {random_array(Shape{1, 3, 20, 20}, seed++, 1.0f)};
  return network;
}

}  // namespace tessera::tensix
