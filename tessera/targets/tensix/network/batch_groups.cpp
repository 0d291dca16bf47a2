#include "tessera/targets/tensix/network/batch_groups.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/network/network_values.h"
#include "tessera/targets/tensix/ops/card_op.h"

#include <algorithm>
#include <optional>

namespace tessera::tensix {
namespace {

bool can_group(const CardLayer& layer) {
  return layer.op() != nullptr && layer.op()->can_group != nullptr && layer.op()->can_group(layer);
}

// Of every value; none: they differ, or an operator stands in the way.
std::optional<std::int64_t> common_batch(const LoweredGraph& network) {
  if (!network.folds.empty() || !network.pixels.empty() || !network.columns.empty()) return std::nullopt;
  for (const LoweredNode& node : network.nodes)
    if (!can_group(node.layer)) return std::nullopt;
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
  for (LoweredNode& node : network.nodes)
    if (node.layer.op()->group != nullptr) node.layer.op()->group(node.layer, images);
  return network;
}

}  // namespace tessera::tensix
