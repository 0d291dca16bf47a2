#include "tessera/targets/neuron/plan/tune.h"

#include "tessera/core/refusal.h"
#include "tessera/targets/neuron/kernels/conv2d_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::neuron {
namespace {

ConvRun run(Kernel& kernel, const ConvProblem& p, const ConvTensors& tensors, const ConvSchedule& schedule) {
  run_schedule(kernel, p, tensors, schedule);
  ConvRun out{kernel.profile(), std::nullopt};
  out.profile.model_flops = p.flops();
  if (kernel.options().values) out.y = kernel.read(tensors.y);
  return out;
}

class Search {
 public:
  Search(const NeuronSpec& spec, ConvTuning& tuning) : spec_(spec), tuning_(tuning) {}

  // True if it is faster than all before.
  bool attempt(const ConvSchedule& schedule) {
    for (const ConvTrial& each : tuning_.trials)
      if (each.schedule == schedule) return false;
    ConvTrial trial{schedule, std::nullopt, refusal(spec_, tuning_.problem, schedule)};
    if (!trial.refused) {
      Result<ConvRun> run = tessera::attempt([&] { return run_conv(spec_, tuning_.problem, schedule); });
      if (run)
        trial.profile = std::move(run->profile);
      else if (run.refusal().out_of_memory())
        trial.refused = run.refusal();
      else
        raise(run.refusal());
    }
    tuning_.trials.push_back(std::move(trial));
    const ConvTrial& made = tuning_.trials.back();
    if (!made.profile || (found_ && made.profile->total_ns >= tuning_.winner().profile->total_ns)) return false;
    tuning_.best = tuning_.trials.size() - 1;
    found_ = true;
    return true;
  }

  bool found() const { return found_; }
  ConvSchedule best() const { return tuning_.winner().schedule; }

 private:
  const NeuronSpec& spec_;
  ConvTuning& tuning_;
  bool found_ = false;
};

// As many rows as one accumulation takes with such windows, and half of that.
std::vector<std::int64_t> row_choices(const NeuronSpec& spec, const ConvProblem& p, Window window) {
  const std::int64_t width = window == Window::flat ? p.w : p.ow(), columns = spec.moving_max_columns;
  std::vector<std::int64_t> out;
  for (std::int64_t rows : {columns / width, columns / width / 2, p.pool}) {
    rows = std::min({rows, columns / width, p.oh()}) / p.pool * p.pool;
    // Blocks of one size, as far as that goes: a short last one costs a whole one's overhead.
    if (rows >= p.pool && std::find(out.begin(), out.end(), rows) == out.end()) out.push_back(rows);
    const std::int64_t blocks = rows > 0 ? (p.oh() + rows - 1) / rows : 0;
    const std::int64_t even = blocks > 0 ? ((p.oh() + blocks - 1) / blocks + p.pool - 1) / p.pool * p.pool : 0;
    if (even >= p.pool && even < rows && std::find(out.begin(), out.end(), even) == out.end()) out.push_back(even);
  }
  if (out.empty() && width <= columns) out.push_back(1);  // two rows to be pooled do not fit one accumulation
  return out;
}

}  // namespace

ConvRun run_conv(const NeuronSpec& spec, const ConvProblem& p, const ConvSchedule& schedule) {
  check_problem(spec, p);
  Kernel kernel(spec, {.values = false});
  const ConvTensors tensors{kernel.input("x", p.type, p.x_shape()), kernel.input("w", p.type, p.w_shape()),
                            kernel.input("bias", p.type, {p.oc}), kernel.output("y", p.type, p.y_shape())};
  return run(kernel, p, tensors, schedule);
}

ConvRun run_conv(const NeuronSpec& spec, const Array& x, const Array& w, const Array& bias, std::int64_t pool,
                 const ConvSchedule& schedule) {
  const ConvProblem p = conv_problem(x, w, bias, pool);
  check_problem(spec, p);
  Kernel kernel(spec);
  const ConvTensors tensors{kernel.input("x", x), kernel.input("w", w), kernel.input("bias", bias),
                            kernel.output("y", p.type, p.y_shape())};
  return run(kernel, p, tensors, schedule);
}

ConvTuning tune_conv(const NeuronSpec& spec, const ConvProblem& p) {
  check_problem(spec, p);
  ConvTuning tuning{p, conv_bound(spec, p), {}, 0};
  Search search(spec, tuning);
  // Somewhere to begin: the largest accumulation of every kind of window, weights of all output channels or of some.
  for (const bool share : {true, false}) {
    for (const Window window : {Window::flat, Window::strided, Window::copied}) {
      ConvSchedule s;
      s.window = window;
      s.share_image = share;
      const std::vector<std::int64_t> rows = row_choices(spec, p, window);
      if (rows.empty()) continue;
      s.rows = rows.front();
      search.attempt(s);
    }
    if (search.found()) break;
  }
  if (!search.found()) {
    Refusal none = tuning.trials.empty() ? Refusal{} : *tuning.trials.back().refused;
    none.hint = std::exchange(none.message,
                              fmt::format("no schedule of {} fits: weights of 128 output channels do not stay in SBUF "
                                          "beside the image",
                                          p.text()));
    none.code = Code::out_of_memory;
    none.context.clear();
    raise(none);
  }

  for (bool better = true; better;) {
    better = false;
    const auto vary = [&](auto&& change, auto&& values) {
      for (const auto& value : values) {
        ConvSchedule s = search.best();
        change(s, value);
        better = search.attempt(s) || better;
      }
    };
    vary(
        [&](ConvSchedule& s, Window w) {
          s.window = w;
          if (w == Window::shared) s.share_image = true;
          const std::vector<std::int64_t> rows = row_choices(spec, p, w);
          if (!rows.empty()) s.rows = rows.front();
        },
        std::vector{Window::flat, Window::strided, Window::copied, Window::shared});
    vary([](ConvSchedule& s, std::int64_t rows) { s.rows = rows; }, row_choices(spec, p, search.best().window));
    std::vector<std::int64_t> joined{1};
    while (joined.back() < 32 && joined.back() * search.best().rows < p.oh()) joined.push_back(2 * joined.back());
    vary([](ConvSchedule& s, std::int64_t stored) { s.joined = stored; }, joined);
    vary([](ConvSchedule& s, std::int64_t blocks) { s.blocks = blocks; }, std::vector<std::int64_t>{1, 2, 4, 8, 16});
    if (search.best().window == Window::copied || search.best().window == Window::shared)
      vary([](ConvSchedule& s, Cutting cutting) { s.cutting = cutting; }, std::vector{Cutting::vector, Cutting::both});
    vary([](ConvSchedule& s, bool share) { s.share_image = share; }, std::vector<bool>{true, false});
    vary([](ConvSchedule& s, Slicing slicing) { s.slicing = slicing; },
         std::vector{Slicing::vector, Slicing::gpsimd, Slicing::direct});
    vary([](ConvSchedule& s, Eviction way) { s.eviction = way; },
         std::vector{Eviction::scalar, Eviction::vector, Eviction::both});
    if (p.pool > 1)
      vary([](ConvSchedule& s, Engine engine) { s.pooling = engine; }, std::vector{Engine::gpsimd, Engine::vector});
  }
  return tuning;
}

}  // namespace tessera::neuron
