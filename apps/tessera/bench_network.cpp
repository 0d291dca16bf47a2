#include "bench.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/machine_load.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/peak.h"
#include "tessera/core/text.h"
#include "tessera/report/units.h"
#include "tessera/session/session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tessera::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double run_once(const Session& session, const std::vector<Array>& inputs) {
  const Clock::time_point start = Clock::now();
  session.run(inputs);
  return seconds_since(start);
}

struct Measured {
  double first_s = 0;           // the first run, with caches and pages that nobody has touched
  std::vector<double> seconds;  // of each run after the warm-up, sorted
  double wall_s = 0;            // of all of them
  double rate_change = 0;       // of the processor's clock from before to after, as a fraction
  std::optional<MachineLoad> load;

  double mean() const {
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  }
  // The value that a fraction of all runs does not exceed.
  double quantile(double fraction) const {
    const double at = std::ceil(fraction * static_cast<double>(seconds.size())) - 1;
    return seconds[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(seconds.size() - 1)))];
  }
  double median() const { return seconds[seconds.size() / 2]; }
  double runs_per_s() const { return static_cast<double>(seconds.size()) / wall_s; }
};

// Runs of all streams until there are enough. One stream runs on this thread.
class TimedRuns {
 public:
  TimedRuns(const Session& session, const std::vector<Array>& inputs, const BenchNetworkOptions& options,
            Progress& progress)
      : session_(session), inputs_(inputs), options_(options), progress_(progress) {}

  std::vector<double> run() {
    start_ = Clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < options_.streams; ++i) others.emplace_back([this] { stream(false); });
    stream(true);
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
    std::ranges::sort(seconds_);
    return std::move(seconds_);
  }

 private:
  static constexpr int kFewest = 5;

  // Whether another run is to begin; counts it.
  bool another() {
    const std::lock_guard lock(mutex_);
    if (failure_) return false;
    const bool more = options_.runs > 0
                          ? begun_ < options_.runs
                          : begun_ < kFewest * options_.streams || seconds_since(start_) < options_.seconds;
    begun_ += more ? 1 : 0;
    return more;
  }

  void stream(bool shows_progress) {
    try {
      while (another()) {
        if (shows_progress)
          progress_.at(options_.runs > 0 ? static_cast<std::size_t>(begun_)
                                         : static_cast<std::size_t>(seconds_since(start_) * 1e3));
        const double taken = run_once(session_, inputs_);
        const std::lock_guard lock(mutex_);
        seconds_.push_back(taken);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  const Session& session_;
  const std::vector<Array>& inputs_;
  const BenchNetworkOptions& options_;
  Progress& progress_;
  Clock::time_point start_;
  std::mutex mutex_;
  std::atomic<int> begun_ = 0;
  std::vector<double> seconds_;
  std::exception_ptr failure_;
};

Measured measure(const Session& session, const std::vector<Array>& inputs, const BenchNetworkOptions& options,
                 Progress& progress) {
  // The best of several short loops: one of them may be interrupted.
  constexpr double kLoopSeconds = 0.002;
  const auto rate = [&] {
    double best = 0;
    for (int i = 0; i < 5; ++i) best = std::max(best, measure_flop_per_s(session.isa(), 1, kLoopSeconds));
    return best;
  };
  Measured out;
  out.first_s = run_once(session, inputs);
  run_once(session, inputs);
  const double before = rate();
  const LoadWatch watch;
  const Clock::time_point start = Clock::now();
  out.seconds = TimedRuns(session, inputs, options, progress).run();
  out.wall_s = seconds_since(start);
  out.load = watch.load();
  out.rate_change = rate() / before - 1;
  return out;
}

// Why the figures may not mean much; empty on a quiet machine.
std::string disturbance(const Measured& measured) {
  constexpr double kBusy = 0.1, kStolen = 0.02, kRateChange = 0.1;
  std::vector<std::string> reasons;
  if (measured.load && measured.load->others > kBusy)
    reasons.push_back(fmt::format("other processes used {:.1f} CPUs", measured.load->others));
  if (measured.load && measured.load->stolen > kStolen)
    reasons.push_back(fmt::format("the host took {:.2f} CPUs away", measured.load->stolen));
  // Where others take turns on the processor, its rate says nothing of its clock.
  if (reasons.empty() && std::abs(measured.rate_change) > kRateChange)
    reasons.push_back(fmt::format("the processor ended {:.0f} % {} than it began", 100 * std::abs(measured.rate_change),
                                  measured.rate_change < 0 ? "slower" : "faster"));
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : ", ") + reason;
  return text;
}

double gflops_of(const Measured& measured, const PlanSummary& plan, const BenchNetworkOptions& options) {
  return plan.flops / measured.median() * options.streams * 1e-9;
}

nlohmann::ordered_json json_of(const std::string& model, const Measured& m, const Session& session,
                               const PlanSummary& plan, double plan_seconds, const BenchNetworkOptions& options) {
  nlohmann::ordered_json row;
  row["name"] = model;
  row["median_ms"] = m.median() * 1e3;
  row["min_ms"] = m.seconds.front() * 1e3;
  row["mean_ms"] = m.mean() * 1e3;
  row["p90_ms"] = m.quantile(0.9) * 1e3;
  row["p99_ms"] = m.quantile(0.99) * 1e3;
  row["first_ms"] = m.first_s * 1e3;
  row["runs_per_s"] = m.runs_per_s();
  row["gflops"] = gflops_of(m, plan, options);
  row["runs"] = m.seconds.size();
  row["streams"] = options.streams;
  row["threads"] = session.threads();
  row["isa"] = name(session.isa());
  row["dtype"] = options.session.dtype;
  row["flops"] = plan.flops;
  row["plan_ms"] = plan_seconds * 1e3;
  row["arena_bytes"] = plan.arena_bytes;
  row["weight_bytes"] = plan.weight_bytes;
  row["other_cpus"] = m.load ? nlohmann::ordered_json(m.load->others) : nullptr;
  row["stolen_cpus"] = m.load ? nlohmann::ordered_json(m.load->stolen) : nullptr;
  row["kind"] = "measured";
  return row;
}

Table table_of(const std::string& model, const Measured& m, const Session& session, const PlanSummary& plan,
               double plan_seconds, const BenchNetworkOptions& options) {
  Table table({{.name = "network", .key = "name"},
               {.name = "median", .key = "median_ms", .unit = "ms", .align = Align::right},
               {.name = "min", .key = "min_ms", .unit = "ms", .align = Align::right},
               {.name = "mean", .key = "mean_ms", .unit = "ms", .align = Align::right, .detail = 1},
               {.name = "p90", .key = "p90_ms", .unit = "ms", .align = Align::right, .detail = 1},
               {.name = "p99", .key = "p99_ms", .unit = "ms", .align = Align::right, .detail = 1},
               {.name = "first", .key = "first_ms", .unit = "ms", .align = Align::right, .detail = 1},
               {.name = "runs/s", .key = "runs_per_s", .align = Align::right},
               {.name = "GFLOP/s", .key = "gflops", .align = Align::right},
               {.name = "runs", .align = Align::right},
               {.name = "streams", .align = Align::right},
               {.name = "threads", .align = Align::right},
               {.name = "isa"},
               {.name = "dtype"},
               {.name = "planned in", .key = "plan_ms", .unit = "ms", .align = Align::right, .detail = 2},
               {.name = "values", .key = "arena_bytes", .align = Align::right, .detail = 2},
               {.name = "weights", .key = "weight_bytes", .align = Align::right, .detail = 2}});
  const auto ms = [](double s) { return Cell(s * 1e3, fmt::format("{:.3f}", s * 1e3)); };
  const auto bytes = [](std::int64_t b) { return Cell(b, format_bytes(static_cast<double>(b))); };
  const double gflops = gflops_of(m, plan, options);
  table.add_row({model, ms(m.median()), ms(m.seconds.front()), ms(m.mean()), ms(m.quantile(0.9)), ms(m.quantile(0.99)),
                 ms(m.first_s), Cell(m.runs_per_s(), fmt::format("{:.1f}", m.runs_per_s())),
                 Cell(gflops, fmt::format("{:.1f}", gflops)), m.seconds.size(), options.streams, session.threads(),
                 name(session.isa()), options.session.dtype, ms(plan_seconds), bytes(plan.arena_bytes),
                 bytes(plan.weight_bytes)});
  return table;
}

}  // namespace

void bench_network(const BenchNetworkOptions& options, const Context& context) {
  const Model model = load_model(options.model);
  SessionOptions how = session_options(options.session);
  const int threads = how.threads > 0 ? how.threads : max_threads();
  check(options.streams <= threads, Code::invalid_argument, "--streams {} does not fit {}: each needs one",
        options.streams, counted(threads, "thread"));
  if (options.streams > 1) how.threads = threads / options.streams;
  const Clock::time_point start = Clock::now();
  const Session session(model.graph, how);
  const PlanSummary plan = session.prepare(model.inputs);
  const double plan_seconds = seconds_since(start);
  const Measured measured = [&] {
    const std::size_t total = static_cast<std::size_t>(options.runs > 0 ? options.runs : options.seconds * 1e3);
    Progress progress(options.runs > 0 ? "runs" : "milliseconds", total, context.quiet);
    return measure(session, model.inputs, options, progress);
  }();
  if (context.format == Format::json) {
    const nlohmann::ordered_json row = json_of(model.name, measured, session, plan, plan_seconds, options);
    nlohmann::ordered_json out = row;  // for one network, and as the rows of a table
    out["schema"] = 1;
    out["rows"] = {row};
    return context.print(out.dump(1) + "\n");
  }
  context.print(table_of(model.name, measured, session, plan, plan_seconds, options));
  if (context.quiet || context.format != Format::table) return;
  context.print(options.streams == 1
                    ? "\nmeasured on this machine\n"
                    : fmt::format("\nmeasured on this machine: {} at a time, each on {}\n",
                                  counted(options.streams, "request"), counted(session.threads(), "thread")));
  if (const std::string why = disturbance(measured); !why.empty())
    context.print(fmt::format("The machine was not quiet: {}. Measure again when it is.\n", why));
}

}  // namespace tessera::cli
