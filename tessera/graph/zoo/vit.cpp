#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <fmt/format.h>

namespace tessera {

Graph make_vit_b_16(const ZooModel& model, std::int64_t batch) {
  constexpr std::int64_t kPatch = 16, kChannels = 768, kBlocks = 12, kHeads = 12, kHidden = 3072;
  ZooBuilder b(model.name);
  const std::int64_t patches = model.height / kPatch * (model.width / kPatch);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  x = b.patches("conv_proj", x, kChannels, kPatch);
  x = b.transpose("tokens", b.reshape("rows", x, {batch, kChannels, patches}), {0, 2, 1});
  const ValueId token = b.parameter("class_token", Shape{1, 1, kChannels}, 1);
  x = b.join("with_class", {b.repeated("class_tokens", token, {batch, 1, kChannels}), x}, 1);
  x = b.plus("positions", x, b.parameter("pos_embedding", Shape{1, patches + 1, kChannels}, 0.1));
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    const ValueId attended = b.self_attention(name + ".attention", b.layer_norm(name + ".ln_1", x), kHeads, 0.5);
    x = b.add(name + ".add_1", x, attended);
    ValueId y = b.linear(name + ".mlp.0", b.layer_norm(name + ".ln_2", x), kHidden);
    y = b.linear(name + ".mlp.3", b.gelu(name + ".gelu", y), kChannels, 0.5);
    x = b.add(name + ".add_2", x, y);
  }
  x = b.pick("class", b.layer_norm("ln", x), 1, 0);
  return b.finish({b.dense("head", x, 1000)});
}

}  // namespace tessera
