#include "tessera/graph/graph.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/ops/attention/attention.h"
#include "tessera/targets/tensix/ops/attention/attention_layer.h"
#include "tessera/targets/tensix/ops/attention/heads.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/permute/permute.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

// What is read and written; the products are added by who knows the blocks.
void count_attention(TensorWork& w) {
  w.page_by_page(w.inputs());
  w.all_dram();
}

// As the card takes it: the n-th of the batch takes the one at n % B.
Constant spread_mask(const Array& bias, const AttentionLayer& a) {
  const Shape& from = bias.shape();
  const std::int64_t planes = from[0] == 1 ? 1 : a.batch;
  auto mask = std::make_shared<Array>(ElementType::float32, Shape{planes, from[1], a.queries, a.keys});
  const auto in = bias.as<float>();
  const auto out = mask->as<float>();
  std::size_t i = 0;
  for (std::int64_t n = 0; n < planes; ++n)
    for (std::int64_t h = 0; h < from[1]; ++h)
      for (std::int64_t q = 0; q < a.queries; ++q)
        for (std::int64_t k = 0; k < a.keys; ++k)
          out[i++] = in[static_cast<std::size_t>(
              ((n % from[0] * from[1] + h) * from[2] + (from[2] == 1 ? 0 : q)) * from[3] + (from[3] == 1 ? 0 : k))];
  return mask;
}

std::optional<Lowered> lower_attention(const Node& node, Lowering& graph) {
  const auto* op = std::get_if<Attention>(&node.op);
  if (op == nullptr) return std::nullopt;
  AttentionLayer layer;
  layer.heads = op->heads;
  layer.scale = op->scale;
  const Shape q = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  layer.together = node.inputs.size() < 2 || node.inputs[1] == kNoValue;
  std::vector<ValueId> operands{node.inputs[0]};
  layer.batch = q[0];
  layer.queries = layer.keys = q[1];
  layer.size = q[2] / op->heads / (layer.together ? 3 : 1);
  layer.value_size = out[2] / op->heads;
  if (!layer.together) {
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (i >= node.inputs.size() || node.inputs[i] == kNoValue || graph.is_constant(node.inputs[i]))
        return Refusal{"its keys or values are constant", ""};
      operands.push_back(node.inputs[i]);
    }
    layer.keys = graph.shape(node.inputs[1])[1];
  }
  if (graph.is_constant(node.inputs[0])) return Refusal{"its queries are constant", ""};
  if (node.inputs.size() > 3 && node.inputs[3] != kNoValue) {
    const Constant bias = graph.constant(node, 3);
    if (!bias || bias->type() != ElementType::float32) return Refusal{"its bias is computed", ""};
    layer.mask = spread_mask(*bias, layer);
  }
  for (ValueId& id : operands) id = graph.with_columns(id, 2);
  graph.read(operands);
  graph.set_columns(node.outputs[0], 2);
  return CardLayer(std::move(layer));
}

std::string attention_name(const AttentionLayer&) { return "scaled_dot_product_attention"; }

std::optional<CallRole> attention_role(std::string_view name) {
  if (name == "scaled_dot_product_attention") return CallRole::computes;
  return std::nullopt;
}

std::string attention_digest(const AttentionLayer& a) {
  return fmt::format("{} of {}x{} {}x{} {}{}{}", a.heads, a.queries, a.size, a.keys, a.value_size, a.scale,
                     a.together ? " together" : "", a.mask ? " mask " + a.mask->shape().to_string() : "");
}

// Rows of tokens as [batch, heads, tokens, size] in tiles.
DeviceTensor heads_of_rows(const DeviceTensor& rows, std::int64_t batch, std::int64_t heads, std::int64_t tokens,
                           std::int64_t size) {
  const std::int64_t order[] = {0, 2, 1, 3};
  return in_tiles(permute(reshape(rows, Shape{batch, tokens, heads, size}), order));
}

QueryKeyValue queries_keys_values(const AttentionLayer& a, NodeRun& node) {
  const std::int64_t width = a.heads * a.size;
  if (!a.together)
    return {heads_of_rows(in_rows(in_dram(node.input(0))), a.batch, a.heads, a.queries, a.size),
            heads_of_rows(in_rows(in_dram(node.input(1))), a.batch, a.heads, a.keys, a.size),
            heads_of_rows(in_rows(in_dram(node.input(2))), a.batch, a.heads, a.keys, a.value_size)};
  if (a.is_one_program()) {
    const DeviceTensor x = reshape(in_tiles(in_dram(node.input())), Shape{a.batch, 1, a.queries, 3 * width});
    return create_qkv_heads("nlp_create_qkv_heads", x, std::nullopt,
                            {.heads = a.heads, .transpose_key = false, .memory_config = kDramMemoryConfig});
  }
  const DeviceTensor rows = in_rows(in_dram(node.input()));
  const auto part = [&](std::int64_t i) {
    const std::int64_t begins[] = {0, 0, 0, i * width}, ends[] = {1, 1, a.batch * a.queries, (i + 1) * width},
                       steps[] = {1, 1, 1, 1};
    return heads_of_rows(slice(rows, begins, ends, steps), a.batch, a.heads, a.queries, a.size);
  };
  return {part(0), part(1), part(2)};
}

DeviceTensor run_attention(const AttentionLayer& a, NodeRun& node) {
  std::optional<DeviceTensor> mask;
  if (a.mask)
    mask = node.send_weights(a.mask->shape(), DType::bfloat16, [&] {
      const auto values = a.mask->as<float>();
      return std::vector<float>(values.begin(), values.end());
    });
  return node.fit(
      [&] {
        const auto [q, k, v] = queries_keys_values(a, node);
        const Extent2d out = node.output_matrix();
        if (a.is_one_program()) {
          AttentionOptions o;
          o.causal = false;
          o.scale = a.scale;
          o.mask = mask;
          o.compute = node.compute();
          const DeviceTensor y = concat_heads("nlp_concat_heads", attention(q, k, v, o), kDramMemoryConfig);
          return reshape(y, Shape{1, 1, out.height, out.width});
        }
        MatmulOptions scores, mixed;
        scores.transpose_b = true;
        scores.compute = mixed.compute = node.compute();
        DeviceTensor s = matmul(q, k, scores);
        s = binary(Binary::Kind::mul, s, static_cast<double>(a.scale));
        if (mask) s = binary(Binary::Kind::add, s, *mask);
        const DeviceTensor y = matmul(softmax(s, -1, std::nullopt, node.compute()), v, mixed);
        const std::int64_t order[] = {0, 2, 1, 3};
        return reshape(permute(in_rows(y), order), Shape{1, 1, out.height, out.width});
      },
      false);
}

std::string emit_attention(const AttentionLayer& a, TtnnCall& call) {
  const std::int64_t width = a.heads * a.size;
  const auto far = [&](std::size_t i, Layout layout) {
    const std::string x = call.place(i).memory == kDramMemoryConfig ? call.input(i) : py_in_dram(call.input(i));
    return call.place(i).layout == layout ? x : py_in_layout(x, layout);
  };
  const auto heads = [&](const std::string& to, const std::string& rows, std::int64_t tokens, std::int64_t size) {
    return emit::py_call(4, to + " = ttnn.reshape(",
                         {rows, fmt::format("[{}, {}, {}, {}]", a.batch, tokens, a.heads, size)}) +
           fmt::format("    {0} = ttnn.to_layout(ttnn.permute({0}, [0, 2, 1, 3]), TILE)\n", to);
  };
  std::string text;
  if (!a.together) {
    text = heads("q", far(0, Layout::row_major), a.queries, a.size) +
           heads("k", far(1, Layout::row_major), a.keys, a.size) +
           heads("w", far(2, Layout::row_major), a.keys, a.value_size);
  } else if (a.is_one_program()) {
    text = emit::py_call(4, "x = ttnn.reshape(",
                         {far(0, Layout::tile), fmt::format("[{}, 1, {}, {}]", a.batch, a.queries, 3 * width)});
    text += emit::py_call(4, "q, k, w = ttnn.experimental.nlp_create_qkv_heads(",
                          {"x", fmt::format("num_heads={}", a.heads), fmt::format("num_kv_heads={}", a.heads),
                           "transpose_k_heads=False", "memory_config=DRAM"});
  } else {
    text = fmt::format("    x = {}\n", far(0, Layout::row_major));
    const char* names[] = {"q", "k", "w"};
    for (std::int64_t i = 0; i < 3; ++i)
      text += heads(names[i],
                    fmt::format("ttnn.slice(x, [0, 0, 0, {}], [1, 1, {}, {}], [1, 1, 1, 1])", i * width,
                                a.batch * a.queries, (i + 1) * width),
                    a.queries, a.size);
  }
  std::string mask;
  if (a.mask) {
    call.keep_weight(call.node() + ".mask", a.mask, a.mask->shape().dims());
    mask = fmt::format("weights({}, ttnn.bfloat16)", emit::py(call.node() + ".mask"));
  }
  const std::string compute = fmt::format("compute_kernel_config={}", py_compute(call.compute()));
  const Extent2d out = call.output_matrix();
  const std::string shape = fmt::format("[1, 1, {}, {}]", out.height, out.width);
  if (a.is_one_program()) {
    std::vector<std::string> arguments{"q", "k", "w", "is_causal=False",
                                       fmt::format("scale={}", emit::py(double{a.scale}))};
    if (a.mask) arguments.push_back("attn_mask=" + mask);
    arguments.push_back(compute);
    text += emit::py_call(4, "y = ttnn.transformer.scaled_dot_product_attention(", arguments);
    return text + call.assign("ttnn.reshape", {"ttnn.experimental.nlp_concat_heads(y, memory_config=DRAM)", shape});
  }
  text += emit::py_call(4, "s = ttnn.matmul(", {"q", "k", "transpose_b=True", compute});
  text += fmt::format("    s = ttnn.multiply(s, {})\n", emit::py(double{a.scale}));
  if (a.mask) text += fmt::format("    s = ttnn.add(s, {})\n", mask);
  text += emit::py_call(4, "s = ttnn.softmax(", {"s", "dim=-1", compute});
  text += emit::py_call(4, "y = ttnn.matmul(", {"s", "w", compute});
  return text + call.assign("ttnn.reshape", {"ttnn.permute(ttnn.to_layout(y, ROWS), [0, 2, 1, 3])", shape});
}

bool keeps_images(const AttentionLayer& a) { return !a.mask || a.mask->shape()[0] == 1; }
void set_attention_images(AttentionLayer& a, std::int64_t images) { a.batch = images; }

}  // namespace

const CardOp card_op_attention = {.kind = ProgramKind::attention,
                                  .count = count_attention,
                                  .lower = lower_attention,
                                  .any_columns = true,
                                  .ttnn_name = on_layer<attention_name>,
                                  .named_role = attention_role,
                                  .digest = on_layer<attention_digest>,
                                  .run = on_layer<run_attention>,
                                  .emit = on_layer<emit_attention>,
                                  .keeps_images_apart = on_layer<keeps_images>,
                                  .set_images = on_layer<set_attention_images>};

const CardOp* AttentionLayer::op() const { return &card_op_attention; }

}  // namespace tessera::tensix
