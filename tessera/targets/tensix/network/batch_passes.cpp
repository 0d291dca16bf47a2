#include "tessera/targets/tensix/network/batch_passes.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/network/network_values.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"

#include <algorithm>
#include <cstring>

namespace tessera::tensix {
namespace {

// Whether it works image by image as long as the first extent of all values counts images.
bool keeps_images_apart(const CardLayer& layer) {
  const CardOp* op = layer.op();
  return op != nullptr && (op->keeps_images_apart == nullptr || op->keeps_images_apart(layer));
}

Shape with_first(const Shape& shape, std::int64_t extent) {
  std::vector<std::int64_t> dims = shape.dims();
  dims[0] = extent;
  return Shape(std::move(dims));
}

}  // namespace

std::optional<std::int64_t> independent_images(const LoweredGraph& network) {
  if (!network.folds.empty()) return std::nullopt;
  for (const LoweredNode& node : network.nodes)
    if (!keeps_images_apart(node.layer)) return std::nullopt;
  std::optional<std::int64_t> images;
  for (const ValueId id : values_of(network)) {
    const Value& value = network.graph.value(id);
    if (value.constant || value.type.type != ElementType::float32 || value.type.shape().rank() < 2) return std::nullopt;
    const std::int64_t own = value.type.shape()[0];
    if (images && *images != own) return std::nullopt;
    images = own;
  }
  for (const LoweredNode& node : network.nodes)
    if (const auto* conv = node.layer.as<ConvLayer>(); conv != nullptr && conv->problem.batch != images)
      return std::nullopt;
  return images;
}

LoweredGraph with_images(LoweredGraph network, std::int64_t images) {
  check(images > 0, Code::invalid_argument, "a network for {} images", images);
  const std::optional<std::int64_t> before = independent_images(network);
  check(before.has_value(), Code::invalid_argument,
        "the batch of this network cannot go through the card in passes: an operator mixes images or runs on the host");
  if (images == *before) return network;
  for (const ValueId id : values_of(network)) {
    TensorType& type = network.graph.values[static_cast<std::size_t>(id)].type;
    type = TensorType(type.type, with_first(type.shape(), images));
  }
  for (LoweredNode& node : network.nodes)
    if (node.layer.op()->set_images != nullptr) node.layer.op()->set_images(node.layer, images);
  return network;
}

Array images_of(const Array& batch, std::int64_t first, std::int64_t images) {
  const std::int64_t all = batch.shape()[0];
  check(first >= 0 && first < all && images > 0, Code::invalid_argument, "{} images from {} on, of a batch of {}",
        images, first, all);
  Array out(batch.type(), with_first(batch.shape(), images));
  const std::size_t image_bytes = batch.bytes().size() / static_cast<std::size_t>(all);
  const auto there = static_cast<std::size_t>(std::min(images, all - first));
  std::memcpy(out.bytes().data(), batch.bytes().data() + static_cast<std::size_t>(first) * image_bytes,
              there * image_bytes);
  return out;
}

Array joined_images(std::span<const Array> parts, std::int64_t images) {
  check(!parts.empty(), Code::invalid_argument, "no images to join");
  Array out(parts[0].type(), with_first(parts[0].shape(), images));
  std::size_t at = 0;
  for (const Array& part : parts) {
    const std::size_t bytes = std::min(part.bytes().size(), out.bytes().size() - at);
    std::memcpy(out.bytes().data() + at, part.bytes().data(), bytes);
    at += bytes;
  }
  check(at == out.bytes().size(), Code::invalid_argument, "parts of {} B make no {} images of {} B", at, images,
        out.bytes().size());
  return out;
}

}  // namespace tessera::tensix
