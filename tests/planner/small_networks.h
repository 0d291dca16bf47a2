#pragma once

// Networks of a few layers with seeded weights.

#include "tessera/graph/graph.h"

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::planner {

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

}  // namespace tessera::planner
