#include "tessera/targets/apple/verdicts/profiler.h"

#include "tessera/core/error.h"
#include "tessera/ncp/counted_memory.h"
#include "tessera/ncp/gradient.h"
#include "tessera/ncp/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace tessera::apple {
namespace {

constexpr double kMegabyte = 1024.0 * 1024;
constexpr double kStreamFlops = 1.5e8;  // of a backward pass by the reference: about a second
constexpr std::string_view kCounted = "counted", kSetting = "setting", kUnknown = "unknown";

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return {mean, std::sqrt(sum / n)};
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<float> random_values(std::size_t count) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(count);
  for (float& value : out) value = uniform(engine);
  return out;
}

void check_settings(const ProfileSettings& s) {
  check(s.batch_size >= 1 && s.seq_length >= 1 && s.num_runs >= 1, Code::invalid_argument,
        "batch_size {}, seq_length {} and num_runs {} have to be 1 or more", s.batch_size, s.seq_length, s.num_runs);
}

}  // namespace

void Stats::add(std::string key, std::optional<double> value, std::string unit, std::string_view item_kind,
                std::string_view why) {
  items.push_back({std::move(key), value, std::move(unit), std::string(item_kind), std::string(why)});
}

const Stat* Stats::find(std::string_view key) const {
  const auto found = std::find_if(items.begin(), items.end(), [&](const Stat& item) { return item.key == key; });
  return found == items.end() ? nullptr : &*found;
}

double Stats::at(std::string_view key) const {
  const Stat* stat = find(key);
  check(stat != nullptr && stat->value.has_value(), Code::not_found, "the {} profile of {} has no '{}'", what, device,
        key);
  return *stat->value;
}

struct Profiler::State {
  ncp::Layer layer;
  DeviceProfile device;
  std::optional<ncp::Runner> runner{};
  std::int64_t packed_bytes = 0;
  std::vector<Stats> history{};

  // Times of a call on the host, or the model's once.
  struct Run {
    std::vector<double> seconds{};
    ModelledRun modelled{};  // its work is that of the host too
    std::int64_t peak_bytes = 0, current_bytes = 0, allocated_bytes = 0, freed_bytes = 0;
  };

  const ncp::Runner& ready() {
    if (!runner) {
      const std::int64_t before = ncp::memory_counter().current;
      runner.emplace(layer, converted<float>(ncp::initial_parameters(layer, 0)));
      packed_bytes = ncp::memory_counter().current - before;
    }
    return *runner;
  }

  Run run(const ProfileSettings& settings) {
    check_settings(settings);
    ncp::WorkOptions options{.fusion = settings.fusion};
    if (device.measured) options = {.fusion = ncp::Fusion::full, .skips_absent_synapses = true};
    Run out;
    out.modelled = model_run(ncp::forward_work(layer, settings.batch_size, settings.seq_length, options), device);
    if (!device.measured) {
      out.seconds = {out.modelled.total.time_ns * 1e-9};
      const ncp::MemoryNeed need = ncp::memory_need(layer, settings.batch_size, settings.seq_length);
      out.peak_bytes = out.allocated_bytes = need.total();
      out.current_bytes = need.parameter_bytes;
      out.freed_bytes = need.activation_bytes;
      return out;
    }
    const ncp::Runner& fast = ready();
    const ncp::LayerSizes size = ncp::sizes(layer);
    ncp::MemoryCounter& counter = ncp::memory_counter();
    const std::int64_t allocated = counter.allocated, freed = counter.freed, current = counter.current;
    counter.peak = current;
    {
      const std::vector<float> input =
          random_values(static_cast<std::size_t>(settings.batch_size * settings.seq_length * size.inputs));
      counter.add(static_cast<std::int64_t>(input.size() * sizeof(float)));
      const ncp::Sequence<float> sequence{.batch = settings.batch_size, .steps = settings.seq_length, .input = input};
      ncp::SequenceResult<float> result = fast.run(sequence);
      const auto result_bytes = static_cast<std::int64_t>(
          sizeof(float) * (result.output.size() + result.state.size() + result.memory.size() + result.states.size()));
      counter.add(result_bytes);
      for (int i = 0; i < settings.num_runs; ++i)
        out.seconds.push_back(seconds_of([&] { fast.run(sequence, result); }));
      counter.remove(result_bytes + static_cast<std::int64_t>(input.size() * sizeof(float)));
    }
    out.current_bytes = counter.current - current + packed_bytes;
    out.peak_bytes = counter.peak - current + packed_bytes;
    out.allocated_bytes = counter.allocated - allocated + packed_bytes;
    out.freed_bytes = counter.freed - freed;
    return out;
  }

  Stats start(std::string what) const {
    Stats out{.what = std::move(what), .device = device.name, .kind = std::string(device.kind())};
    if (!device.measured)
      out.note = fmt::format("modelled, not measured: roofline of the {} with {} ns before each dependent kernel",
                             device.unit, device.launch_ns);
    else if (runner && !runner->is_fast())
      out.note = "this layer has no fast version: the reference ran, and its own memory is not counted";
    return out;
  }

  const Stats& keep(Stats stats) {
    history.push_back(std::move(stats));
    return history.back();
  }

  void add_settings(Stats& out, const ProfileSettings& settings) const {
    out.add("batch_size", static_cast<double>(settings.batch_size), "", kSetting);
    out.add("seq_length", static_cast<double>(settings.seq_length), "steps", kSetting);
    if (device.measured) out.add("num_runs", settings.num_runs, "", kSetting);
  }
};

Profiler::Profiler(ncp::Layer layer, DeviceProfile device)
    : state_(std::make_unique<State>(State{std::move(layer), std::move(device)})) {
  ncp::sizes(state_->layer);
}
Profiler::~Profiler() = default;
Profiler::Profiler(Profiler&&) noexcept = default;
Profiler& Profiler::operator=(Profiler&&) noexcept = default;

const ncp::Layer& Profiler::layer() const { return state_->layer; }
const DeviceProfile& Profiler::device() const { return state_->device; }
const std::vector<Stats>& Profiler::history() const { return state_->history; }

Stats Profiler::profile_compute(const ProfileSettings& settings) {
  const State::Run run = state_->run(settings);
  const DeviceProfile& device = state_->device;
  const ncp::KernelWork work = run.modelled.work.total();
  Stats out = state_->start("compute");
  const std::string_view kind = device.kind();
  const Moments time = moments(run.seconds);
  std::vector<double> rates;
  for (const double s : run.seconds) rates.push_back(work.flops / s);
  const Moments rate = moments(rates);
  out.add("time_mean", time.mean, "s", kind);
  out.add("time_std", time.deviation, "s", kind);
  out.add("time_p50", quantile(run.seconds, 0.5), "s", kind);
  out.add("time_p99", quantile(run.seconds, 0.99), "s", kind);
  out.add("flops_mean", rate.mean, "FLOP/s", kind);
  out.add("flops_std", rate.deviation, "FLOP/s", kind);
  out.add("tflops", rate.mean * 1e-12, "TFLOP/s", kind);
  out.add("ne_utilization", 100 * rate.mean / device.peak_flop_per_s, fmt::format("% of {}", device.unit), kind);
  out.add("samples_per_second", static_cast<double>(settings.batch_size) / time.mean, "1/s", kind);
  out.add("flops", work.flops, "FLOP", kCounted);
  out.add("num_kernels", static_cast<double>(work.launches), "", kCounted);
  state_->add_settings(out, settings);
  return state_->keep(std::move(out));
}

Stats Profiler::profile_memory(const ProfileSettings& settings) {
  const State::Run run = state_->run(settings);
  const DeviceProfile& device = state_->device;
  Stats out = state_->start("memory");
  const std::string_view kind = device.kind();
  const auto megabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / kMegabyte; };
  out.add("peak_usage", megabytes(run.peak_bytes), "MB", kind);
  out.add("current_usage", megabytes(run.current_bytes), "MB", kind);
  out.add("total_allocated", megabytes(run.allocated_bytes), "MB", kind);
  out.add("total_freed", megabytes(run.freed_bytes), "MB", kind);
  const double bandwidth = run.modelled.work.total().bytes / moments(run.seconds).mean;
  out.add("bandwidth", bandwidth * 1e-9, "GB/s", kind);
  out.add("memory_utilization", 100 * bandwidth / device.peak_bytes_per_s, "%", kind);
  out.add("unified_usage", 100 * static_cast<double>(run.peak_bytes) / static_cast<double>(device.memory_bytes), "%",
          kind);
  out.add("cache_hit_rate", std::nullopt, "%", kUnknown,
          device.measured
              ? "bytes are those that kernels ask for; which of them caches served, only the processor's counters know"
              : "the model counts bytes that kernels ask for; what caches keep from one kernel to the next is not "
                "published, and nothing is assumed of it");
  out.add("bytes", run.modelled.work.total().bytes, "B", kCounted);
  state_->add_settings(out, settings);
  return state_->keep(std::move(out));
}

Stats Profiler::profile_hardware(const ProfileSettings& settings) {
  const State::Run run = state_->run(settings);
  const DeviceProfile& device = state_->device;
  const ncp::KernelWork work = run.modelled.work.total();
  Stats out = state_->start("hardware");
  const std::string_view kind = device.kind();
  const double seconds = moments(run.seconds).mean;
  const double compute = 100 * work.flops / seconds / device.peak_flop_per_s;
  out.add("ne_utilization", compute, fmt::format("% of {}", device.unit), kind);
  out.add("compute_utilization", compute, fmt::format("% of {}", device.unit), kind);
  out.add("memory_utilization", 100 * work.bytes / seconds / device.peak_bytes_per_s, "%", kind);
  out.add("tflops", work.flops / seconds * 1e-12, "TFLOP/s", kind);
  out.add("bandwidth", work.bytes / seconds * 1e-9, "GB/s", kind);
  out.add("intensity", run.modelled.intensity(), "FLOP/B", kCounted);
  if (!device.measured)
    out.add("launch_share", 100 * run.modelled.total.launch_ns / run.modelled.total.time_ns, "%", kind);
  out.add("peak_tflops", device.peak_flop_per_s * 1e-12, "TFLOP/s", device.measured ? "measured" : "published");
  out.add("peak_bandwidth", device.peak_bytes_per_s * 1e-9, "GB/s", device.measured ? "measured" : "published");
  if (device.neural_engine_cores > 0)
    out.note += fmt::format(
        "; array frameworks run these layers on the {}, so the {} cores of the Neural Engine have "
        "nothing to do, and utilisation is the {}'s",
        device.unit, device.neural_engine_cores, device.unit);
  state_->add_settings(out, settings);
  return state_->keep(std::move(out));
}

Stats Profiler::profile_stream(const ProfileSettings& settings) {
  check_settings(settings);
  const DeviceProfile& device = state_->device;
  ProfileSettings used = settings;
  const auto work_of = [&] {
    return ncp::training_work(
        state_->layer, used.batch_size, used.seq_length,
        {.fusion = device.measured ? ncp::Fusion::full : settings.fusion, .skips_absent_synapses = device.measured});
  };
  std::optional<ncp::Gradient> gradient;
  if (device.measured) {
    gradient.emplace(state_->layer);
    gradient->set_parameters(converted<float>(ncp::initial_parameters(state_->layer, 0)));
  }
  const bool slow = gradient && gradient->kernel() == "reference";
  while (slow && used.batch_size > 1 && work_of().total().flops > kStreamFlops)
    used.batch_size = (used.batch_size + 1) / 2;
  if (slow) used.num_runs = 1;
  const ModelledRun model = model_run(work_of(), device);
  double seconds = model.total.time_ns * 1e-9;
  if (gradient) {
    const ncp::LayerSizes size = ncp::sizes(state_->layer);
    const std::vector<float> input =
        random_values(static_cast<std::size_t>(used.batch_size * used.seq_length * size.inputs));
    const ncp::Sequence<float> sequence{.batch = used.batch_size, .steps = used.seq_length, .input = input};
    ncp::SequenceResult<float> result;
    ncp::SequenceGradients<float> gradients;
    const std::int64_t rows = used.batch_size * (size.return_sequences ? used.seq_length : 1);
    const std::vector<float> d_output(static_cast<std::size_t>(rows * size.outputs), 1.0f);
    const auto pass = [&] {
      gradient->forward(sequence, result);
      gradient->backward(d_output, gradients);
    };
    if (!slow) pass();
    seconds = seconds_of([&] {
                for (int i = 0; i < used.num_runs; ++i) pass();
              }) /
              used.num_runs;
  }
  Stats out = state_->start("stream");
  if (gradient)
    out.note = slow ? "no kernel differentiates this layer: the reference did" : std::string(gradient->kernel());
  out.add("kernel_time", seconds, "s", device.kind());
  // How long the bytes alone would take.
  out.add("memory_time", model.total.memory_ns * 1e-9, "s", "modelled");
  out.add("num_kernels", static_cast<double>(model.work.total().launches), "", kCounted);
  out.add("num_transfers", 0, "", kCounted);  // one memory
  state_->add_settings(out, used);
  return state_->keep(std::move(out));
}

std::vector<Stats> Profiler::profile_all(const ProfileSettings& settings) {
  return {profile_compute(settings), profile_memory(settings), profile_hardware(settings), profile_stream(settings)};
}

std::string Profiler::summary() const {
  const DeviceProfile& device = state_->device;
  std::string out = fmt::format("{} ({}), {}\n", device.title, device.name, device.kind());
  for (const std::string_view what : {"compute", "memory", "hardware", "stream"}) {
    const auto latest = std::find_if(state_->history.rbegin(), state_->history.rend(),
                                     [&](const Stats& stats) { return stats.what == what; });
    if (latest == state_->history.rend()) continue;
    out += fmt::format("{}\n", what);
    for (const Stat& stat : latest->items)
      out += fmt::format("  {:<20} {:>14} {:<10} {}\n", stat.key,
                         stat.value ? fmt::format("{:.6g}", *stat.value) : std::string("-"), stat.unit, stat.kind);
    for (const Stat& stat : latest->items)
      if (!stat.why.empty()) out += fmt::format("  {}: {}\n", stat.key, stat.why);
    if (!latest->note.empty()) out += fmt::format("  {}\n", latest->note);
  }
  return out;
}

namespace {

ProfileSettings guide_settings(const DeviceProfile& device) {
  return {.batch_size = device.get_optimal_batch_size(), .seq_length = 16, .num_runs = 100};
}

}  // namespace

std::string quick_profile(const ncp::Layer& layer, const DeviceProfile& device) {
  Profiler profiler(layer, device);
  ProfileSettings settings = guide_settings(device);
  settings.num_runs = 10;
  profiler.profile_compute(settings);
  profiler.profile_memory(settings);
  profiler.profile_hardware(settings);
  return profiler.summary();
}

Stats monitor_performance(const ncp::Layer& layer, const DeviceProfile& device) {
  return Profiler(layer, device).profile_compute(guide_settings(device));
}

double monitor_bandwidth(const ncp::Layer& layer, const DeviceProfile& device) {
  return Profiler(layer, device).profile_memory(guide_settings(device)).at("bandwidth");
}

}  // namespace tessera::apple
