#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"
#include "tessera/targets/tensix/ops/upsample/upsample_layer.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

std::optional<Lowered> lower_upsample(const Node& node, Lowering& graph) {
  const auto* resize = std::get_if<Resize>(&node.op);
  if (resize == nullptr) return std::nullopt;
  const Resize& op = *resize;
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  const Hint whole{"images grow by whole factors on the card, nearest or bilinear with half-pixel centres"};
  if (in.rank() != 4 || in[0] != out[0] || in[1] != out[1] || out[2] % in[2] != 0 || out[3] % in[3] != 0)
    return Refusal{fmt::format("it makes {} of {}", out.to_string(), in.to_string()), whole.text};
  UpsampleLayer layer{in[0], in[2], in[3], in[1], out[2] / in[2], out[3] / in[3], UpsampleMode::nearest};
  if (op.antialias || op.mode == Resize::Mode::cubic) return Refusal{"it interpolates otherwise", whole.text};
  if (op.mode == Resize::Mode::linear) {
    layer.mode = UpsampleMode::bilinear;
    if (op.coordinates != Resize::Coordinates::half_pixel &&
        (op.coordinates != Resize::Coordinates::pytorch_half_pixel || out[2] == 1 || out[3] == 1))
      return Refusal{"its pixels lie elsewhere", whole.text};
    return CardLayer(layer);
  }
  // Which pixel is the nearest is a matter of many rules: ask the definition, over one column and one row.
  for (const int d : {2, 3}) {
    const std::int64_t n = in[d], scale = out[d] / n;
    Array ramp(ElementType::float32, Shape{1, 1, d == 2 ? n : 1, d == 3 ? n : 1});
    for (std::int64_t i = 0; i < n; ++i) ramp.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    const std::vector<float> factors{1, 1, d == 2 ? static_cast<float>(scale) : 1.0f,
                                     d == 3 ? static_cast<float>(scale) : 1.0f};
    const Array scales = Array::of<float>(Shape{4}, factors);
    Resize plain = op;
    plain.axes.clear();
    plain.aspect = Resize::Aspect::stretch;
    const Array* operands[] = {&ramp, nullptr, &scales};
    const Array y = reference(Op(plain), operands)[0];
    for (std::int64_t i = 0; i < n * scale; ++i)
      if (y.as<float>()[static_cast<std::size_t>(i)] != static_cast<float>(i / scale))
        return Refusal{"its nearest pixels are others", whole.text};
  }
  return CardLayer(layer);
}

std::string upsample_digest(const UpsampleLayer& u) {
  return fmt::format("{}x{}x{}x{} by {}x{} {}", u.batch, u.height, u.width, u.channels, u.scale_h, u.scale_w,
                     static_cast<int>(u.mode));
}

DeviceTensor run_upsample(const UpsampleLayer& layer, NodeRun& node) {
  UpsampleOptions o;
  o.scale = {static_cast<double>(layer.scale_h), static_cast<double>(layer.scale_w)};
  o.mode = layer.mode;
  o.compute = upsample_compute(node.compute(), layer.mode);
  const auto grow = [&](const DeviceTensor& rows) {
    const DeviceTensor image = reshape(rows, Shape{layer.batch, layer.height, layer.width, layer.channels});
    const Extent2d out = node.output_matrix();
    return reshape(upsample(image, o), Shape{1, 1, out.height, out.width});
  };
  return node.near_or_far([&] { return grow(in_rows(node.input())); },
                          [&] { return grow(in_rows(in_dram(node.input()))); });
}

std::string emit_upsample(const UpsampleLayer& layer, TtnnCall& call) {
  const Extent2d out = call.output_matrix();
  const std::string rows = call.is_tiled() ? py_in_layout(call.input(), Layout::row_major) : call.input();
  const std::string image =
      fmt::format("ttnn.reshape({}, [{}, {}, {}, {}])", rows, layer.batch, layer.height, layer.width, layer.channels);
  std::string text = emit::py_call(
      4, "y = ttnn.upsample(",
      {image, fmt::format("[{}, {}]", layer.scale_h, layer.scale_w),
       fmt::format("mode={}", layer.mode == UpsampleMode::nearest ? emit::py("nearest") : emit::py("bilinear")),
       fmt::format("compute_kernel_config={}", py_compute(upsample_compute(call.compute(), layer.mode)))});
  return text + call.assign("ttnn.reshape", {"y", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

void set_upsample_images(UpsampleLayer& layer, std::int64_t images) { layer.batch = images; }

void group_upsample(UpsampleLayer& layer, std::int64_t images) {
  layer.batch /= images;
  layer.channels *= images;
}

}  // namespace

// Every row of pixels is written as often as it is enlarged.
const CardOp card_op_upsample = {.kind = ProgramKind::upsample,
                                 .count = count_streamed_rows,
                                 .lower = lower_upsample,
                                 .digest = on_layer<upsample_digest>,
                                 .run = on_layer<run_upsample>,
                                 .emit = on_layer<emit_upsample>,
                                 .set_images = on_layer<set_upsample_images>,
                                 .can_group = always,
                                 .group = on_layer<group_upsample>};

const CardOp* UpsampleLayer::op() const { return &card_op_upsample; }

}  // namespace tessera::tensix
