// From plain loops to the kernel: a 3x3 convolution of 256 to 256 channels over 224x224, without padding, with and
// without a 2x2 pool behind it, one step after the other. docs/kernels.md tells what each step does and why.
//
// usage: tessera_conv2d_ladder_bench [--seconds 1] [--threads 2] [--rows 222]
//
// Slow steps compute some rows of the image only, and none more than --rows; the time of the layer follows from their
// rate.

#include "bench/measure.h"
#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/peak.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/fused_conv2d_maxpool.h"
#include "tessera/session/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

constexpr int kIc = 256, kOc = 256, kK = 3, kH = 224, kW = 224, kOh = kH - kK + 1, kOw = kW - kK + 1;
constexpr int kTile = 6;  // pixels; 37 tiles are a row
static_assert(kOw % kTile == 0);
constexpr double kRowFlops = 2.0 * kOw * kOc * kIc * kK * kK;

// The same numbers in the orders that the steps want.
struct Data {
  const float *x_chw, *x_hwc, *w_oihw, *w_ohwi, *w_hwio, *w_panels, *bias;
};

using Step = void (*)(const Data&, float* y, int begin, int end);
struct Steps {
  int panel;  // output channels of a register tile
  Step plain_loops, channels_last, vectors, register_tile, panels, blocks;
  void (*pool_rows)(const float* from, float* y, int begin, int end);
  void (*fused_pool)(const Data&, float* buffer, float* y, int begin, int end);
};

#define TSR_LADDER_LANES 4
#define TSR_LADDER_VECTORS 2
namespace portable {
#include "bench/cpu/conv2d_ladder_steps.h"  // NOLINT
}
#undef TSR_LADDER_LANES
#undef TSR_LADDER_VECTORS
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define TSR_LADDER_LANES 8
#define TSR_LADDER_VECTORS 2
namespace avx2 {
#include "bench/cpu/conv2d_ladder_steps.h"  // NOLINT
}
#undef TSR_LADDER_LANES
#undef TSR_LADDER_VECTORS
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")
#define TSR_LADDER_LANES 16
#define TSR_LADDER_VECTORS 4
namespace avx512 {
#include "bench/cpu/conv2d_ladder_steps.h"  // NOLINT
}
#undef TSR_LADDER_LANES
#undef TSR_LADDER_VECTORS
#pragma GCC pop_options
Steps steps_for(Isa isa) {
  return isa >= Isa::avx512 ? avx512::steps() : isa >= Isa::avx2 ? avx2::steps() : portable::steps();
}
#else
Steps steps_for(Isa) { return portable::steps(); }
#endif

struct Operands {
  std::vector<float> x_chw, x_hwc, w_oihw, w_ohwi, w_hwio, w_panels, bias;
  Data data() const {
    return {x_chw.data(), x_hwc.data(), w_oihw.data(), w_ohwi.data(), w_hwio.data(), w_panels.data(), bias.data()};
  }
};

Operands make_operands(int panel) {
  std::mt19937_64 random(42);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto fill = [&](std::size_t count) {
    std::vector<float> out(count);
    for (float& value : out) value = uniform(random);
    return out;
  };
  Operands out;
  out.x_chw = fill(std::size_t{kIc} * kH * kW);
  out.w_oihw = fill(std::size_t{kOc} * kIc * kK * kK);
  out.bias = fill(kOc);
  out.x_hwc.resize(out.x_chw.size());
  out.w_ohwi = out.w_hwio = out.w_panels = std::vector<float>(out.w_oihw.size());
  for (int c = 0; c < kIc; ++c)
    for (int i = 0; i < kH * kW; ++i)
      out.x_hwc[static_cast<std::size_t>(i * kIc + c)] = out.x_chw[static_cast<std::size_t>(c * kH * kW + i)];
  for (int o = 0; o < kOc; ++o)
    for (int c = 0; c < kIc; ++c)
      for (int k = 0; k < kK * kK; ++k) {
        const float value = out.w_oihw[static_cast<std::size_t>((o * kIc + c) * kK * kK + k)];
        out.w_ohwi[static_cast<std::size_t>((o * kK * kK + k) * kIc + c)] = value;
        out.w_hwio[static_cast<std::size_t>((k * kIc + c) * kOc + o)] = value;
        out.w_panels[static_cast<std::size_t>(((o / panel * kK * kK + k) * kIc + c) * panel + o % panel)] = value;
      }
  return out;
}

// Some results from the definition, in double; a pool of 1 is none. y is channels-last.
void check_some(const Operands& given, const std::vector<float>& y, int rows, int pool, const std::string& step) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const int o = static_cast<int>(random() % kOc), oy = static_cast<int>(random() % static_cast<unsigned>(rows)),
              ox = static_cast<int>(random() % (kOw / static_cast<unsigned>(pool)));
    double most = -std::numeric_limits<double>::infinity(), largest = 0;
    for (int j = 0; j < pool * pool; ++j) {
      double sum = given.bias[static_cast<std::size_t>(o)], size = 1;
      for (int c = 0; c < kIc; ++c)
        for (int k = 0; k < kK * kK; ++k) {
          const int at = (c * kH + oy * pool + j / pool + k / kK) * kW + ox * pool + j % pool + k % kK;
          const double product = static_cast<double>(given.x_chw[static_cast<std::size_t>(at)]) *
                                 given.w_oihw[static_cast<std::size_t>((o * kIc + c) * kK * kK + k)];
          sum += product;
          size += std::abs(product);
        }
      most = std::max(most, sum);
      largest = std::max(largest, size);
    }
    // Roundings of so many sums of random sign, each of a part of the magnitude.
    const double allowed = std::sqrt(1.0 * kIc * kK * kK) * std::numeric_limits<float>::epsilon() * largest;
    const double got = y[static_cast<std::size_t>((oy * (kOw / pool) + ox) * kOc + o)];
    check(std::abs(got - most) <= allowed, Code::internal, "{}: ({}, {}) of channel {} is {} instead of {}", step, oy,
          ox, o, got, most);
  }
}

struct Options {
  double seconds = 1;
  int threads = 0, rows = kOh;
};

double best_of(const std::function<void()>& work, double seconds) {
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int runs = 0; runs < 2 || spent < seconds; ++runs) {
    const double time = seconds_of(work);
    best = std::min(best, time);
    spent += time;
  }
  return best;
}

class Table {
 public:
  explicit Table(double peak) : peak_(peak) {
    fmt::print("{:<44} {:>7} {:>5} {:>9} {:>9} {:>8} {:>7}\n", "step", "threads", "rows", "layer ms", "GFLOP/s",
               "x first", "% peak");
  }
  void row(const std::string& step, int threads, int rows, double seconds) {
    const double rate = rows * kRowFlops / seconds;
    if (first_ == 0) first_ = rate;
    fmt::print("{:<44} {:>7} {:>5} {:>9.1f} {:>9.1f} {:>8.1f} {:>7.1f}\n", step, threads, rows,
               kOh * kRowFlops / rate * 1e3, rate * 1e-9, rate / first_, 100 * rate / (peak_ * threads));
    std::fflush(stdout);
  }

 private:
  double peak_, first_ = 0;
};

// Multiply-adds and nothing else, on one thread.
double peak_flop_per_s(Isa isa) {
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    double flops = 0;
    const double seconds = seconds_of([&] { flops = run_peak_loop(isa, 200'000); });
    best = std::max(best, flops / seconds);
  }
  return best;
}

// The planned layer: what its convolution takes, and a whole call.
void planned(const Operands& given, int pool, const Options& options, Table& table) {
  const int height = options.rows + kK - 1;
  Array x(ElementType::float32, Shape{1, kIc, height, kW});
  for (int c = 0; c < kIc; ++c)
    std::copy_n(given.x_chw.begin() + c * kH * kW, height * kW, x.as<float>().begin() + c * height * kW);
  SessionOptions session;
  session.threads = options.threads;
  const FusedConv2dMaxPool layer(Array::of<float>(Shape{kOc, kIc, kK, kK}, given.w_oihw),
                                 Array::of<float>(Shape{kOc}, given.bias), pool, session);
  double whole = std::numeric_limits<double>::infinity(), convolution = whole;
  std::string kernel;
  layer.session().prepare({x});
  const double spent = best_of(
      [&] {
        const SessionProfile profile = layer.session().profile({x}, 1, 0);
        whole = std::min(whole, profile.seconds);
        for (const ProfiledStep& step : profile.steps)
          if (step.node == "conv") convolution = std::min(convolution, step.seconds), kernel = step.kernel;
      },
      options.seconds);
  check(spent >= whole && whole >= convolution, Code::internal, "{} s of {} s are the convolution", convolution, whole);
  const std::string suffix = pool > 1 ? " with pool" : "";
  table.row("planned: " + kernel + suffix, options.threads, options.rows, convolution);
  table.row("planned: a call, NCHW to NCHW" + suffix, options.threads, options.rows, whole);
  const Array y = layer(x);
  const int oh = options.rows / pool, ow = kOw / pool;
  std::vector<float> last(static_cast<std::size_t>(y.count()));
  for (int o = 0; o < kOc; ++o)
    for (int i = 0; i < oh * ow; ++i)
      last[static_cast<std::size_t>(i * kOc + o)] = y.as<float>()[static_cast<std::size_t>(o * oh * ow + i)];
  check_some(given, last, oh, pool, "planned");
}

int run(const Options& options) {
  const Isa isa = active_isa();
  const Steps steps = steps_for(isa);
  const Operands given = make_operands(steps.panel);
  const Data data = given.data();
  std::vector<float> y(std::size_t{kOh} * kOw * kOc), pooled(y.size() / 4);
  set_max_threads(options.threads);
  const double peak = peak_flop_per_s(isa);
  fmt::print("conv2d 256 to 256, 3x3, 224x224, batch 1: {:.1f} GFLOP; {}; {:.1f} GFLOP/s peak a thread; measured\n",
             kOh * kRowFlops * 1e-9, name(isa), peak * 1e-9);
  Table table(peak);
  const auto single = [&](const std::string& label, Step step, int most) {
    const int rows = std::min(most, options.rows);
    const double seconds = best_of([&] { step(data, y.data(), 0, rows); }, options.seconds);
    check_some(given, y, rows, 1, label);
    table.row(label, 1, rows, seconds);
  };
  single("1 plain loops, NCHW", steps.plain_loops, 2);
  single("2 channels last", steps.channels_last, 4);
  single("3 vectors over output channels", steps.vectors, 24);
  single(fmt::format("4 register tile, {} pixels x {} channels", kTile, steps.panel), steps.register_tile, 48);
  single("5 panels, one at a time", steps.panels, 48);
  single("6 blocks of the reduction", steps.blocks, 48);

  const int rows = options.rows;
  const auto convolve = [&] {
    parallel_for(rows, 2, [&](std::int64_t begin, std::int64_t end) {
      steps.blocks(data, y.data(), static_cast<int>(begin), static_cast<int>(end));
    });
  };
  double seconds = best_of(convolve, options.seconds);
  check_some(given, y, rows, 1, "7 threads");
  table.row("7 threads", options.threads, rows, seconds);

  seconds = best_of(
      [&] {
        convolve();
        parallel_for(rows / 2, 1, [&](std::int64_t begin, std::int64_t end) {
          steps.pool_rows(y.data(), pooled.data(), static_cast<int>(begin), static_cast<int>(end));
        });
      },
      options.seconds);
  check_some(given, pooled, rows / 2, 2, "7 threads, then the pool");
  table.row("7 threads, then the pool", options.threads, rows, seconds);
  seconds = best_of(
      [&] {
        parallel_for(rows / 2, 1, [&](std::int64_t begin, std::int64_t end) {
          std::vector<float> buffer(std::size_t{2} * kOw * static_cast<std::size_t>(steps.panel));
          steps.fused_pool(data, buffer.data(), pooled.data(), static_cast<int>(begin), static_cast<int>(end));
        });
      },
      options.seconds);
  check_some(given, pooled, rows / 2, 2, "8 fused pool");
  table.row("8 fused pool", options.threads, rows, seconds);
  planned(given, 1, options, table);
  planned(given, 2, options, table);
  set_max_threads(0);
  return 0;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    check((flag == "--seconds" || flag == "--threads" || flag == "--rows") && i + 1 < argc, Code::invalid_argument,
          Hint{"usage: tessera_conv2d_ladder_bench [--seconds S] [--threads N] [--rows N]"},
          "there is no option '{}', or its value is missing", flag);
    ++i;
    if (flag == "--seconds")
      options.seconds = std::atof(argv[i]);
    else if (flag == "--rows")
      options.rows = std::atoi(argv[i]);
    else
      options.threads = std::atoi(argv[i]);
  }
  check(options.threads >= 0, Code::invalid_argument, "--threads needs a positive number");
  check(options.rows >= 2 && options.rows <= kOh && options.rows % 2 == 0, Code::invalid_argument,
        "--rows is even, from 2 to {}, not {}", kOh, options.rows);
  if (options.threads == 0) options.threads = max_threads();
  return options;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    return tessera::bench::run(tessera::bench::parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
