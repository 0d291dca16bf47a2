#pragma once

// What a layer does on a device. On the host every figure is measured; on any other device it is modelled (modelled.h),
// and each figure says which of the two it is.

#include "tessera/core/export.h"
#include "tessera/ncp/parameters.h"
#include "tessera/targets/apple/verdicts/device_profile.h"
#include "tessera/targets/apple/verdicts/modelled.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::apple {

struct Stat {
  std::string key{};
  std::optional<double> value{};  // none: nobody can know it here
  std::string unit{};
  std::string kind{};  // "measured", "modelled", "counted" (from formulas), "setting", "unknown"
  std::string why{};   // there is no value
};

struct Stats {
  std::string what{};    // "compute", "memory", "hardware", "stream"
  std::string device{};  // its profile's name
  std::string kind{};    // of its times and rates: "measured" or "modelled"
  std::string note{};
  std::vector<Stat> items{};

  void add(std::string key, std::optional<double> value, std::string unit, std::string_view kind,
           std::string_view why = {});
  TSR_API const Stat* find(std::string_view key) const;
  // An Error if there is no such key, or nobody knows its value.
  TSR_API double at(std::string_view key) const;
};

struct ProfileSettings {
  std::int64_t batch_size = 32;
  std::int64_t seq_length = 10;
  int num_runs = 100;
  ncp::Fusion fusion = kFrameworkFusion;  // of modelled devices
};

class TSR_API Profiler {
 public:
  // With parameters of seed 0: how long a layer takes does not depend on them.
  Profiler(ncp::Layer layer, DeviceProfile device);
  ~Profiler();
  Profiler(Profiler&&) noexcept;
  Profiler& operator=(Profiler&&) noexcept;

  const ncp::Layer& layer() const;
  const DeviceProfile& device() const;

  // One run to warm up, then num_runs. time_mean, time_std, time_p50, time_p99 (s), flops_mean, flops_std (FLOP/s),
  // tflops, ne_utilization (%), samples_per_second, flops (of one call), num_kernels.
  Stats profile_compute(const ProfileSettings& settings = {});
  // peak_usage, current_usage, total_allocated, total_freed (MB), bandwidth (GB/s, logical bytes over time),
  // memory_utilization (% of the peak bandwidth), unified_usage (% of the memory), cache_hit_rate (unknown, with the
  // reason).
  Stats profile_memory(const ProfileSettings& settings = {});
  // ne_utilization and compute_utilization (% of the peak rate of the device's unit), memory_utilization, tflops,
  // bandwidth, intensity (FLOP/B) and the least that the roofline allows.
  Stats profile_hardware(const ProfileSettings& settings = {});
  // Forward and backward, as in training: kernel_time (the mean of num_runs), memory_time (s), num_kernels,
  // num_transfers. A layer that only the reference differentiates runs once on the host, with as many samples as take
  // about a second.
  Stats profile_stream(const ProfileSettings& settings = {});
  std::vector<Stats> profile_all(const ProfileSettings& settings = {});

  // Every profile that was taken, oldest first.
  const std::vector<Stats>& history() const;
  // The latest of each kind as text.
  std::string summary() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

TSR_API std::string stats_to_json(const std::vector<Stats>& stats);

// The guide's thin ones, with the device's own batch size.
TSR_API std::string quick_profile(const ncp::Layer& layer, const DeviceProfile& device);  // text
TSR_API Stats monitor_performance(const ncp::Layer& layer, const DeviceProfile& device);
TSR_API double monitor_bandwidth(const ncp::Layer& layer, const DeviceProfile& device);  // GB/s

// A target held against what a layer does.
struct Verdict {
  std::string check{};  // "tflops", "bandwidth", "memory", "ne_utilization"
  double value = 0;
  double target = 0;
  std::string unit{};
  bool at_most = false;  // otherwise the value has to be at least the target
  bool ok = false;
  std::string kind{};
  std::string why{};
};

// tflops and bandwidth reach the device's minimum, memory stays within its budget. Memory counts what the layer needs
// (memory_need), not what it leaves to others.
TSR_API std::vector<Verdict> validate_performance(Profiler& profiler, const ProfileSettings& settings);
// Half of the unit that computes is used, or what the device's target says.
TSR_API std::vector<Verdict> verify_hardware_usage(Profiler& profiler, const ProfileSettings& settings);
// The asserting form: an Error with every check that failed.
TSR_API void require(const std::vector<Verdict>& verdicts);
TSR_API std::string verdicts_to_json(const std::vector<Verdict>& verdicts);

}  // namespace tessera::apple
