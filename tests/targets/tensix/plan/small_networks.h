#pragma once

// Networks of a few layers with seeded weights.

#include "tessera/graph/graph.h"

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tensix {

class SmallNetwork {
 public:
  explicit SmallNetwork(const Shape& input, unsigned seed = 7) : random_(seed) {
    x = graph.add_input("x", {ElementType::float32, input});
  }

  ValueId constant(const Shape& shape, float scale) {
    Array array(ElementType::float32, shape);
    std::normal_distribution<float> normal(0, scale);
    for (float& v : array.as<float>()) v = normal(random_);
    return graph.add_constant("c" + std::to_string(count_++), std::move(array));
  }
  ValueId conv(ValueId from, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    const std::int64_t in = graph.value(from).type.shape()[1];
    Conv op;
    op.window.strides = {stride, stride};
    op.window.pads = std::vector<std::int64_t>(4, kernel / 2);
    const auto fan_in = static_cast<float>(in * kernel * kernel);
    const std::vector<ValueId> inputs{from, constant(Shape{out, in, kernel, kernel}, 1 / std::sqrt(fan_in)),
                                      constant(Shape{out}, 0.1f)};
    return graph.add("conv" + std::to_string(count_++), op, inputs);
  }
  ValueId add(ValueId a, ValueId b) {
    return graph.add("add" + std::to_string(count_++), Binary{Binary::Kind::add}, {a, b});
  }
  ValueId join(ValueId a, ValueId b) {
    Concat join;
    join.axis = 1;
    return graph.add("join" + std::to_string(count_++), join, {a, b});
  }
  Graph done(ValueId y) {
    graph.outputs = {y};
    return graph;
  }

  Graph graph;
  ValueId x = kNoValue;

 private:
  std::mt19937 random_;
  int count_ = 0;
};

// One step down and up again, joined with what was before: few channels on large images.
inline Graph small_unet(std::int64_t batch, std::int64_t channels, std::int64_t height = 32, std::int64_t width = 16) {
  SmallNetwork net(Shape{batch, 3, height, width});
  const ValueId down = net.conv(net.x, channels, 3);
  MaxPool pool;
  pool.window.kernel = pool.window.strides = {2, 2};
  const ValueId small = net.conv(net.graph.add("pool", pool, {down}), 2 * channels, 3);
  Resize resize;
  resize.mode = Resize::Mode::nearest;
  resize.coordinates = Resize::Coordinates::asymmetric;
  resize.nearest = Resize::Nearest::floor;
  const float scales[] = {1, 1, 2, 2};
  const ValueId by = net.graph.add_constant("scales", Array::of<float>(Shape{4}, scales));
  const ValueId up = net.graph.add("up", resize, {small, kNoValue, by});
  const ValueId both = net.join(up, down);
  return net.done(net.conv(net.conv(both, channels, 3), 1, 1));
}

}  // namespace tessera::tensix
