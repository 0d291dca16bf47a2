#include "tessera/targets/tensix/plan/accuracy.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/matmul/linear_layer.h"
#include "tessera/targets/tensix/plan/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::tensix {
namespace {

constexpr double kExpected = 0.7;  // of what a layer loses is won back by one step up
constexpr double kLaunchNs = 1e3;  // what any change costs at least: operators of no arithmetic are not free

double macs(const tensix::LoweredGraph& network, const tensix::LoweredNode& node) {
  if (const auto* conv = node.layer.as<tensix::ConvLayer>()) {
    const tensix::Conv2dProblem& p = conv->problem;
    return static_cast<double>(p.batch * conv->out_h() * conv->out_w() * p.out_channels) *
           static_cast<double>(p.in_channels / p.groups * p.window.kernel_h * p.window.kernel_w);
  }
  if (const auto* linear = node.layer.as<tensix::LinearLayer>())
    return static_cast<double>(network.matrix(node.outputs[0]).height * linear->weights->count());
  return 0;
}

// Bytes move and products take phases.
double extra_ns(const tensix::LoweredGraph& network, const tensix::LoweredNode& node, const StepPrecision& from,
                const StepPrecision& to, const TensixSpec& card) {
  const auto cycles = [&](const StepPrecision& p) {
    return card.tile_matmul_cycles[static_cast<std::size_t>(phases(p.fidelity) - 1)] / (32.0 * 32 * 32);
  };
  const Extent2d out = network.matrix(node.outputs[0]);
  const double wider = from.dtype == to.dtype ? 0 : static_cast<double>(out.height * out.width) / 32;
  return kLaunchNs + (macs(network, node) * (cycles(to) - cycles(from)) + wider) / card.cores() / card.clock_hz * 1e9;
}

// What each node adds to what its operands have lost already.
std::vector<double> losses(const tensix::LoweredGraph& network, const NodeAccuracy& accuracy) {
  std::map<ValueId, double> lost;
  std::vector<double> out(network.nodes.size());
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    double before = 0;
    for (const ValueId id : network.nodes[i].inputs)
      if (const auto found = lost.find(id); found != lost.end()) before = std::max(before, found->second);
    const double after = accuracy.nodes[i] ? 1 - *accuracy.nodes[i] : before;
    for (const ValueId id : network.nodes[i].outputs) lost[id] = after;
    out[i] = std::max(after - before, 0.0);
  }
  return out;
}

}  // namespace

const std::vector<StepPrecision>& precision_levels() {
  static const std::vector<StepPrecision> levels{
      {DType::bfloat8_b, DType::bfloat8_b, MathFidelity::lofi, false},
      {DType::bfloat8_b, DType::bfloat8_b, MathFidelity::hifi2, false},
      {DType::bfloat16, DType::bfloat8_b, MathFidelity::hifi2, false},
      {DType::bfloat16, DType::bfloat16, MathFidelity::hifi4, false},
      {DType::bfloat16, DType::bfloat16, MathFidelity::hifi4, true},
  };
  return levels;
}

double correlation(const Array& a, const Array& b) {
  const auto x = a.as<float>(), y = b.as<float>();
  check(x.size() == y.size(), Code::internal, "results of {} and {} elements are compared", x.size(), y.size());
  const auto n = static_cast<double>(x.size());
  double sum_x = 0, sum_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum_x += double{x[i]}, sum_y += double{y[i]};
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = double{x[i]} - sum_x / n, dy = double{y[i]} - sum_y / n;
    xx += dx * dx, yy += dy * dy, xy += dx * dy;
  }
  if (xx > 0 && yy > 0) return xy / std::sqrt(xx * yy);
  return std::equal(x.begin(), x.end(), y.begin()) ? 1 : 0;
}

Calibration calibration_of(const tensix::LoweredGraph& network, std::uint64_t seed) {
  Calibration out;
  out.network = std::make_shared<tensix::LoweredGraph>(network);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (const ValueId id : network.graph.inputs) {
    const TensorType& type = network.graph.value(id).type;
    Array& x = out.inputs.emplace_back(type.type, type.shape());
    if (type.type == ElementType::float32)
      for (float& v : x.as<float>()) v = normal(random);
  }
  out.outputs = evaluate(network.graph, out.inputs, [&](const Node& node, const std::vector<const Array*>& results) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] != nullptr && results[i]->type() == ElementType::float32 && node.outputs[i] != kNoValue)
        out.values.insert_or_assign(network.graph.value(node.outputs[i]).name, *results[i]);
  });
  return out;
}

NodeAccuracy measure(const Calibration& calibration, const Machine& machine, std::int64_t l1_small_bytes,
                     const std::vector<StepPrecision>& precisions, const std::vector<tensix::LayerConfig>& pins,
                     const std::function<void()>& pulse) {
  const tensix::LoweredGraph& network = *calibration.network;
  tensix::SimulateOptions options;
  options.dtype = DType::bfloat16;
  options.compute.packer_l1_acc = true;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    index[network.nodes[i].name] = i;
    tensix::LayerConfig config, pinned_only;
    precisions[i].apply_to(config);
    apply_pins(pins[i], pinned_only);
    config.dtype = pinned_only.dtype ? pinned_only.dtype : config.dtype;
    config.weights_dtype = pinned_only.weights_dtype ? pinned_only.weights_dtype : config.weights_dtype;
    config.fidelity = pinned_only.fidelity ? pinned_only.fidelity : config.fidelity;
    config.fp32_dest_acc_en = pinned_only.fp32_dest_acc_en ? pinned_only.fp32_dest_acc_en : config.fp32_dest_acc_en;
    options.layers.emplace(network.nodes[i].name, config);
  }
  NodeAccuracy out;
  out.nodes.resize(network.nodes.size());
  options.on_result = [&](const tensix::LoweredNode& node, const Array& found) {
    if (pulse) pulse();
    const auto there = calibration.values.find(network.graph.value(node.outputs[0]).name);
    if (there != calibration.values.end() && found.type() == ElementType::float32 &&
        there->second.count() == found.count())
      out.nodes[index[node.name]] = correlation(found, there->second);
  };
  const auto device = Device::open(machine, {.l1_small_bytes = l1_small_bytes, .values = true});
  const tensix::Simulation done = tensix::simulate(device, network, calibration.inputs, options);
  for (std::size_t i = 0; i < done.outputs.size(); ++i)
    if (done.outputs[i].type() == ElementType::float32)
      out.pcc = std::min(out.pcc, correlation(done.outputs[i], calibration.outputs[i]));
  return out;
}

std::vector<StepPrecision> precisions_of(const tensix::LoweredGraph& network, const std::vector<std::size_t>& levels) {
  std::vector<StepPrecision> out;
  for (const std::size_t level : levels) out.push_back(precision_levels()[level]);
  const std::vector<ValueId>& leaving = network.graph.outputs;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_block_float(out[i].dtype) &&
        std::ranges::find_first_of(network.nodes[i].outputs, leaving) != network.nodes[i].outputs.end())
      out[i].dtype = DType::bfloat16;
  return out;
}

void raise_precisions(const tensix::LoweredGraph& network, const TensixSpec& card, const NodeAccuracy& accuracy,
                      double min_pcc, double best, std::vector<std::size_t>& level) {
  const std::size_t count = network.nodes.size();
  const std::vector<StepPrecision>& levels = precision_levels();
  const std::vector<double> lost = losses(network, accuracy);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i)
    if (level[i] + 1 < levels.size()) order.push_back(i);
  if (order.empty()) {
    const std::size_t worst = static_cast<std::size_t>(std::max_element(lost.begin(), lost.end()) - lost.begin());
    fail(Code::unsupported, Hint{fmt::format("ask for {:.4f} or less", std::floor(best * 1e4) / 1e4)},
         "no precision of the card holds a PCC of {}: the best that was found is {:.6f}; '{}' ({}) loses most, {:.2g}",
         min_pcc, best, network.nodes[worst].name, network.nodes[worst].op, lost[worst]);
  }
  std::vector<double> worth(count);
  for (const std::size_t i : order)
    worth[i] = lost[i] / extra_ns(network, network.nodes[i], levels[level[i]], levels[level[i] + 1], card);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
  // As many as should do, and a few at least: each round is a run of the whole network.
  const double needed = min_pcc - accuracy.pcc;
  double won = 0;
  std::size_t raised = 0;
  for (const std::size_t i : order) {
    if (won >= needed && raised >= count / 8 + 1) break;
    won += kExpected * lost[i];
    ++level[i];
    ++raised;
  }
}

Budgeted hold_budget(const Calibration& calibration, const Machine& machine, std::int64_t l1_small_bytes,
                     const std::vector<tensix::LayerConfig>& pins, double min_pcc, const std::function<bool()>& late) {
  const tensix::LoweredGraph& network = *calibration.network;
  Budgeted out;
  out.levels.resize(network.nodes.size());
  double best = -1;
  for (;;) {
    out.accuracy = measure(calibration, machine, l1_small_bytes, precisions_of(network, out.levels), pins, [&] {
      if (late) late();
    });
    if (out.accuracy.pcc >= min_pcc) return out;
    best = std::max(best, out.accuracy.pcc);
    std::vector<std::size_t> raised = out.levels;
    raise_precisions(network, tensix_of(machine), out.accuracy, min_pcc, best, raised);
    if (late && late()) std::fill(raised.begin(), raised.end(), precision_levels().size() - 1);
    out.levels = std::move(raised);
  }
}

}  // namespace tessera::tensix
