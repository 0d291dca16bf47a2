#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <algorithm>

namespace tessera {
namespace {

// A factor for each channel out of its average over the image.
ValueId squeeze_excite(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t squeezed) {
  const std::int64_t channels = b.channels(x);
  ValueId s = b.global_average(name + ".squeeze", x);
  s = b.silu(name + ".silu", b.conv(name + ".reduce", s, {squeezed, 1}));
  s = b.sigmoid(name + ".sigmoid", b.conv(name + ".expand", s, {channels, 1}));
  return b.gate(name + ".gate", x, s);
}

}  // namespace

Graph make_efficientnet_like(const ZooModel& model, std::int64_t batch) {
  struct Stage {
    std::int64_t expansion, kernel, stride, channels, blocks;
  };
  constexpr Stage kStages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                               {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  x = b.conv_bn_silu("stem", x, {32, 3, 2});
  int block = 0;
  for (const Stage& stage : kStages)
    for (std::int64_t i = 0; i < stage.blocks; ++i, ++block) {
      const std::string name = fmt::format("blocks.{}", block);
      const std::int64_t stride = i == 0 ? stage.stride : 1, inputs = b.channels(x), hidden = inputs * stage.expansion;
      const bool residual = stride == 1 && inputs == stage.channels;
      ValueId y = stage.expansion == 1 ? x : b.conv_bn_silu(name + ".expand", x, {hidden, 1});
      y = b.conv_bn_silu(name + ".depthwise", y, {hidden, stage.kernel, stride, hidden});
      y = squeeze_excite(b, name + ".se", y, std::max<std::int64_t>(inputs / 4, 1));
      y = b.conv_bn(name + ".project", y, {stage.channels, 1}, residual ? 0.5 : 1);
      x = residual ? b.add(name + ".add", x, y) : y;
    }
  x = b.conv_bn_silu("head", x, {1280, 1});
  x = b.flatten("flatten", b.global_average("avgpool", x));
  return b.finish({b.dense("classifier", x, 1000)});
}

}  // namespace tessera
