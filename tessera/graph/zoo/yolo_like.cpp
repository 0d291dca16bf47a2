#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kClasses = 80, kBoxChannels = 64;  // a distribution of 16 bins for each side of a box

ValueId bottleneck(ZooBuilder& b, const std::string& name, ValueId x, bool shortcut) {
  const std::int64_t channels = b.channels(x);
  const ValueId y = b.conv_bn_silu(name + ".cv2", b.conv_bn_silu(name + ".cv1", x, {channels}), {channels});
  return shortcut ? b.add(name + ".add", x, y) : y;
}

// Half of the channels goes through bottlenecks; what each leaves is kept for the last convolution.
ValueId c2f(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t channels, int bottlenecks, bool shortcut) {
  std::vector<ValueId> parts = b.halves(name + ".split", b.conv_bn_silu(name + ".cv1", x, {channels, 1}));
  for (int i = 0; i < bottlenecks; ++i)
    parts.push_back(bottleneck(b, fmt::format("{}.m.{}", name, i), parts.back(), shortcut));
  return b.conv_bn_silu(name + ".cv2", b.concat(name + ".cat", parts), {channels, 1});
}

// Maxima over 5x5, 9x9 and 13x13.
ValueId sppf(ZooBuilder& b, const std::string& name, ValueId x) {
  const std::int64_t channels = b.channels(x);
  std::vector<ValueId> parts{b.conv_bn_silu(name + ".cv1", x, {channels / 2, 1})};
  for (int i = 1; i <= 3; ++i) parts.push_back(b.max_pool(fmt::format("{}.pool{}", name, i), parts.back(), 5, 1, 2));
  return b.conv_bn_silu(name + ".cv2", b.concat(name + ".cat", parts), {channels, 1});
}

// Boxes and classes for each position.
ValueId detect(ZooBuilder& b, const std::string& name, ValueId x) {
  const auto branch = [&](const std::string& part, std::int64_t hidden, std::int64_t outputs) {
    ValueId y = b.conv_bn_silu(part + ".0", x, {hidden});
    y = b.conv_bn_silu(part + ".1", y, {hidden});
    return b.conv(part + ".2", y, {outputs, 1});
  };
  const ValueId boxes = branch(name + ".box", kBoxChannels, kBoxChannels);
  return b.concat(name, {boxes, branch(name + ".cls", kClasses, kClasses)});
}

}  // namespace

Graph make_yolo_like(const ZooModel& model, std::int64_t batch) {
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  x = b.conv_bn_silu("model.0", x, {16, 3, 2});
  x = b.conv_bn_silu("model.1", x, {32, 3, 2});
  x = c2f(b, "model.2", x, 32, 1, true);
  x = b.conv_bn_silu("model.3", x, {64, 3, 2});
  const ValueId p3 = c2f(b, "model.4", x, 64, 2, true);
  x = b.conv_bn_silu("model.5", p3, {128, 3, 2});
  const ValueId p4 = c2f(b, "model.6", x, 128, 2, true);
  x = b.conv_bn_silu("model.7", p4, {256, 3, 2});
  x = c2f(b, "model.8", x, 256, 1, true);
  const ValueId p5 = sppf(b, "model.9", x);

  // Down the pyramid and up again.
  x = b.concat("model.11", {b.upsample("model.10", p5), p4});
  const ValueId middle = c2f(b, "model.12", x, 128, 1, false);
  x = b.concat("model.14", {b.upsample("model.13", middle), p3});
  const ValueId small = c2f(b, "model.15", x, 64, 1, false);
  x = b.concat("model.17", {b.conv_bn_silu("model.16", small, {64, 3, 2}), middle});
  const ValueId medium = c2f(b, "model.18", x, 128, 1, false);
  x = b.concat("model.20", {b.conv_bn_silu("model.19", medium, {128, 3, 2}), p5});
  const ValueId large = c2f(b, "model.21", x, 256, 1, false);
  return b.finish({detect(b, "p3", small), detect(b, "p4", medium), detect(b, "p5", large)});
}

}  // namespace tessera
