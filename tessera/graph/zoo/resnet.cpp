#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <array>

namespace tessera {
namespace {

// A residual branch starts small in training and stays below its shortcut.
constexpr double kBranchGain = 0.5;

ValueId shortcut(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t channels, std::int64_t stride) {
  if (stride == 1 && b.channels(x) == channels) return x;
  return b.conv_bn(name + ".downsample", x, {channels, 1, stride});
}

ValueId basic_block(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t width, std::int64_t stride) {
  ValueId y = b.conv_bn_relu(name + ".conv1", x, {width, 3, stride});
  y = b.conv_bn(name + ".conv2", y, {width, 3}, kBranchGain);
  return b.relu(name + ".relu", b.add(name + ".add", y, shortcut(b, name, x, width, stride)));
}

ValueId bottleneck(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t width, std::int64_t stride) {
  ValueId y = b.conv_bn_relu(name + ".conv1", x, {width, 1});
  y = b.conv_bn_relu(name + ".conv2", y, {width, 3, stride});
  y = b.conv_bn(name + ".conv3", y, {4 * width, 1}, kBranchGain);
  return b.relu(name + ".relu", b.add(name + ".add", y, shortcut(b, name, x, 4 * width, stride)));
}

using Block = ValueId (*)(ZooBuilder&, const std::string&, ValueId, std::int64_t, std::int64_t);

Graph resnet(const ZooModel& model, std::int64_t batch, Block block, const std::array<int, 4>& blocks) {
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  x = b.conv_bn_relu("conv1", x, {64, 7, 2});
  x = b.max_pool("maxpool", x, 3, 2, 1);
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage, width *= 2)
    for (int i = 0; i < blocks[stage]; ++i)
      x = block(b, fmt::format("layer{}.{}", stage + 1, i), x, width, stage > 0 && i == 0 ? 2 : 1);
  x = b.flatten("flatten", b.global_average("avgpool", x));
  return b.finish({b.dense("fc", x, 1000)});
}

}  // namespace

Graph make_resnet18(const ZooModel& model, std::int64_t batch) {
  return resnet(model, batch, basic_block, {2, 2, 2, 2});
}
Graph make_resnet50(const ZooModel& model, std::int64_t batch) {
  return resnet(model, batch, bottleneck, {3, 4, 6, 3});
}

}  // namespace tessera
