#include "tessera/quantize/qdq_graph.h"

#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace tessera {
namespace {

constexpr double kMostWeight = 127;  // -128 stays unused: weights are symmetric

struct QuantizedWeights {
  std::vector<std::int8_t> bytes;
  std::vector<float> scales;
};

// The output channel of each element, for axis `axis` of a shape.
struct ChannelOf {
  std::int64_t inner = 1, channels = 1;

  ChannelOf(const Shape& shape, int axis) : channels(shape[axis]) {
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
  std::size_t operator()(std::size_t i) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
  }
};

QuantizedWeights quantized_weights(const Array& weights, int axis, bool per_channel) {
  const std::vector<double> values = weights.to_double();
  const ChannelOf channel_of(weights.shape(), axis);
  std::vector<double> most(per_channel ? static_cast<std::size_t>(channel_of.channels) : 1);
  const auto scale_at = [&](std::size_t i) { return per_channel ? channel_of(i) : 0; };
  for (std::size_t i = 0; i < values.size(); ++i) most[scale_at(i)] = std::max(most[scale_at(i)], std::abs(values[i]));
  QuantizedWeights out;
  // A channel of zeros has any scale; products with scales of activations have to stay normal numbers.
  constexpr double kLeastScale = 1e-15;
  for (const double m : most)
    out.scales.push_back(m == 0 ? 1 : static_cast<float>(std::max(m / kMostWeight, kLeastScale)));
  for (std::size_t i = 0; i < values.size(); ++i)
    out.bytes.push_back(static_cast<std::int8_t>(
        std::clamp(std::nearbyint(values[i] / out.scales[scale_at(i)]), -kMostWeight, kMostWeight)));
  return out;
}

class Writer {
 public:
  Writer(const Graph& graph, const Selection& selection, const std::vector<ByteForm>& forms, bool per_channel)
      : from_(graph), selection_(selection), forms_(forms), per_channel_(per_channel), to_(graph) {
    to_.nodes.clear();
    read_as_.resize(graph.values.size());
    for (std::size_t id = 0; id < graph.values.size(); ++id) read_as_[id] = static_cast<ValueId>(id);
  }

  Graph run() {
    for (const ValueId id : from_.inputs) enclose(id);
    for (std::size_t n = 0; n < from_.nodes.size(); ++n) copy(n);
    remove_dead_code(to_);  // weights in float32 that nobody reads any more
    infer_types(to_);
    verify(to_);
    return std::move(to_);
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  void copy(std::size_t n) {
    Node node = from_.nodes[n];
    const bool product = selection_.nodes[n].role == ByteRole::product;
    if (product) weigh(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue && at(node.inputs[i]) < read_as_.size())
        node.inputs[i] = read_as_[at(node.inputs[i])];
    to_.nodes.push_back(std::move(node));
    for (const ValueId id : from_.nodes[n].outputs)
      if (id != kNoValue) enclose(id);
  }

  // The value as bytes and back. Everybody behind reads it so, an output of the network too.
  void enclose(ValueId id) {
    if (!selection_.bytes[at(id)]) return;
    const ByteForm& form = forms_[at(selection_.scale_of[at(id)])];
    const bool is_output = std::ranges::find(from_.outputs, id) != from_.outputs.end();
    const std::string name = from_.value(id).name;
    if (is_output) to_.value(id).name = free_name(name + "_float");
    const ValueId scale = to_.add_constant(free_name(name + "_scale"), Array::scalar(form.scale));
    const ValueId zero = to_.add_constant(free_name(name + "_zero"), Array::scalar(form.zero));
    const TensorType& type = from_.value(id).type;
    const ValueId bytes = to_.add_value(free_name(name + "_bytes"), TensorType(ElementType::uint8, type.dims));
    const ValueId again = to_.add_value(is_output ? name : free_name(name + "_dequantized"), type);
    to_.nodes.push_back({free_name(name + "_quantize"), QuantizeLinear{}, {id, scale, zero}, {bytes}, {}, 0});
    to_.nodes.push_back({free_name(name + "_dequantize"), DequantizeLinear{}, {bytes, scale, zero}, {again}, {}, 0});
    read_as_[at(id)] = again;
    if (is_output) std::ranges::replace(to_.outputs, id, again);
  }

  // Weights as int8, and the bias as int32 in steps of both scales.
  void weigh(Node& node) {
    const ValueId weights = node.inputs[1], data = node.inputs[0];
    const int axis = channel_axis(from_, node);
    const Array& array = *from_.value(weights).constant;
    const auto [known, fresh] = weights_.try_emplace({weights, axis});
    if (fresh) {
      const QuantizedWeights made = quantized_weights(array, axis, per_channel_);
      const std::string name = from_.value(weights).name;
      known->second.scales = made.scales;
      known->second.value =
          dequantized(name, Array::of<std::int8_t>(array.shape(), made.bytes), made.scales, array.type(), axis);
    }
    node.inputs[1] = known->second.value;
    if (node.inputs.size() < 3 || node.inputs[2] == kNoValue || !from_.value(node.inputs[2]).constant) return;
    const ByteForm& form = forms_[at(selection_.scale_of[at(data)])];
    node.inputs[2] = bias(node, known->second.scales, form.scale);
  }

  // The bias itself where it is not one number for each channel, or its steps would not be whole numbers of 32 bits.
  ValueId bias(const Node& node, const std::vector<float>& weight_scales, float data_scale) {
    const ValueId id = node.inputs[2];
    const Array& array = *from_.value(id).constant;
    const std::vector<double> values = array.to_double();
    const bool one_each =
        array.shape().rank() == 1 && (weight_scales.size() == 1 || weight_scales.size() == values.size());
    if (!one_each) return id;
    std::vector<float> scales;
    for (const float scale : weight_scales) scales.push_back(scale * data_scale);
    std::vector<std::int32_t> steps;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[scales.size() == 1 ? 0 : i];
      const double step = std::nearbyint(values[i] / static_cast<double>(scale));
      if (!std::isnormal(scale) || std::abs(step) > double{std::numeric_limits<std::int32_t>::max()} / 2) return id;
      steps.push_back(static_cast<std::int32_t>(step));
    }
    return dequantized(node.name + "_bias", Array::of<std::int32_t>(array.shape(), steps), scales, array.type(), 0);
  }

  ValueId dequantized(const std::string& name, Array integers, const std::vector<float>& scales, ElementType type,
                      int axis) {
    const Shape shape = scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(scales.size())};
    const TensorType made(type, integers.shape());
    const ValueId whole = to_.add_constant(free_name(name + "_quantized"), std::move(integers));
    const ValueId scale = to_.add_constant(free_name(name + "_scale"), Array::of<float>(shape, scales));
    const ValueId value = to_.add_value(free_name(name + "_dequantized"), made);
    const ElementType stored = to_.value(whole).type.type;
    const ValueId zero = to_.add_constant(free_name(name + "_zero"), Array(stored, shape));
    to_.nodes.push_back(
        {free_name(name + "_dequantize"), DequantizeLinear{.axis = axis}, {whole, scale, zero}, {value}, {}, 0});
    return value;
  }

  std::string free_name(const std::string& wanted) {
    if (names_.empty()) {
      for (const Value& value : from_.values) names_[value.name];
      for (const Node& node : from_.nodes) names_[node.name];
    }
    std::string name = wanted;
    for (int i = 2; names_.contains(name); ++i) name = wanted + "_" + std::to_string(i);
    names_[name];
    return name;
  }

  struct Weights {
    ValueId value = kNoValue;
    std::vector<float> scales;
  };

  const Graph& from_;
  const Selection& selection_;
  const std::vector<ByteForm>& forms_;
  const bool per_channel_;
  Graph to_;
  std::vector<ValueId> read_as_;
  std::map<std::pair<ValueId, int>, Weights> weights_;
  std::map<std::string, char> names_;
};

}  // namespace

Graph with_bytes(const Graph& graph, const Selection& selection, const std::vector<ByteForm>& forms, bool per_channel) {
  return Writer(graph, selection, forms, per_channel).run();
}

}  // namespace tessera
