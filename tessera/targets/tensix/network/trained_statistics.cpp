#include "tessera/targets/tensix/network/trained_statistics.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/network/graph_values.h"

#include <cmath>
#include <map>
#include <set>

namespace tessera::tensix {
namespace {

// The bits do not depend on the standard library's distributions.
class Random {
 public:
  explicit Random(const std::string& name) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  double normal() {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t b = bits();
      sum += static_cast<double>((b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48)) * 0x1p-16 - 2;
    }
    return sum;  // twelve uniforms of variance 1/12
  }

 private:
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

// exp(spread * z) with a mean square of 1.
double factor(Random& random, double spread) { return std::exp(spread * random.normal() - spread * spread); }

void spread_weights(Value& value, double spread) {
  if (!value.constant || value.constant->type() != ElementType::float32) return;
  Array weights = *value.constant;
  Random random(value.name + ".spread");
  for (float& w : weights.as<float>()) w = static_cast<float>(w * factor(random, spread));
  value.constant = std::make_shared<const Array>(std::move(weights));
}

void fit_batch_norm(Graph& graph, const Node& node, const Array& x, bool rectified, const TrainedStatistics& s) {
  const std::int64_t channels = x.shape()[1];
  std::int64_t plane = 1;
  for (int d = 2; d < x.shape().rank(); ++d) plane *= x.shape()[d];
  const auto values = x.as<float>();
  std::vector<double> sum(static_cast<std::size_t>(channels)), squares(sum.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i / static_cast<std::size_t>(plane) % static_cast<std::size_t>(channels);
    sum[c] += values[i];
    squares[c] += static_cast<double>(values[i]) * values[i];
  }
  const double count = static_cast<double>(x.shape()[0] * plane);
  const auto constant = [&](std::size_t i) -> Value& {
    Value& value = graph.value(node.inputs[i]);
    check(value.constant && value.constant->count() == channels, Code::unsupported,
          "'{}' of batch norm '{}' is no constant of {} channels", value.name, node.name, channels);
    return value;
  };
  Array scale = *constant(1).constant, shift = *constant(2).constant, mean = *constant(3).constant,
        variance = *constant(4).constant;
  Random random(node.name + ".statistics");
  for (std::size_t c = 0; c < sum.size(); ++c) {
    const double m = sum[c] / count, v = squares[c] / count - m * m;
    const double gain = scale.as<float>()[c] * factor(random, s.scale_spread);
    const double shifted = (rectified ? s.shift_mean : 0) + s.shift_deviation * random.normal();
    scale.as<float>()[c] = static_cast<float>(gain);
    shift.as<float>()[c] = static_cast<float>(gain * shifted);
    mean.as<float>()[c] = static_cast<float>(m);
    variance.as<float>()[c] = static_cast<float>(std::max(v, 1e-6));
  }
  constant(1).constant = std::make_shared<const Array>(std::move(scale));
  constant(2).constant = std::make_shared<const Array>(std::move(shift));
  constant(3).constant = std::make_shared<const Array>(std::move(mean));
  constant(4).constant = std::make_shared<const Array>(std::move(variance));
}

}  // namespace

Graph with_trained_statistics(Graph graph, const std::vector<Array>& inputs, const TrainedStatistics& statistics) {
  std::set<ValueId> rectified;  // values that a rectifier reads
  for (const Node& node : graph.nodes) {
    const bool product = std::holds_alternative<Conv>(node.op) || std::holds_alternative<ConvTranspose>(node.op) ||
                         std::holds_alternative<Gemm>(node.op);
    if (product) spread_weights(graph.value(node.inputs[1]), statistics.weight_spread);
    if (std::holds_alternative<Unary>(node.op) || std::holds_alternative<Clip>(node.op))
      rectified.insert(node.inputs[0]);
  }
  // As exact as the card's arithmetic gets, and fast.
  GraphPrecision precise{DType::float32, DType::float32, {}};
  precise.compute.fp32_dest_acc_en = true;
  std::multimap<ValueId, const Node*> readers;  // batch norms by what they read
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<BatchNorm>(node.op)) readers.emplace(node.inputs[0], &node);
  graph_values(graph, inputs, precise, [&](const Node& node, const Array& y) {
    for (auto [at, end] = readers.equal_range(node.outputs[0]); at != end; ++at)
      fit_batch_norm(graph, *at->second, y, rectified.contains(at->second->outputs[0]), statistics);
  });
  return graph;
}

}  // namespace tessera::tensix
