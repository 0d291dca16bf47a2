#include "tessera/graph/zoo/builder.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

class Random {
 public:
  explicit Random(const std::string& name) {
    for (char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // Four 16-bit uniforms added up: a bell of variance 1 that ends at 3.46, and the same bits on every machine.
  double normal() {
    const std::uint64_t b = bits();
    const auto sum = static_cast<double>((b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48));
    return (sum * 0x1p-16 - 2 + 0x1p-15) * 1.7320508075688772;
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

template <class Draw>
Array filled(const Shape& shape, Draw&& draw) {
  Array out(ElementType::float32, shape);
  for (float& v : out.as<float>()) v = static_cast<float>(draw());
  return out;
}

}  // namespace

ValueId ZooBuilder::normal(const std::string& name, const Shape& shape, double deviation) {
  Random random(name);
  return graph_.add_constant(name, filled(shape, [&] { return deviation * random.normal(); }));
}

ValueId ZooBuilder::uniform(const std::string& name, const Shape& shape, double least, double most) {
  Random random(name);
  return graph_.add_constant(name, filled(shape, [&] { return least + (most - least) * random.uniform(); }));
}

ValueId ZooBuilder::keep_rectified(ValueId id, ValueId from) {
  rectified_.insert(id);
  return keep(id, rectified_.contains(from) ? mean_square_[from] : mean_square_[from] / 2);
}

ValueId ZooBuilder::input(const std::string& name, const Shape& shape) {
  return keep(graph_.add_input(name, TensorType(ElementType::float32, shape)), 1);
}

ValueId ZooBuilder::conv(const std::string& name, ValueId x, const ZooConv& conv, bool bias) {
  const std::int64_t per_group = channels(x) / conv.groups, k = conv.kernel;
  const double fan_in = static_cast<double>(per_group * k * k);
  // He's rule where a batch norm follows; without one the variance of 1 has to come from the weights.
  const double gain = bias ? 1 / mean_square_[x] : 2;
  std::vector<ValueId> operands{
      x, normal(name + ".weight", Shape{conv.channels, per_group, k, k}, std::sqrt(gain / fan_in))};
  if (bias) operands.push_back(uniform(name + ".bias", Shape{conv.channels}, -0.1, 0.1));
  Conv op;
  op.window.kernel = {k, k};
  op.window.strides = {conv.stride, conv.stride};
  op.window.pads = std::vector<std::int64_t>(4, k / 2);
  op.groups = conv.groups;
  return keep(graph_.add(name, op, std::move(operands)), gain * mean_square_[x]);
}

ValueId ZooBuilder::batch_norm(const std::string& name, ValueId x, double gain) {
  const Shape shape{channels(x)};
  const double variance = mean_square_[x], deviation = std::sqrt(variance);
  const ValueId scale = uniform(name + ".weight", shape, 0.8 * gain, 1.2 * gain),
                bias = uniform(name + ".bias", shape, -0.1, 0.1);
  const ValueId mean = uniform(name + ".running_mean", shape, -0.1 * deviation, 0.1 * deviation);
  const ValueId var = uniform(name + ".running_var", shape, 0.8 * variance, 1.2 * variance);
  return keep(graph_.add(name, BatchNorm{}, {x, scale, bias, mean, var}), gain * gain);
}

ValueId ZooBuilder::conv_bn(const std::string& name, ValueId x, const ZooConv& c, double gain) {
  return batch_norm(name + ".bn", conv(name, x, c, false), gain);
}
ValueId ZooBuilder::conv_bn_relu(const std::string& name, ValueId x, const ZooConv& c) {
  return relu(name + ".relu", conv_bn(name, x, c));
}
ValueId ZooBuilder::conv_bn_relu6(const std::string& name, ValueId x, const ZooConv& c) {
  return relu6(name + ".relu6", conv_bn(name, x, c));
}
ValueId ZooBuilder::conv_bn_silu(const std::string& name, ValueId x, const ZooConv& c) {
  return silu(name + ".silu", conv_bn(name, x, c));
}

ValueId ZooBuilder::up_conv(const std::string& name, ValueId x, std::int64_t outputs) {
  // Every output sees one tap of each input channel.
  const double deviation = std::sqrt(1 / (static_cast<double>(channels(x)) * mean_square_[x]));
  const ValueId weights = normal(name + ".weight", Shape{channels(x), outputs, 2, 2}, deviation);
  const ValueId bias = uniform(name + ".bias", Shape{outputs}, -0.1, 0.1);
  ConvTranspose op;
  op.window.kernel = {2, 2};
  op.window.strides = {2, 2};
  return keep(graph_.add(name, op, {x, weights, bias}), 1);
}

ValueId ZooBuilder::upsample(const std::string& name, ValueId x) {
  const ValueId scales =
      graph_.add_constant(name + ".scales", Array::of<float>(Shape{4}, std::vector<float>{1, 1, 2, 2}));
  Resize op;
  op.mode = Resize::Mode::nearest;
  op.coordinates = Resize::Coordinates::asymmetric;
  op.nearest = Resize::Nearest::floor;
  return keep(graph_.add(name, op, {x, kNoValue, scales}), mean_square_[x]);
}

ValueId ZooBuilder::relu(const std::string& name, ValueId x) {
  return keep_rectified(graph_.add(name, Unary{Unary::Kind::relu}, {x}), x);
}

ValueId ZooBuilder::relu6(const std::string& name, ValueId x) {
  const ValueId low = graph_.add_constant(name + ".low", Array::scalar<float>(0));
  const ValueId high = graph_.add_constant(name + ".high", Array::scalar<float>(6));
  return keep_rectified(graph_.add(name, Clip{}, {x, low, high}), x);
}

ValueId ZooBuilder::silu(const std::string& name, ValueId x) {
  const ValueId s = graph_.add(name + ".sigmoid", Unary{Unary::Kind::sigmoid}, {x});
  return keep(graph_.add(name, Binary{Binary::Kind::mul}, {x, s}), 0.356 * mean_square_[x]);  // of a bell around 0
}

ValueId ZooBuilder::gate(const std::string& name, ValueId x, ValueId by) {
  return keep(graph_.add(name, Binary{Binary::Kind::mul}, {x, by}), mean_square_[x] * mean_square_[by]);
}

ValueId ZooBuilder::sigmoid(const std::string& name, ValueId x) {
  return keep(graph_.add(name, Unary{Unary::Kind::sigmoid}, {x}), 0.3);
}

ValueId ZooBuilder::add(const std::string& name, ValueId a, ValueId b) {
  const ValueId sum = graph_.add(name, Binary{Binary::Kind::add}, {a, b});
  if (rectified_.contains(a) || rectified_.contains(b)) rectified_.insert(sum);
  return keep(sum, mean_square_[a] + mean_square_[b]);
}

ValueId ZooBuilder::concat(const std::string& name, const std::vector<ValueId>& parts) {
  double sum = 0, count = 0;
  for (ValueId part : parts) {
    const double n = static_cast<double>(channels(part));
    sum += n * mean_square_[part];
    count += n;
  }
  return keep(graph_.add(name, Concat{1}, parts), sum / count);
}

std::vector<ValueId> ZooBuilder::halves(const std::string& name, ValueId x) {
  const std::vector<ValueId> parts = graph_.add_node(name, Split{.axis = 1, .sizes = {}, .outputs = 2}, {x}, 2);
  for (ValueId part : parts) keep(part, mean_square_[x]);
  return parts;
}

ValueId ZooBuilder::max_pool(const std::string& name, ValueId x, std::int64_t kernel, std::int64_t stride,
                             std::int64_t pad) {
  MaxPool op;
  op.window.kernel = {kernel, kernel};
  op.window.strides = {stride, stride};
  op.window.pads = std::vector<std::int64_t>(4, pad);
  return keep(graph_.add(name, op, {x}), 2.5 * mean_square_[x]);  // rectified values that are nearly independent
}

ValueId ZooBuilder::global_average(const std::string& name, ValueId x) {
  return keep(graph_.add(name, GlobalPool{}, {x}), mean_square_[x] / 2);
}

ValueId ZooBuilder::flatten(const std::string& name, ValueId x) {
  return keep(graph_.add(name, Flatten{}, {x}), mean_square_[x]);
}

ValueId ZooBuilder::dense(const std::string& name, ValueId x, std::int64_t outputs) {
  const std::int64_t inputs = channels(x);
  const ValueId weights =
      normal(name + ".weight", Shape{outputs, inputs}, std::sqrt(1 / (static_cast<double>(inputs) * mean_square_[x])));
  const ValueId bias = uniform(name + ".bias", Shape{outputs}, -0.1, 0.1);
  Gemm op;
  op.transpose_b = true;
  return keep(graph_.add(name, op, {x, weights, bias}), 1);
}

Graph ZooBuilder::finish(std::vector<ValueId> outputs) {
  graph_.outputs = std::move(outputs);
  verify(graph_);
  return std::move(graph_);
}

}  // namespace tessera
