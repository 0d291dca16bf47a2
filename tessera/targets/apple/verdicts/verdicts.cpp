#include "tessera/core/error.h"
#include "tessera/targets/apple/verdicts/profiler.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tessera::apple {
namespace {

Verdict verdict(std::string check, double value, double target, std::string unit, bool at_most, std::string kind) {
  Verdict out{std::move(check), value, target, std::move(unit), at_most, false, std::move(kind), {}};
  out.ok = at_most ? value <= target : value >= target;
  return out;
}

ModelledRun roofline(const Profiler& profiler, const ProfileSettings& settings) {
  const bool host = profiler.device().measured;
  return model_run(
      ncp::forward_work(profiler.layer(), settings.batch_size, settings.seq_length,
                        {.fusion = host ? ncp::Fusion::full : settings.fusion, .skips_absent_synapses = host}),
      profiler.device());
}

std::string why_compute(const ModelledRun& run, const DeviceProfile& device, double target_flop_per_s, bool ok) {
  const ncp::KernelWork total = run.work.total();
  const auto steps = static_cast<double>(run.work.steps);
  if (device.measured)
    return fmt::format("{:.3g} FLOP/B: memory alone would feed {:.3g} TFLOP/s, caches feed up to the peak of {:.3g}",
                       run.intensity(), run.intensity() * device.peak_bytes_per_s * 1e-12,
                       device.peak_flop_per_s * 1e-12);
  std::string out = fmt::format(
      "{}-bound: of {:.3g} us a step, {:.4g} kernels wait {:.3g} us, products need {:.3g} us, bytes {:.3g} us",
      name(run.total.bound()), run.total.time_ns / steps * 1e-3, static_cast<double>(total.launches) / steps,
      run.total.launch_ns / steps * 1e-3, run.total.compute_ns / steps * 1e-3, run.total.memory_ns / steps * 1e-3);
  if (ok) return out;
  if (const std::optional<double> launch = launch_ns_to_reach(run, target_flop_per_s))
    return out +
           fmt::format("; reached if a launch cost {:.0f} ns instead of the assumed {:.0f}", *launch, device.launch_ns);
  out += fmt::format("; {:.3g} TFLOP/s if caches served every byte",
                     total.flops / (run.total.compute_ns + run.total.launch_ns) * 1e-3);
  if (const std::optional<double> launch = launch_ns_to_reach(run, target_flop_per_s, Bytes::from_caches))
    return out + fmt::format(", reached if besides a launch cost {:.0f} ns instead of the assumed {:.0f}", *launch,
                             device.launch_ns);
  return out + ", out of reach even if launches were free";
}

std::string why_bandwidth(const ModelledRun& run, const DeviceProfile& device, double target_bytes_per_s) {
  const double most = device.peak_flop_per_s / run.intensity();  // bytes per second at the peak rate
  if (most < target_bytes_per_s)
    return fmt::format(
        "every byte serves {:.3g} operations: even at the peak rate of {:.3g} TFLOP/s the layer asks for "
        "{:.3g} GB/s only",
        run.intensity(), device.peak_flop_per_s * 1e-12, most * 1e-9);
  if (device.measured) return fmt::format("{:.3g} FLOP/B; bytes are logical, caches serve most", run.intensity());
  return fmt::format("{}-bound: bytes need {:.3g} of {:.3g} us a step", name(run.total.bound()),
                     run.total.memory_ns / static_cast<double>(run.work.steps) * 1e-3,
                     run.total.time_ns / static_cast<double>(run.work.steps) * 1e-3);
}

}  // namespace

std::vector<Verdict> validate_performance(Profiler& profiler, const ProfileSettings& settings) {
  const DeviceProfile& device = profiler.device();
  const std::string kind(device.kind());
  const ModelledRun run = roofline(profiler, settings);
  const TargetTier& target = device.tiers.front();
  std::vector<Verdict> out;
  out.push_back(
      verdict("tflops", profiler.profile_compute(settings).at("tflops"), device.min_tflops(), "TFLOP/s", false, kind));
  out.back().why = why_compute(run, device, target.flop_per_s, out.back().ok);
  const Stats memory = profiler.profile_memory(settings);
  out.push_back(verdict("bandwidth", memory.at("bandwidth"), device.min_bandwidth(), "GB/s", false, kind));
  out.back().why = why_bandwidth(run, device, target.bytes_per_s);
  out.push_back(verdict("memory", memory.at("peak_usage"), device.memory_budget(), "MB", true, kind));
  out.back().why =
      fmt::format("{} parameters, a batch of {}", ncp::count_parameters(profiler.layer()).total, settings.batch_size);
  return out;
}

std::vector<Verdict> verify_hardware_usage(Profiler& profiler, const ProfileSettings& settings) {
  const DeviceProfile& device = profiler.device();
  const Stats stats = profiler.profile_hardware(settings);
  Verdict out = verdict("ne_utilization", stats.at("ne_utilization"), 100 * device.target_utilization,
                        fmt::format("% of {}", device.unit), false, std::string(device.kind()));
  out.why =
      why_compute(roofline(profiler, settings), device, device.target_utilization * device.peak_flop_per_s, out.ok);
  if (device.neural_engine_cores > 0)
    out.why += fmt::format("; of the {}: the Neural Engine runs none of it", device.unit);
  return {out};
}

void require(const std::vector<Verdict>& verdicts) {
  std::string failed;
  for (const Verdict& v : verdicts)
    if (!v.ok)
      failed += fmt::format("{}{} is {:.4g} {} ({}), {} {:.4g} is asked for: {}", failed.empty() ? "" : "\n", v.check,
                            v.value, v.unit, v.kind, v.at_most ? "at most" : "at least", v.target, v.why);
  check(failed.empty(), Code::unsupported, "{}", failed);
}

std::string verdicts_to_json(const std::vector<Verdict>& verdicts) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Verdict& v : verdicts)
    rows.push_back({{"check", v.check},
                    {"value", v.value},
                    {"unit", v.unit},
                    {"relation", v.at_most ? "<=" : ">="},
                    {"target", v.target},
                    {"ok", v.ok},
                    {"kind", v.kind},
                    {"why", v.why}});
  return nlohmann::ordered_json{{"schema", 1}, {"rows", rows}}.dump(1) + "\n";
}

std::string stats_to_json(const std::vector<Stats>& stats) {
  nlohmann::ordered_json out;
  out["schema"] = 1;
  out["profiles"] = nlohmann::ordered_json::array();
  for (const Stats& one : stats) {
    nlohmann::ordered_json values, kinds, units, why = nlohmann::ordered_json::object();
    for (const Stat& stat : one.items) {
      values[stat.key] = stat.value ? nlohmann::ordered_json(*stat.value) : nlohmann::ordered_json(nullptr);
      kinds[stat.key] = stat.kind;
      if (!stat.unit.empty()) units[stat.key] = stat.unit;
      if (!stat.why.empty()) why[stat.key] = stat.why;
    }
    out["profiles"].push_back({{"what", one.what},
                               {"device", one.device},
                               {"kind", one.kind},
                               {"note", one.note},
                               {"values", values},
                               {"kinds", kinds},
                               {"units", units},
                               {"why", why}});
  }
  return out.dump(1) + "\n";
}

}  // namespace tessera::apple
