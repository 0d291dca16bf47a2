#include "tessera/graph/zoo/layer.h"

#include <cmath>
#include <random>

namespace tessera {
namespace {

// The same bits on every machine, which the distributions of the standard library do not promise.
Array uniform_array(const Shape& shape, double bound, std::mt19937_64& random) {
  Array out(ElementType::float32, shape);
  for (float& v : out.as<float>()) v = static_cast<float>(bound * (static_cast<double>(random() >> 11) * 0x1p-52 - 1));
  return out;
}

}  // namespace

Graph make_layer(const ConvBlock& layer) {
  std::uint64_t seed = 0xcbf29ce484222325;
  for (const char c : layer.name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::mt19937_64 random(seed);

  Graph g;
  g.name = layer.name;
  const std::int64_t per_group = layer.ic / layer.groups;
  const double fan_in = static_cast<double>(per_group * layer.kh * layer.kw);
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{layer.n, layer.ic, layer.h, layer.w}});
  std::vector<ValueId> operands{
      x, g.add_constant("weight",
                        uniform_array(Shape{layer.oc, per_group, layer.kh, layer.kw}, std::sqrt(3 / fan_in), random))};
  if (layer.bias) operands.push_back(g.add_constant("bias", uniform_array(Shape{layer.oc}, 0.1, random)));
  Conv conv;
  conv.window.kernel = {layer.kh, layer.kw};
  conv.window.strides = {layer.stride, layer.stride};
  conv.window.pads = std::vector<std::int64_t>(4, layer.pad);
  conv.groups = layer.groups;
  ValueId y = g.add("conv", conv, std::move(operands));
  if (layer.relu) y = g.add("relu", Unary{Unary::Kind::relu}, {y});
  if (layer.pool > 1) {
    MaxPool pool;
    pool.window.kernel = pool.window.strides = {layer.pool, layer.pool};
    y = g.add("pool", pool, {y});
  }
  g.value(y).name = "y";
  g.outputs = {y};
  verify(g);
  return g;
}

}  // namespace tessera
