#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <vector>

namespace tessera {
namespace {

ValueId convs(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t channels, int count) {
  for (int i = 1; i <= count; ++i) x = b.conv_bn_relu(fmt::format("{}.{}", name, i), x, {channels});
  return x;
}

// Five levels, transposed convolutions on the way up.
ValueId unet_body(ZooBuilder& b, ValueId x, std::int64_t outputs) {
  constexpr std::int64_t kLevels[] = {32, 64, 128, 256, 512};
  std::vector<ValueId> skips;
  for (std::size_t i = 0; i < std::size(kLevels); ++i) {
    if (i > 0) x = b.max_pool(fmt::format("pool{}", i), x, 2, 2, 0);
    x = convs(b, fmt::format("down{}", i + 1), x, kLevels[i], 2);
    skips.push_back(x);
  }
  for (std::size_t i = std::size(kLevels) - 1; i-- > 0;) {
    const ValueId up = b.up_conv(fmt::format("up{}", i + 1), x, kLevels[i]);
    x = convs(b, fmt::format("dec{}", i + 1), b.concat(fmt::format("cat{}", i + 1), {skips[i], up}), kLevels[i], 2);
  }
  return b.conv("out", x, {outputs, 1});
}

}  // namespace

Graph make_unet(const ZooModel& model, std::int64_t batch) {
  ZooBuilder b(model.name);
  const ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  return b.finish({unet_body(b, x, 2)});
}

Graph make_vanilla_unet(const ZooModel& model, std::int64_t batch) {
  ZooBuilder b(model.name);
  const ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  return b.finish({b.sigmoid("mask", unet_body(b, x, 1))});
}

Graph make_shallow_unet(const ZooModel& model, std::int64_t batch) {
  constexpr std::int64_t kDown[] = {16, 16, 32, 32}, kUp[] = {16, 16, 32, 32};
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  std::vector<ValueId> skips;
  for (std::size_t i = 0; i < std::size(kDown); ++i) {
    skips.push_back(convs(b, fmt::format("c{}", i + 1), x, kDown[i], 2));
    x = b.max_pool(fmt::format("p{}", i + 1), skips.back(), 2, 2, 0);
  }
  x = convs(b, "bnc", x, 64, 2);
  for (std::size_t i = std::size(kUp); i-- > 0;) {
    const ValueId up = b.upsample(fmt::format("u{}", i + 1), x);
    x = convs(b, fmt::format("c{}", 8 - i), b.concat(fmt::format("cat{}", i + 1), {up, skips[i]}), kUp[i], 3);
  }
  return b.finish({b.conv("output_layer", x, {1, 1})});
}

}  // namespace tessera
