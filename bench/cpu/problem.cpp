#include "bench/cpu/problem.h"

#include "tessera/graph/passes/pass.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/ncp/graph_layer.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/parameters.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace tessera::bench {

CpuSpec machine() {
  CpuSpec spec;
  spec.vector_bits = 512;
  spec.l1d_bytes = 32 << 10;
  spec.l2_bytes = 1 << 20;
  spec.l3_read_bytes_per_s = 5e10;
  spec.f32_flop_per_s = spec.f32_all_flop_per_s = 1e11;
  spec.dram_read_bytes_per_s = spec.dram_read_all_bytes_per_s = 2e10;
  return spec;
}

Array random_array(ElementType type, const Shape& shape, std::mt19937_64& random) {
  Array out(type, shape);
  std::uniform_real_distribution<float> uniform(-1, 1);
  if (type == ElementType::float32 || type == ElementType::bfloat16)
    visit_floating_type(type, "bench", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T& v : out.as<T>()) v = T(uniform(random));
    });
  else if (type != ElementType::boolean)
    for (std::byte& b : out.bytes()) b = static_cast<std::byte>(random());
  return out;
}

namespace {

constexpr ElementType kF32 = ElementType::float32, kBf16 = ElementType::bfloat16;
constexpr ElementType kU8 = ElementType::uint8, kI8 = ElementType::int8, kI32 = ElementType::int32;

// Collects graphs of one node each.
class Nodes {
 public:
  struct Operand {
    enum class Kind { input, constant, absent } kind;
    Array array;
  };

  Operand input(ElementType type, const Shape& shape) { return {Operand::Kind::input, Array(type, shape)}; }
  Operand weights(ElementType type, const Shape& shape) {
    return {Operand::Kind::constant, random_array(type, shape, random_)};
  }
  Operand absent() { return {Operand::Kind::absent, {}}; }
  Operand integers(const std::vector<std::int64_t>& values) {
    return {Operand::Kind::constant, Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values)};
  }
  Operand floats(const std::vector<float>& values) {
    return {Operand::Kind::constant, Array::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values)};
  }
  template <class T>
  Operand scalar(T value) {
    return {Operand::Kind::constant, Array::of<T>(Shape{}, std::span<const T>(&value, 1))};
  }

  void add(std::string name, Op op, std::vector<Operand> operands, int outputs = 1) {
    BenchNode node{std::move(name), {}, 0};
    std::vector<ValueId> ids;
    for (Operand& operand : operands) {
      const std::string value = fmt::format("in{}", ids.size());
      if (operand.kind == Operand::Kind::absent)
        ids.push_back(kNoValue);
      else if (operand.kind == Operand::Kind::constant)
        ids.push_back(node.graph.add_constant(value, std::move(operand.array)));
      else
        ids.push_back(node.graph.add_input(value, TensorType(operand.array.type(), operand.array.shape())));
    }
    node.graph.outputs = node.graph.add_node("y", std::move(op), ids, outputs);
    list.push_back(std::move(node));
  }

  std::vector<BenchNode> list;

 private:
  std::mt19937_64 random_{1};
};

Window window(std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0) {
  Window w;
  w.kernel = {kernel, kernel};
  w.strides = {stride, stride};
  w.pads = {pad, pad, pad, pad};
  return w;
}
Window strides(std::int64_t stride, std::int64_t pad) {
  Window w = window(1, stride, pad);
  w.kernel.clear();
  return w;
}

void add_floats(Nodes& n, ElementType t) {
  const Shape image{1, 64, 56, 56};
  n.add("Binary add", Binary{Binary::Kind::add}, {n.input(t, image), n.input(t, image)});
  n.add("Unary silu", Unary{Unary::Kind::silu}, {n.input(t, image)});
  n.add("Clip", Clip{}, {n.input(t, image)});
  n.add("Conv 3x3", Conv{strides(1, 1)}, {n.input(t, image), n.weights(t, {64, 64, 3, 3}), n.weights(t, {64})});
  n.add("Conv 1x1", Conv{strides(1, 0)}, {n.input(t, image), n.weights(t, {256, 64, 1, 1}), n.weights(t, {256})});
  n.add("Conv 7x7", Conv{strides(2, 3)},
        {n.input(t, {1, 3, 224, 224}), n.weights(t, {64, 3, 7, 7}), n.weights(t, {64})});
  n.add("Conv 3x3 to 3", Conv{strides(1, 1)}, {n.input(t, {1, 32, 128, 128}), n.weights(t, {3, 32, 3, 3})});
  n.add("Conv 1x1 to 1", Conv{strides(1, 0)}, {n.input(t, {1, 64, 128, 128}), n.weights(t, {1, 64, 1, 1})});
  n.add("Conv depthwise", Conv{strides(1, 1), 144}, {n.input(t, {1, 144, 56, 56}), n.weights(t, {144, 1, 3, 3})});
  n.add("ConvTranspose", ConvTranspose{strides(2, 0)}, {n.input(t, {1, 128, 28, 28}), n.weights(t, {128, 64, 2, 2})});
  n.add("MaxPool", MaxPool{window(3, 2, 1)}, {n.input(t, {1, 64, 112, 112})});
  n.add("AveragePool", AveragePool{window(3, 1, 1)}, {n.input(t, image)});
  n.add("GlobalPool", GlobalPool{}, {n.input(t, {1, 1280, 7, 7})});
  n.add("Gemm", Gemm{1, 1, false, true}, {n.input(t, {32, 1024}), n.weights(t, {1000, 1024}), n.weights(t, {1000})});
  n.add("MatMul", MatMul{}, {n.input(t, {1, 128, 512}), n.weights(t, {512, 512})});
  n.add("MatMul of inputs", MatMul{}, {n.input(t, {8, 128, 64}), n.input(t, {8, 64, 128})});
  n.add("BatchNorm", BatchNorm{},
        {n.input(t, image),
         n.weights(t, {64}),
         n.weights(t, {64}),
         n.weights(t, {64}),
         {Nodes::Operand::Kind::constant, Array(t, {64})}});
  n.add("InstanceNorm", InstanceNorm{}, {n.input(t, image), n.weights(t, {64}), n.weights(t, {64})});
  n.add("GroupNorm", GroupNorm{8}, {n.input(t, image), n.weights(t, {64}), n.weights(t, {64})});
  n.add("LayerNorm", LayerNorm{}, {n.input(t, {128, 768}), n.weights(t, {768}), n.weights(t, {768})});
  n.add("RmsNorm", RmsNorm{}, {n.input(t, {128, 768}), n.weights(t, {768})});
  n.add("Lrn", Lrn{5}, {n.input(t, image)});
  n.add("Softmax", Softmax{}, {n.input(t, {64, 1000})});
  n.add("Reduce mean", Reduce{Reduce::Kind::mean, {2, 3}}, {n.input(t, image)});
  n.add("ArgReduce", ArgReduce{false, 1}, {n.input(t, {64, 1000})});
  n.add("Resize nearest", Resize{}, {n.input(t, image), n.absent(), n.floats({1, 1, 2, 2})});
  n.add("Resize linear", Resize{Resize::Mode::linear}, {n.input(t, image), n.absent(), n.floats({1, 1, 2, 2})});
  n.add("GridSample", GridSample{}, {n.input(t, image), n.input(ElementType::float32, {image[0], 56, 56, 2})});
  n.add("Transpose", Transpose{{0, 2, 3, 1}}, {n.input(t, image)});
  n.add("Concat", Concat{1}, {n.input(t, image), n.input(t, image)});
  n.add("Split", Split{1, {32, 32}, 2}, {n.input(t, image)}, 2);
  n.add("Slice", Slice{}, {n.input(t, image), n.integers({8, 8}), n.integers({48, 48}), n.integers({2, 3})});
  n.add("Pad", Pad{}, {n.input(t, image), n.integers({0, 0, 1, 1, 0, 0, 1, 1})});
  n.add("Gather", Gather{}, {n.input(t, {1000, 256}), n.integers(std::vector<std::int64_t>(512, 7))});
  n.add("DepthToSpace", DepthToSpace{2}, {n.input(t, image)});
  n.add("SpaceToDepth", SpaceToDepth{2}, {n.input(t, image)});
  n.add("Expand", Expand{}, {n.input(t, {1, 64, 1, 1}), n.integers({1, 64, 56, 56})});
  n.add("Tile", TileRepeat{}, {n.input(t, {1, 64, 14, 14}), n.integers({1, 1, 2, 2})});
  n.add("Where", Where{}, {n.input(ElementType::boolean, image), n.input(t, image), n.input(t, image)});
  n.add("Cast", Cast{t == kF32 ? kBf16 : kF32}, {n.input(t, image)});
  n.add("Recurrent lstm", Recurrent{Recurrent::Kind::lstm, Recurrent::Direction::forward, 128},
        {n.input(t, {20, 4, 64}), n.weights(t, {1, 512, 64}), n.weights(t, {1, 512, 128})}, 3);
}

void add_bytes(Nodes& n, ElementType t) {
  const Shape image{1, 64, 56, 56};
  const auto scale = [&](float value) { return n.scalar(value); };
  const auto zero = [&] { return t == kU8 ? n.scalar<std::uint8_t>(128) : n.scalar<std::int8_t>(3); };
  const auto weight_zero = [&] { return n.scalar<std::int8_t>(0); };
  n.add("QuantizeLinear", QuantizeLinear{}, {n.input(kF32, image), scale(0.1f), zero()});
  n.add("DequantizeLinear", DequantizeLinear{}, {n.input(t, image), scale(0.1f), zero()});
  n.add("Unary abs of integers", Unary{Unary::Kind::abs}, {n.input(kI32, image)});
  n.add("DynamicQuantizeLinear", DynamicQuantizeLinear{}, {n.input(kF32, image)}, 3);
  n.add("QLinearConv", QLinearConv{strides(1, 1)},
        {n.input(t, image), scale(0.1f), zero(), n.weights(kI8, {64, 64, 3, 3}), scale(0.01f), weight_zero(),
         scale(0.5f), zero(), n.weights(kI32, {64})});
  n.add("QLinearConv depthwise", QLinearConv{strides(1, 1), 64},
        {n.input(t, image), scale(0.1f), zero(), n.weights(kI8, {64, 1, 3, 3}), scale(0.01f), weight_zero(),
         scale(0.5f), zero()});
  n.add("ConvInteger", ConvInteger{strides(1, 1)}, {n.input(t, image), n.weights(kI8, {64, 64, 3, 3}), zero()});
  n.add("ConvInteger depthwise", ConvInteger{strides(1, 1), 64},
        {n.input(t, image), n.weights(kI8, {64, 1, 3, 3}), zero()});
  n.add("QLinearMatMul", QLinearMatMul{},
        {n.input(t, {128, 512}), scale(0.1f), zero(), n.weights(kI8, {512, 512}), scale(0.01f), weight_zero(),
         scale(0.5f), zero()});
  n.add("MatMulInteger", MatMulInteger{}, {n.input(t, {128, 512}), n.weights(kI8, {512, 512}), zero()});
  n.add("QLinearAdd", QLinearAdd{},
        {n.input(t, image), scale(0.1f), zero(), n.input(t, image), scale(0.2f), zero(), scale(0.3f), zero()});
  n.add("QLinearGlobalAveragePool", QLinearGlobalAveragePool{},
        {n.input(t, {1, 1280, 7, 7}), scale(0.1f), zero(), scale(0.1f), zero()});
  n.add("ByteLookup", ByteLookup{}, {n.input(t, image), n.weights(t, {256})});
  n.add("MaxPool", MaxPool{window(3, 2, 1)}, {n.input(t, {1, 64, 112, 112})});
  n.add("Clip", Clip{}, {n.input(t, image)});
}

// The nodes of a network after all passes, those that differ only in their sizes left out but for the first.
void add_network(std::vector<BenchNode>& list, Graph graph, const std::string& name) {
  run_passes(graph);
  if (fuse_chains(graph)) infer_types(graph);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::string kinds(tessera::name(node.op));
    for (const FusedOp& fused : node.fused) kinds += fmt::format(" {}", tessera::name(fused.op));
    if (seen.insert(kinds).second) list.push_back({fmt::format("{} of {}", kinds, name), graph, i});
  }
}

void add_liquid(std::vector<BenchNode>& list, const char* name, const char* json) {
  const ncp::Layer layer = ncp::layer_from_json(json);
  add_network(list,
              ncp::to_graph(layer, ncp::converted<float>(ncp::initial_parameters(layer, 1)), {.batch = 4, .steps = 16}),
              name);
}

}  // namespace

std::vector<BenchNode> bench_nodes() {
  Nodes nodes;
  for (const ElementType type : {kF32, kBf16}) add_floats(nodes, type);
  for (const ElementType type : {kU8, kI8}) add_bytes(nodes, type);
  std::vector<BenchNode> list = std::move(nodes.list);
  add_network(list, make_zoo_model("mobilenet_v2"), "mobilenet_v2");
  add_liquid(list, "a cfc", R"({"type":"CfC","input_size":16,"units":64,"backbone_units":[128]})");
  add_liquid(list, "an ltc",
             R"({"type":"LTC","input_size":16,"wiring":{"type":"AutoNCP","units":32,"output_size":4}})");
  return list;
}

}  // namespace tessera::bench
