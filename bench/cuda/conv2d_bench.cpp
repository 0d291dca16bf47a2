// Times convolutions as bench_peers.py times those of others: 20 launches in one CUDA graph, inputs on the device,
// events around replays, the median of 30. Where result and input have one shape, each launch reads what the one before
// wrote. Results are checked at random places before anything is timed.
//
//   tessera_cuda_bench [--all] [--filter TEXT] [--json FILE] [--type f16|bf16|tf32|f32]
//
// --all times every kernel and split that takes the layer, not only the planner's choice.

#include "tessera/core/float_bits.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d.h"
#include "tessera/targets/cuda/kernels/kernel.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace tessera::cuda {
namespace {

struct Layer {
  std::string name;  // as bench_peers.py prints it
  Conv2dProblem problem;
};

Conv2dProblem layer(int n, int c, int oc, int h, int w, int k, int stride, int pad, int pool, bool relu) {
  return {.n = n,
          .h = h,
          .w = w,
          .c = c,
          .oc = oc,
          .kh = k,
          .kw = k,
          .stride = {stride, stride},
          .pads = {pad, pad, pad, pad},
          .activation = relu ? kRelu : kPlain,
          .pool = pool};
}

std::vector<Layer> layers() {
  std::vector<Layer> out;
  for (const int pool : {1, 2})
    out.push_back(
        {fmt::format("large 1x256x224x224->256 pool{}", pool), layer(1, 256, 256, 224, 224, 3, 1, 0, pool, false)});
  for (const int pool : {1, 2})
    for (const int c : {128, 256})
      out.push_back(
          {fmt::format("small 4x{}x32x16->{} pool{}", c, c, pool), layer(4, c, c, 32, 16, 3, 1, 0, pool, false)});
  constexpr struct {
    int c, oc, hw, k, stride, pad;
  } kRows[] = {{64, 64, 56, 3, 1, 1},    {128, 128, 28, 3, 1, 1}, {256, 256, 14, 3, 1, 1},
               {512, 512, 7, 3, 1, 1},   {3, 64, 224, 7, 2, 3},   {256, 64, 56, 1, 1, 0},
               {1024, 256, 14, 1, 1, 0}, {64, 64, 112, 3, 1, 1},  {32, 64, 512, 3, 1, 1}};
  for (const int n : {1, 16})
    for (const auto& row : kRows)
      out.push_back({fmt::format("n{} {}->{} {}x{} k{}s{}", n, row.c, row.oc, row.hw, row.hw, row.k, row.stride),
                     layer(n, row.c, row.oc, row.hw, row.hw, row.k, row.stride, row.pad, 1, true)});
  out.push_back({"n16 stem 3->64 224 k7s2 +pool2", layer(16, 3, 64, 224, 224, 7, 2, 3, 2, true)});
  out.push_back({"n1 unet 64->64 256 +pool2", layer(1, 64, 64, 256, 256, 3, 1, 1, 2, true)});
  out.push_back({"n8 vgg 64->64 224 +pool2", layer(8, 64, 64, 224, 224, 3, 1, 1, 2, true)});
  return out;
}

float rounded(ElementType type, float x) {
  if (type == ElementType::float32) return x;
  return type == ElementType::float16 ? float_from_float16(float16_from_float(x))
                                      : float_from_bfloat16(bfloat16_from_float_host(x));
}

struct Operands {
  std::vector<float> x, w, bias;  // as the type holds them
};

Operands make_operands(const Conv2dProblem& p) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Operands out;
  out.x.resize(static_cast<std::size_t>(p.x_elements()));
  for (float& x : out.x) x = rounded(p.type, normal(random));
  const float scale = 1 / std::sqrt(static_cast<float>(p.w_elements() / p.oc));
  out.w.resize(static_cast<std::size_t>(p.w_elements()));
  for (float& w : out.w) w = rounded(p.type, normal(random) * scale);
  out.bias.resize(static_cast<std::size_t>(p.oc));
  for (float& b : out.bias) b = rounded(p.type, normal(random));
  return out;
}

// One result by the definition.
double result_at(const Conv2dProblem& p, const Operands& operands, std::int64_t at) {
  const int ow = p.ow() / p.pool, oh = p.oh() / p.pool;
  const auto o = at % p.oc, column = at / p.oc % ow, row = at / p.oc / ow % oh, n = at / p.oc / ow / oh;
  double result = -1e30;
  for (int part = 0; part < p.pool * p.pool; ++part) {
    double sum = operands.bias[static_cast<std::size_t>(o)];
    for (int ky = 0; ky < p.kh; ++ky)
      for (int kx = 0; kx < p.kw; ++kx) {
        const auto y = (row * p.pool + part / p.pool) * p.stride[0] - p.pads[0] + ky;
        const auto x = (column * p.pool + part % p.pool) * p.stride[1] - p.pads[1] + kx;
        if (y < 0 || y >= p.h || x < 0 || x >= p.w) continue;
        for (std::int64_t c = 0; c < p.c; ++c)
          sum += static_cast<double>(operands.x[static_cast<std::size_t>(((n * p.h + y) * p.w + x) * p.c + c)]) *
                 static_cast<double>(operands.w[static_cast<std::size_t>(((o * p.c + c) * p.kh + ky) * p.kw + kx)]);
      }
    if (p.activation == kRelu) sum = std::max(sum, 0.0);
    result = std::max(result, sum);
  }
  return result;
}

double worst_error(const Conv2dProblem& p, const Operands& operands, const std::vector<float>& y) {
  std::mt19937_64 random(2);
  double worst = 0;
  for (int i = 0; i < 300; ++i) {
    const auto at = static_cast<std::int64_t>(random() % y.size());
    const double wanted = result_at(p, operands, at);
    const double error =
        std::abs(static_cast<double>(y[static_cast<std::size_t>(at)]) - wanted) / (1 + std::abs(wanted));
    worst = std::isnan(error) ? 1e9 : std::max(worst, error);
  }
  return worst;
}

struct Timing {
  double median_us = 0, minimum_us = 0, worst_error = 0;
};

Timing timed(KernelLibrary& library, const Stream& stream, const Conv2dProblem& p, const Conv2dRow& row,
             const Conv2dOffer& offer, const Operands& operands) {
  const Context& context = library.context();
  const Conv2d conv(library, p, row, offer, operands.w, operands.bias);
  const bool chained = p.x_elements() == p.y_elements();
  const Memory x(context, rounded_to(p.type, operands.x)), y(context, p.y_elements() * p.bytes());
  y.fill(stream, 0xFF);
  const auto forth = conv.bind(x.data(), nullptr, y.data());
  const auto back = chained ? conv.bind(y.data(), nullptr, x.data()) : forth;
  forth.launch(stream);
  Array result(p.type, Shape{p.y_elements()});
  y.read(stream, result.bytes());
  stream.synchronize();
  Timing timing{.worst_error = worst_error(p, operands, floats_of(result))};

  constexpr int kLaunches = 20, kReplays = 30;
  const Graph graph(stream, [&] {
    for (int i = 0; i < kLaunches; ++i) (i % 2 == 0 ? forth : back).launch(stream);
  });
  for (int i = 0; i < 3; ++i) graph.replay(stream);
  std::vector<double> times;
  const Event before(context), after(context);
  for (int i = 0; i < kReplays; ++i) {
    before.record(stream);
    graph.replay(stream);
    after.record(stream);
    after.synchronize();
    times.push_back(milliseconds_between(before, after) * 1e3 / kLaunches);
  }
  std::ranges::sort(times);
  timing.median_us = times[times.size() / 2];
  timing.minimum_us = times[0];
  return timing;
}

int run(int count, char** arguments) {
  std::string filter, json_path;
  ElementType type = ElementType::float16;
  bool all = false, tf32 = false;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--all") all = true;
    if (argument == "--filter" && i + 1 < count) filter = arguments[++i];
    if (argument == "--json" && i + 1 < count) json_path = arguments[++i];
    if (argument == "--type" && i + 1 < count) {
      const std::string given = arguments[++i];
      type = given == "bf16" ? ElementType::bfloat16 : given == "f16" ? ElementType::float16 : ElementType::float32;
      tf32 = given == "tf32";
    }
  }
  if (const auto missing = absence()) {
    fmt::print("{}\n", missing->text);
    return 0;
  }
  const Context context;
  KernelLibrary library(context);
  const Stream stream(context);
  const GpuSpec gpu = *load_machine("nvidia_h200").gpu;
  fmt::print("{}, {} multiprocessors\n", context.properties().name, context.properties().multiprocessors);
  nlohmann::json results = nlohmann::json::array();
  for (Layer& one : layers()) {
    if (one.name.find(filter) == std::string::npos) continue;
    one.problem.type = type;
    one.problem.tf32 = tf32;
    const Operands operands = make_operands(one.problem);
    const Conv2dPlan plan = plan_conv2d(one.problem, gpu);
    const auto show = [&](const Conv2dRow& row, const Conv2dOffer& offer, bool chosen) {
      const Timing t = timed(library, stream, one.problem, row, offer, operands);
      fmt::print(
          "{:32} {:34} splits {} box {}x{}x{:<3} blocks {:4} {:9.2f} us (min {:8.2f}, model {:8.2f}) {:6.1f} TFLOP/s "
          "error {:.1e}{}{}\n",
          one.name, row.name, offer.splits, offer.box_n, offer.box_h, offer.box_w, offer.blocks, t.median_us,
          t.minimum_us, offer.seconds * 1e6, one.problem.flops() / t.median_us / 1e6, t.worst_error,
          t.worst_error > 0.02 ? " WRONG" : "", chosen && all ? " <- chosen" : "");
      std::fflush(stdout);
      results.push_back({{"layer", one.name},
                         {"type", tf32 ? "tf32" : name(type)},
                         {"kernel", row.name},
                         {"splits", offer.splits},
                         {"blocks", offer.blocks},
                         {"chosen", chosen},
                         {"median_us", t.median_us},
                         {"minimum_us", t.minimum_us},
                         {"model_us", offer.seconds * 1e6},
                         {"bound", name(offer.bound)},
                         {"worst_error", t.worst_error}});
    };
    if (!all) {
      show(*plan.row, plan.offer, true);
      continue;
    }
    for (const Conv2dRow& row : conv2d_rows()) {
      if (!row.tiling && row.exact_oc == 0 && (plan.row->tiling || plan.row->exact_oc > 0)) continue;  // minutes
      for (const int splits : {1, 2, 4, 8}) {
        const Conv2dAnswer answer = consider(row, one.problem, gpu, splits);
        if (const auto* offer = std::get_if<Conv2dOffer>(&answer))
          show(row, *offer, &row == plan.row && offer->splits == plan.offer.splits);
        if (!row.tiling) break;
      }
    }
  }
  if (!json_path.empty()) std::ofstream(json_path) << results.dump(1) << "\n";
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
