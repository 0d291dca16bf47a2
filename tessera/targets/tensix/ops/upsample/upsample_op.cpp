#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/permute/permute.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"
#include "tessera/targets/tensix/ops/upsample/upsample_layer.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

// Numbers of a constant operand for all dimensions, where the node may name some.
std::optional<std::vector<double>> for_all_axes(const Node& node, const Lowering& graph, const Resize& op,
                                                std::size_t input, int rank) {
  const Constant given = graph.constant(node, input);
  if (!given || given->count() == 0) return std::nullopt;
  const std::vector<double> values = given->to_double();
  if (op.axes.empty()) return values;
  std::vector<double> out(static_cast<std::size_t>(rank), 0);
  for (std::size_t i = 0; i < op.axes.size() && i < values.size(); ++i)
    out[static_cast<std::size_t>(op.axes[i] < 0 ? op.axes[i] + rank : op.axes[i])] = values[i];
  return out;
}

// The weights along one dimension, new x old: the definition, asked with one pixel at a time. None: it does not say.
Constant weights_along(const Node& node, const Lowering& graph, const Resize& op, int dim) {
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  const std::int64_t n = in[dim], m = out[dim];
  const auto scales = for_all_axes(node, graph, op, 2, in.rank());
  const bool sizes = graph.constant(node, 3) != nullptr && graph.constant(node, 3)->count() > 0;
  if (!scales && !sizes) return nullptr;
  Array ones(ElementType::float32, Shape{1, n, n, 1});
  for (std::int64_t i = 0; i < n; ++i) ones.as<float>()[static_cast<std::size_t>(i * n + i)] = 1;
  Resize plain = op;
  plain.axes.clear();
  plain.aspect = Resize::Aspect::stretch;
  Array y;
  if (sizes) {
    const std::vector<std::int64_t> wanted{1, n, m, 1};
    const Array size = Array::of<std::int64_t>(Shape{4}, wanted);
    const Array* operands[] = {&ones, nullptr, nullptr, &size};
    y = reference(Op(plain), operands)[0];
  } else {
    const std::vector<float> factors{1, 1, static_cast<float>((*scales)[static_cast<std::size_t>(dim)]), 1};
    const Array factor = Array::of<float>(Shape{4}, factors);
    const Array* operands[] = {&ones, nullptr, &factor};
    y = reference(Op(plain), operands)[0];
  }
  if (y.shape() != Shape{1, n, m, 1}) return nullptr;
  auto matrix = std::make_shared<Array>(ElementType::float32, Shape{m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t k = 0; k < n; ++k)
      matrix->as<float>()[static_cast<std::size_t>(i * n + k)] = y.as<float>()[static_cast<std::size_t>(k * m + i)];
  return matrix;
}

bool stays(const Array& m) {
  const std::int64_t n = m.shape()[0];
  if (m.shape()[1] != n) return false;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < n; ++k)
      if (m.as<float>()[static_cast<std::size_t>(i * n + k)] != (i == k ? 1.0f : 0.0f)) return false;
  return true;
}

// Each pixel so many times; 0: no such number.
std::int64_t whole_factor(const Array& m) {
  const std::int64_t n = m.shape()[0], old = m.shape()[1];
  if (n % old != 0) return 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < old; ++k)
      if (m.as<float>()[static_cast<std::size_t>(i * old + k)] != (i / (n / old) == k ? 1.0f : 0.0f)) return 0;
  return n / old;
}

// What the card's bilinear upsampling takes.
bool is_plain_bilinear(const Resize& op, const Shape& in, const Shape& out) {
  constexpr std::int64_t kWholeTiles = 32;
  return op.mode == Resize::Mode::linear && !op.antialias && out[2] % in[2] == 0 && out[3] % in[3] == 0 &&
         in[1] % kWholeTiles == 0 &&
         (op.coordinates == Resize::Coordinates::half_pixel ||
          (op.coordinates == Resize::Coordinates::pytorch_half_pixel && out[2] != 1 && out[3] != 1));
}

std::optional<Lowered> lower_upsample(const Node& node, Lowering& graph) {
  const auto* resize = std::get_if<Resize>(&node.op);
  if (resize == nullptr) return std::nullopt;
  const Resize& op = *resize;
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  if (in.rank() != 4 || in[0] != out[0] || in[1] != out[1])
    return Refusal{fmt::format("it makes {} of {}", out.to_string(), in.to_string()), "N C H W can be had"};
  if (op.coordinates == Resize::Coordinates::tf_crop_and_resize)
    return Refusal{"it crops while it resizes", "cut the image first"};
  const Constant rows = weights_along(node, graph, op, 2), columns = weights_along(node, graph, op, 3);
  if (!rows || !columns || rows->shape()[0] != out[2] || columns->shape()[0] != out[3])
    return Refusal{"the new size is computed", ""};
  UpsampleLayer layer{in[0], in[2], in[3], in[1]};
  layer.scale_h = whole_factor(*rows);
  layer.scale_w = whole_factor(*columns);
  if (layer.scale_h > 0 && layer.scale_w > 0) return CardLayer(layer);
  if (is_plain_bilinear(op, in, out)) {
    layer.scale_h = out[2] / in[2];
    layer.scale_w = out[3] / in[3];
    layer.mode = UpsampleMode::bilinear;
    return CardLayer(layer);
  }
  layer.scale_h = layer.scale_w = 1;
  if (!stays(*rows)) layer.rows = rows;
  if (!stays(*columns)) layer.columns = columns;
  return CardLayer(std::move(layer));
}

std::string upsample_name(const UpsampleLayer& layer) { return layer.by_products() ? "matmul" : "upsample"; }

std::optional<CallRole> upsample_role(std::string_view name) {
  if (name == "upsample") return CallRole::computes;
  return std::nullopt;  // a product is called so by its own row
}

std::string upsample_digest(const UpsampleLayer& u) {
  std::string text = fmt::format("{}x{}x{}x{} by {}x{} {}", u.batch, u.height, u.width, u.channels, u.scale_h,
                                 u.scale_w, static_cast<int>(u.mode));
  if (u.rows) text += " rows " + u.rows->shape().to_string();
  if (u.columns) text += " columns " + u.columns->shape().to_string();
  return text;
}

// Which of the dimensions height, images, width, channels an image in rows has where, before each product: the one that
// is multiplied comes first.
struct Resizing {
  Constant weights;
  std::vector<std::int64_t> order;  // from what is there
  std::string_view name;            // of the weights
};

struct ProductSteps {
  std::vector<Resizing> steps;
  std::vector<std::int64_t> last_order;
};

// N H W C becomes H N W C, then W N H C, then N H W C again.
ProductSteps steps_of(const UpsampleLayer& layer) {
  if (!layer.columns) return {{{layer.rows, {1, 0, 2, 3}, "rows"}}, {1, 0, 2, 3}};
  if (!layer.rows) return {{{layer.columns, {2, 0, 1, 3}, "columns"}}, {1, 2, 0, 3}};
  return {{{layer.rows, {1, 0, 2, 3}, "rows"}, {layer.columns, {2, 1, 0, 3}, "columns"}}, {1, 2, 0, 3}};
}

std::vector<std::int64_t> ordered(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> out;
  for (const std::int64_t d : order) out.push_back(dims[static_cast<std::size_t>(d)]);
  return out;
}

DeviceTensor run_products(const UpsampleLayer& layer, NodeRun& node) {
  const ProductSteps all = steps_of(layer);
  std::vector<DeviceTensor> weights;
  for (const Resizing& step : all.steps)
    weights.push_back(
        node.send_weights(Shape{1, 1, step.weights->shape()[0], step.weights->shape()[1]}, DType::bfloat16, [&] {
          const auto values = step.weights->as<float>();
          return std::vector<float>(values.begin(), values.end());
        }));
  MatmulOptions o;
  o.dtype = DType::bfloat16;
  o.compute = node.compute();
  return node.fit(
      [&] {
        const Extent2d out = node.output_matrix();
        std::vector<std::int64_t> dims{layer.batch, layer.height, layer.width, layer.channels};
        DeviceTensor x = in_rows(in_dram(node.input()));
        for (std::size_t i = 0; i < all.steps.size(); ++i) {
          x = permute(reshape(x, Shape(dims)), all.steps[i].order);
          dims = ordered(dims, all.steps[i].order);
          x = in_tiles(reshape(x, Shape{1, 1, dims[0], dims[1] * dims[2] * dims[3]}));
          x = in_rows(matmul(weights[i], x, o));
          dims[0] = all.steps[i].weights->shape()[0];
        }
        return reshape(permute(reshape(x, Shape(dims)), all.last_order), Shape{1, 1, out.height, out.width});
      },
      false);
}

std::string emit_products(const UpsampleLayer& layer, TtnnCall& call) {
  const ProductSteps all = steps_of(layer);
  std::vector<std::int64_t> dims{layer.batch, layer.height, layer.width, layer.channels};
  std::string x = call.place().memory == kDramMemoryConfig ? call.input() : py_in_dram(call.input());
  if (call.is_tiled()) x = py_in_layout(x, Layout::row_major);
  std::string text = emit::py_call(4, "x = ttnn.reshape(", {x, emit::py_list(dims)});
  for (const Resizing& step : all.steps) {
    const std::string name = fmt::format("{}.{}", call.node(), step.name);
    call.keep_weight(name, step.weights, {1, 1, step.weights->shape()[0], step.weights->shape()[1]});
    text += emit::py_call(4, "x = ttnn.permute(", {"x", emit::py_list(step.order)});
    dims = ordered(dims, step.order);
    text += emit::py_call(4, "x = ttnn.reshape(",
                          {"x", fmt::format("[1, 1, {}, {}]", dims[0], dims[1] * dims[2] * dims[3])});
    text += emit::py_call(4, "x = ttnn.matmul(",
                          {fmt::format("weights({}, ttnn.bfloat16)", emit::py(name)), "ttnn.to_layout(x, TILE)",
                           "dtype=ttnn.bfloat16", fmt::format("compute_kernel_config={}", py_compute(call.compute()))});
    dims[0] = step.weights->shape()[0];
    text += emit::py_call(4, "x = ttnn.reshape(", {"ttnn.to_layout(x, ROWS)", emit::py_list(dims)});
  }
  const Extent2d out = call.output_matrix();
  text += emit::py_call(4, "x = ttnn.permute(", {"x", emit::py_list(all.last_order)});
  return text + call.assign("ttnn.reshape", {"x", fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

DeviceTensor run_upsample(const UpsampleLayer& layer, NodeRun& node) {
  if (layer.by_products()) return run_products(layer, node);
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
  if (layer.by_products()) return emit_products(layer, call);
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
                                 .ttnn_name = on_layer<upsample_name>,
                                 .named_role = upsample_role,
                                 .digest = on_layer<upsample_digest>,
                                 .run = on_layer<run_upsample>,
                                 .emit = on_layer<emit_upsample>,
                                 .set_images = on_layer<set_upsample_images>,
                                 .can_group = always,
                                 .group = on_layer<group_upsample>};

const CardOp* UpsampleLayer::op() const { return &card_op_upsample; }

}  // namespace tessera::tensix
