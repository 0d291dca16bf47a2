#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <fmt/format.h>

#include <iterator>

namespace tessera {
namespace {

// Over the channels of an image.
ValueId image_norm(ZooBuilder& b, const std::string& name, ValueId x) {
  const ValueId tokens = b.transpose(name + ".tokens", x, {0, 2, 3, 1});
  return b.transpose(name + ".image", b.layer_norm(name, tokens), {0, 3, 1, 2});
}

}  // namespace

Graph make_convnext_tiny(const ZooModel& model, std::int64_t batch) {
  struct Stage {
    std::int64_t channels, blocks;
  };
  constexpr Stage kStages[] = {{96, 3}, {192, 3}, {384, 9}, {768, 3}};
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  for (std::size_t s = 0; s < std::size(kStages); ++s) {
    const auto [channels, blocks] = kStages[s];
    const std::string stage = fmt::format("stages.{}", s);
    if (s == 0)
      x = image_norm(b, stage + ".norm", b.patches(stage + ".stem", x, channels, 4));
    else
      x = b.patches(stage + ".down", image_norm(b, stage + ".norm", x), channels, 2);
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::string name = fmt::format("{}.{}", stage, i);
      ValueId y = b.conv(name + ".depthwise", x, {channels, 7, 1, channels});
      y = b.layer_norm(name + ".norm", b.transpose(name + ".tokens", y, {0, 2, 3, 1}));
      y = b.gelu(name + ".gelu", b.linear(name + ".expand", y, 4 * channels));
      y = b.transpose(name + ".image", b.linear(name + ".project", y, channels), {0, 3, 1, 2});
      x = b.add(name + ".add", x, b.scale(name + ".layer_scale", y, Shape{channels, 1, 1}, 0.3));
    }
  }
  x = image_norm(b, "norm", b.global_average("avgpool", x));
  return b.finish({b.dense("head", b.flatten("flatten", x), 1000)});
}

}  // namespace tessera
