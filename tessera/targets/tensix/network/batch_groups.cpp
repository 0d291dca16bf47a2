#include "tessera/targets/tensix/network/batch_groups.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/network/network_values.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tessera::tensix {
namespace {

Constant repeated(const Constant& given, std::int64_t times) {
  if (!given) return given;
  std::vector<std::int64_t> dims = given->shape().dims();
  if (dims.empty()) dims.push_back(1);
  dims[0] *= times;
  auto out = std::make_shared<Array>(given->type(), Shape(dims));
  const auto from = given->bytes();
  for (std::int64_t i = 0; i < times; ++i)
    std::memcpy(out->bytes().data() + static_cast<std::size_t>(i) * from.size(), from.data(), from.size());
  return out;
}

struct CanGroup {
  bool operator()(const ConvLayer&) const { return true; }
  bool operator()(const PoolLayer&) const { return true; }
  bool operator()(const BinaryLayer&) const { return true; }
  bool operator()(const UnaryLayer&) const { return true; }
  bool operator()(const ConcatLayer& layer) const { return layer.channels; }
  bool operator()(const UpsampleLayer&) const { return true; }
  bool operator()(const ViewLayer&) const { return true; }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

struct Group {
  std::int64_t images;

  void operator()(ConvLayer& layer) const {
    Conv2dProblem& p = layer.problem;
    p.batch /= images;
    p.in_channels *= images;
    p.out_channels *= images;
    p.groups *= images;
    layer.weights = repeated(layer.weights, images);
    layer.bias = repeated(layer.bias, images);
  }
  void operator()(PoolLayer& layer) const {
    layer.pool.batch /= images;
    layer.pool.channels *= images;
  }
  void operator()(BinaryLayer& layer) const {
    if (!layer.constant || layer.constant->count() == 1) return;
    const Array flat = layer.constant->reshaped(Shape{layer.constant->count()});
    layer.constant = repeated(std::make_shared<const Array>(flat), images);
  }
  void operator()(ConcatLayer& layer) const { layer.groups *= images; }
  void operator()(UpsampleLayer& layer) const {
    layer.batch /= images;
    layer.channels *= images;
  }
  template <class Other>
  void operator()(Other&) const {}
};

// Of every value; none: they differ, or an operator stands in the way.
std::optional<std::int64_t> common_batch(const LoweredGraph& network) {
  if (!network.folds.empty() || !network.pixels.empty()) return std::nullopt;
  for (const LoweredNode& node : network.nodes)
    if (!std::visit(CanGroup{}, node.layer)) return std::nullopt;
  std::optional<std::int64_t> batch;
  for (const ValueId id : values_of(network)) {
    const Value& value = network.graph.value(id);
    if (value.constant || value.type.type != ElementType::float32 || value.type.shape().rank() < 2) return std::nullopt;
    const std::int64_t own = value.type.shape()[0];
    if (batch && *batch != own) return std::nullopt;
    batch = own;
  }
  return batch;
}

}  // namespace

std::vector<std::int64_t> image_groups(const LoweredGraph& network) {
  std::vector<std::int64_t> out;
  const std::int64_t batch = common_batch(network).value_or(1);
  for (std::int64_t images = 2; images <= batch; ++images)
    if (batch % images == 0) out.push_back(images);
  return out;
}

Shape grouped_shape(const Shape& shape, std::int64_t images) {
  std::vector<std::int64_t> dims = shape.dims();
  dims[0] /= images;
  dims[1] *= images;
  return Shape(std::move(dims));
}

LoweredGraph group_images(LoweredGraph network, std::int64_t images) {
  if (images == 1) return network;
  const std::vector<std::int64_t> possible = image_groups(network);
  check(std::ranges::find(possible, images) != possible.end(), Code::invalid_argument,
        "{} images of this network cannot go side by side in channels: its batch is no multiple of them, or an "
        "operator mixes images or channels",
        images);
  for (const ValueId id : values_of(network)) {
    TensorType& type = network.graph.values[static_cast<std::size_t>(id)].type;
    type = TensorType(type.type, grouped_shape(type.shape(), images));
  }
  for (LoweredNode& node : network.nodes) std::visit(Group{images}, node.layer);
  return network;
}

}  // namespace tessera::tensix
