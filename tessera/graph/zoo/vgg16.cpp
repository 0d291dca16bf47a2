#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

namespace tessera {

Graph make_vgg16(const ZooModel& model, std::int64_t batch) {
  struct Stage {
    std::int64_t channels;
    int convs;
  };
  constexpr Stage kStages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  int stage_number = 1;
  for (const Stage& stage : kStages) {
    for (int i = 1; i <= stage.convs; ++i) {
      const std::string name = fmt::format("conv{}_{}", stage_number, i);
      x = b.relu(name + ".relu", b.conv(name, x, {stage.channels}));
    }
    x = b.max_pool(fmt::format("pool{}", stage_number++), x, 2, 2, 0);
  }
  x = b.flatten("flatten", x);
  x = b.relu("fc6.relu", b.dense("fc6", x, 4096));
  x = b.relu("fc7.relu", b.dense("fc7", x, 4096));
  return b.finish({b.dense("fc8", x, 1000)});
}

}  // namespace tessera
