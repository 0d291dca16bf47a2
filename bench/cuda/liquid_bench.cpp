// Times liquid layers as compare_liquid_peers.py times those of others: the whole sequence as one CUDA graph, inputs on
// the device, events around replays, median and minimum. Results are held against the definition before anything is
// timed: the largest difference of any state of the first samples is printed.
//
//   tessera_cuda_liquid_bench [--all] [--filter TEXT] [--json FILE] [--replays N]
//
// --all times every kernel and cluster that takes the layer, not only the planner's choice.

#include "tessera/graph/op.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/cuda/kernels/liquid/cfc.h"
#include "tessera/targets/cuda/kernels/liquid/ltc.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tessera::cuda {
namespace {

using Floats = std::vector<float>;

struct Bench {
  Context context;
  KernelLibrary library{context};
  Stream stream{context};
  GpuSpec gpu = *load_machine("nvidia_h200").gpu;
  bool all = false;
  int replays = 100;
  std::string filter;
  nlohmann::json results = nlohmann::json::array();
};

Floats uniform(std::mt19937_64& random, std::int64_t count, double low, double high) {
  std::uniform_real_distribution<double> between(low, high);
  Floats out(static_cast<std::size_t>(count));
  for (float& v : out) v = static_cast<float>(between(random));
  return out;
}

Floats normal(std::mt19937_64& random, std::int64_t count) {
  std::normal_distribution<double> distribution;
  Floats out(static_cast<std::size_t>(count));
  for (float& v : out) v = static_cast<float>(distribution(random));
  return out;
}

Array array_of(std::span<const float> values, const Shape& shape) {
  Array out(ElementType::float32, shape);
  std::ranges::copy(values, out.as<float>().begin());
  return out;
}

struct Timing {
  double median_us = 0, minimum_us = 0;
  double deviation = 0;  // of any state of the samples that the definition was asked for
};

template <class Bound>
Timing timed(Bench& bench, const Bound& bound, const Memory& states, const std::vector<double>& wanted) {
  states.fill(bench.stream, 0xFF);
  bound.launch(bench.stream);
  Floats found(wanted.size());
  states.read(bench.stream, std::as_writable_bytes(std::span(found)));
  bench.stream.synchronize();
  Timing timing;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - wanted[i]);
    timing.deviation = std::isnan(error) ? INFINITY : std::max(timing.deviation, error);
  }
  const Graph graph(bench.stream, [&] { bound.launch(bench.stream); });
  for (int i = 0; i < 5; ++i) graph.replay(bench.stream);
  std::vector<double> times;
  const Event before(bench.context), after(bench.context);
  for (int i = 0; i < bench.replays; ++i) {
    before.record(bench.stream);
    graph.replay(bench.stream);
    after.record(bench.stream);
    after.synchronize();
    times.push_back(milliseconds_between(before, after) * 1e3);
  }
  std::ranges::sort(times);
  timing.median_us = times[times.size() / 2];
  timing.minimum_us = times[0];
  return timing;
}

template <class Row, class Offer>
void report(Bench& bench, const std::string& layer, const Row& row, const Offer& offer, const Timing& t, bool chosen,
            std::string_view precision) {
  fmt::print("{:34} {:12} cluster {} blocks {:4} {:7} {:9.2f} us (min {:9.2f}, model {:9.2f}) deviation {:.1e}{}\n",
             layer, row.name, offer.cluster, offer.blocks, offer.resident ? "shared" : "L2", t.median_us, t.minimum_us,
             offer.seconds * 1e6, t.deviation, chosen && bench.all ? " <- chosen" : "");
  std::fflush(stdout);
  bench.results.push_back({{"layer", layer},
                           {"precision", precision},
                           {"kernel", row.name},
                           {"cluster", offer.cluster},
                           {"blocks", offer.blocks},
                           {"resident", offer.resident},
                           {"chosen", chosen},
                           {"median_us", t.median_us},
                           {"minimum_us", t.minimum_us},
                           {"model_us", offer.seconds * 1e6},
                           {"bound", name(offer.bound)},
                           {"deviation", t.deviation}});
}

constexpr int kChecked = 2;  // samples that the definition is asked for

void bench_cfc(Bench& bench, int batch, int steps, int inputs, int units, int width, LiquidPrecision precision) {
  const std::string layer =
      fmt::format("CfC n{} T{} in{} h{} bb{} {}", batch, steps, inputs, units, width, name(precision));
  if (layer.find(bench.filter) == std::string::npos) return;
  CfcProblem p{.batch = batch, .steps = steps, .inputs = inputs, .cells = {{units, {width}}}};
  p.activation = Cfc::Activation::tanh;
  p.precision = precision;
  std::mt19937_64 random(1);
  const auto linear = [&](int rows, int columns) {
    const double limit = 1 / std::sqrt(columns);
    return std::pair(uniform(random, std::int64_t{rows} * columns, -limit, limit),
                     uniform(random, rows, -limit, limit));
  };
  const auto [backbone, backbone_bias] = linear(width, inputs + units);
  const auto [heads, head_bias] = linear(4 * units, width);
  const Floats x = normal(random, std::int64_t{batch} * steps * inputs);
  const int checked = std::min(batch, kChecked);
  const Array arrays[] = {
      array_of(std::span(x).first(static_cast<std::size_t>(checked * steps * inputs)), {checked, steps, inputs}),
      array_of(heads, {4 * units, width}), array_of(head_bias, {4 * units}),
      array_of(backbone, {width, inputs + units}), array_of(backbone_bias, {width})};
  const Array* operands[] = {&arrays[0], nullptr, nullptr, &arrays[1], &arrays[2], nullptr, &arrays[3], &arrays[4]};
  const std::vector<double> wanted =
      reference(Op(Cfc{.activation = Cfc::Activation::tanh}), operands).at(0).to_double();
  const Memory input(bench.context, std::as_bytes(std::span(x)));
  const Memory states(bench.context, std::int64_t{4} * batch * steps * units);
  const auto show = [&](const CfcRow& row, const CfcOffer& offer, bool chosen) {
    const PreparedCfc prepared(bench.library, p, row, offer,
                               {.cells = {{{{backbone, backbone_bias}}, {heads, head_bias}, {}}}, .projection = {}});
    const auto bound =
        prepared.bind({.x = static_cast<const float*>(input.data()), .states = static_cast<float*>(states.data())});
    report(bench, layer, row, offer, timed(bench, bound, states, wanted), chosen, name(precision));
  };
  const CfcPlan plan = plan_cfc(p, bench.gpu);
  if (!bench.all) return show(*plan.row, plan.offer, true);
  for (const CfcRow& row : cfc_rows())
    for (const int cluster : {1, 2, 4, 8}) {
      const CfcAnswer answer = consider(row, p, bench.gpu, cluster);
      if (const auto* offer = std::get_if<CfcOffer>(&answer))
        show(row, *offer, &row == plan.row && offer->cluster == plan.offer.cluster);
    }
}

void bench_ltc(Bench& bench, int batch, int steps, int inputs, int units, double absent) {
  const std::string layer =
      fmt::format("LTC n{} T{} in{} h{}{}", batch, steps, inputs, units, absent > 0 ? " sparse" : "");
  if (layer.find(bench.filter) == std::string::npos) return;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> part(0, 1);
  LtcProblem p{.batch = batch, .steps = steps, .inputs = inputs, .units = units};
  Floats membrane = uniform(random, units, 0.001, 1);
  for (const Floats& more : {uniform(random, units, -0.2, 0.2), uniform(random, units, 0.4, 0.6)})
    membrane.insert(membrane.end(), more.begin(), more.end());
  const auto synapses = [&](int sources) {
    const std::int64_t count = std::int64_t{sources} * units;
    Floats out = uniform(random, count, 0.001, 1);
    for (float& w : out) w = part(random) < absent ? 0 : w;
    for (const Floats& more : {uniform(random, count, 0.3, 0.8), uniform(random, count, 3, 8)})
      out.insert(out.end(), more.begin(), more.end());
    for (std::int64_t i = 0; i < count; ++i) out.push_back(part(random) < 0.5 ? -1.0f : 1.0f);
    return out;
  };
  const Floats sensory = synapses(inputs), recurrent = synapses(units);
  const LtcWeights weights{membrane, sensory, recurrent};
  set_fan_in(p, weights);
  const Floats x = normal(random, std::int64_t{batch} * steps * inputs);
  const int checked = std::min(batch, kChecked);
  const Array arrays[] = {
      array_of(std::span(x).first(static_cast<std::size_t>(checked * steps * inputs)), {checked, steps, inputs}),
      array_of(membrane, {3, units}), array_of(sensory, {4, inputs, units}), array_of(recurrent, {4, units, units})};
  const Array* operands[] = {&arrays[0], nullptr, nullptr, &arrays[1], &arrays[2], &arrays[3]};
  const std::vector<double> wanted = reference(Op(Ltc{}), operands).at(0).to_double();
  const Memory input(bench.context, std::as_bytes(std::span(x)));
  const Memory states(bench.context, std::int64_t{4} * batch * steps * units);
  const auto show = [&](const LtcRow& row, const LtcOffer& offer, bool chosen) {
    const PreparedLtc prepared(bench.library, p, row, offer, weights);
    const auto bound =
        prepared.bind({.x = static_cast<const float*>(input.data()), .states = static_cast<float*>(states.data())});
    report(bench, layer, row, offer, timed(bench, bound, states, wanted), chosen, "f32");
  };
  const LtcPlan plan = plan_ltc(p, bench.gpu);
  if (!bench.all) return show(*plan.row, plan.offer, true);
  for (const LtcRow& row : ltc_rows())
    for (const int cluster : {1, 2, 4, 8}) {
      const LtcAnswer answer = consider(row, p, bench.gpu, cluster);
      if (const auto* offer = std::get_if<LtcOffer>(&answer))
        show(row, *offer, &row == plan.row && offer->cluster == plan.offer.cluster);
    }
}

int run(int count, char** arguments) {
  if (const auto missing = absence()) {
    fmt::print("{}\n", missing->text);
    return 0;
  }
  Bench bench;
  std::string json_path;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--all") bench.all = true;
    if (argument == "--filter" && i + 1 < count) bench.filter = arguments[++i];
    if (argument == "--json" && i + 1 < count) json_path = arguments[++i];
    if (argument == "--replays" && i + 1 < count) bench.replays = std::stoi(arguments[++i]);
  }
  fmt::print("{}, {} multiprocessors\n", bench.context.properties().name, bench.context.properties().multiprocessors);
  for (const LiquidPrecision precision : {LiquidPrecision::tf32, LiquidPrecision::f32}) {
    bench_cfc(bench, 1, 128, 16, 64, 128, precision);
    bench_cfc(bench, 32, 128, 16, 64, 128, precision);
    bench_cfc(bench, 256, 128, 16, 256, 128, precision);
    bench_cfc(bench, 1024, 128, 32, 256, 256, precision);
    bench_cfc(bench, 64, 128, 64, 128, 128, precision);
  }
  bench_ltc(bench, 1, 128, 16, 32, 0);
  bench_ltc(bench, 32, 128, 16, 64, 0);
  bench_ltc(bench, 256, 128, 16, 64, 0);
  bench_ltc(bench, 32, 128, 16, 256, 0.8);
  if (!json_path.empty()) std::ofstream(json_path) << bench.results.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::cuda

int main(int count, char** arguments) {
  try {
    return tessera::cuda::run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
