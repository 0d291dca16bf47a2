#include "tessera/graph/zoo/builder.h"
#include "tessera/graph/zoo/models.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kWindow = 7, kTokens = kWindow * kWindow, kHeadSize = 32;
constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

// Rows and columns shifted round by `by`, as exporters write torch.roll.
ValueId rolled(ZooBuilder& b, const std::string& name, ValueId x, std::int64_t by) {
  for (const std::int64_t axis : {1, 2}) {
    const std::string part = fmt::format("{}.{}", name, axis);
    x = b.join(part, {b.slice(part + ".last", x, axis, -by, kToTheEnd), b.slice(part + ".first", x, axis, 0, -by)},
               axis);
  }
  return x;
}

ValueId windows_of(ZooBuilder& b, const std::string& name, ValueId x) {
  const Shape s = b.shape(x);
  x = b.reshape(name + ".cut", x, {s[0], s[1] / kWindow, kWindow, s[2] / kWindow, kWindow, s[3]});
  x = b.transpose(name + ".turned", x, {0, 1, 3, 2, 4, 5});
  return b.reshape(name, x, {s.volume() / (kTokens * s[3]), kTokens, s[3]});
}

ValueId image_of(ZooBuilder& b, const std::string& name, ValueId windows, const Shape& s) {
  ValueId x = b.reshape(name + ".cut", windows, {s[0], s[1] / kWindow, s[2] / kWindow, kWindow, kWindow, s[3]});
  x = b.transpose(name + ".turned", x, {0, 1, 3, 2, 4, 5});
  return b.reshape(name, x, {s[0], s[1], s[2], s[3]});
}

// Pixels of a window that were not neighbours before the shift do not see each other.
Array shift_mask(std::int64_t height, std::int64_t width, std::int64_t shift) {
  const std::int64_t columns = width / kWindow, windows = height / kWindow * columns;
  const auto region = [&](std::int64_t at, std::int64_t extent) {
    return at < extent - kWindow ? 0 : at < extent - shift ? 1 : 2;
  };
  Array mask(ElementType::float32, Shape{windows, kTokens, kTokens});
  float* to = mask.as<float>().data();
  for (std::int64_t w = 0; w < windows; ++w) {
    const auto part = [&](std::int64_t token) {
      return region(w / columns * kWindow + token / kWindow, height) * 3 +
             region(w % columns * kWindow + token % kWindow, width);
    };
    for (std::int64_t i = 0; i < kTokens; ++i)
      for (std::int64_t j = 0; j < kTokens; ++j) *to++ = part(i) == part(j) ? 0.0f : -100.0f;
  }
  return mask;
}

ValueId merged(ZooBuilder& b, const std::string& name, ValueId x) {
  std::vector<ValueId> parts;
  for (const auto& [row, column] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}}) {
    const std::string part = fmt::format("{}.{}{}", name, row, column);
    parts.push_back(b.slice(part, b.slice(part + ".rows", x, 1, row, kToTheEnd, 2), 2, column, kToTheEnd, 2));
  }
  const std::int64_t channels = b.shape(x)[3];
  return b.linear(name + ".reduction", b.layer_norm(name + ".norm", b.join(name + ".parts", parts, 3)), 2 * channels, 1,
                  false);
}

}  // namespace

Graph make_swin_t(const ZooModel& model, std::int64_t batch) {
  constexpr std::int64_t kChannels = 96, kBlocks[] = {2, 2, 6, 2};
  ZooBuilder b(model.name);
  ValueId x = b.input("x", Shape{batch, model.channels, model.height, model.width});
  x = b.layer_norm("embed.norm", b.transpose("embed.tokens", b.patches("embed", x, kChannels, 4), {0, 2, 3, 1}));
  for (std::size_t s = 0; s < std::size(kBlocks); ++s) {
    const std::string stage = fmt::format("stages.{}", s);
    if (s > 0) x = merged(b, stage + ".merge", x);
    const Shape image = b.shape(x);
    const std::int64_t channels = image[3], heads = channels / kHeadSize;
    for (std::int64_t i = 0; i < kBlocks[s]; ++i) {
      const std::string name = fmt::format("{}.{}", stage, i);
      const std::int64_t shift = i % 2 == 1 && image[1] > kWindow ? kWindow / 2 : 0;
      ValueId y = b.layer_norm(name + ".norm_1", x);
      if (shift > 0) y = rolled(b, name + ".shift", y, -shift);
      const ValueId bias = b.parameter(name + ".relative_positions", Shape{heads, kTokens, kTokens}, 0.5);
      const ValueId mask = shift > 0 ? b.constant(name + ".mask", shift_mask(image[1], image[2], shift)) : kNoValue;
      y = b.self_attention(name + ".attention", windows_of(b, name + ".windows", y), heads, 0.5, bias, mask);
      y = image_of(b, name + ".image", y, image);
      if (shift > 0) y = rolled(b, name + ".shift_back", y, shift);
      x = b.add(name + ".add_1", x, y);
      y = b.linear(name + ".mlp.0", b.layer_norm(name + ".norm_2", x), 4 * channels);
      y = b.linear(name + ".mlp.3", b.gelu(name + ".gelu", y), channels, 0.5);
      x = b.add(name + ".add_2", x, y);
    }
  }
  x = b.layer_norm("norm", x);
  x = b.mean("avgpool", b.reshape("rows", x, {batch, b.shape(x)[1] * b.shape(x)[2], b.shape(x)[3]}), 1);
  return b.finish({b.dense("head", x, 1000)});
}

}  // namespace tessera
