#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

namespace tessera {

Graph make_mobilenet_v2(const ZooModel& model, std::int64_t batch) {
  struct Stage {
    std::int64_t expansion, channels, blocks, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  x = b.conv_bn_relu6("features.0", x, {32, 3, 2});
  int block = 1;
  for (const Stage& stage : kStages)
    for (std::int64_t i = 0; i < stage.blocks; ++i, ++block) {
      const std::string name = fmt::format("features.{}", block);
      const std::int64_t stride = i == 0 ? stage.stride : 1, hidden = b.channels(x) * stage.expansion;
      const bool residual = stride == 1 && b.channels(x) == stage.channels;
      ValueId y = stage.expansion == 1 ? x : b.conv_bn_relu6(name + ".expand", x, {hidden, 1});
      y = b.conv_bn_relu6(name + ".depthwise", y, {hidden, 3, stride, hidden});
      y = b.conv_bn(name + ".project", y, {stage.channels, 1}, residual ? 0.5 : 1);
      x = residual ? b.add(name + ".add", x, y) : y;
    }
  x = b.conv_bn_relu6(fmt::format("features.{}", block), x, {1280, 1});
  x = b.flatten("flatten", b.global_average("avgpool", x));
  return b.finish({b.dense("classifier", x, 1000)});
}

}  // namespace tessera
