#pragma once

// Devices as the hardware guide for liquid networks sees them: what they have, which sizes it recommends for them, and
// what it asks of a model there. Apple's come from the machine files of the family "unified"; `host` is the computer
// that this runs on, measured once and kept in the user's cache folder.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::apple {

// A set of numbers to hold a model against. What a tier does not say is 0.
struct TargetTier {
  std::string name{};
  double flop_per_s = 0;
  double bytes_per_s = 0;
  std::int64_t memory_bytes = 0;
  std::string source{};
  bool operator==(const TargetTier&) const = default;
};

struct DeviceProfile {
  std::string name{};     // "apple_m1_max", "host"
  std::string title{};    // "Apple M1 Max", or the name of the processor
  std::string unit{};     // what computes, and what peaks are of: "GPU", "CPU"
  bool measured = false;  // figures of a run here are measured; otherwise they are modelled

  double peak_flop_per_s = 0;  // float32
  double peak_bytes_per_s = 0;
  double launch_ns = 0;  // of each kernel that waits for the one before it; 0 where runs are measured
  double special_flop = 1;
  int neural_engine_cores = 0;  // 0: there is none
  double neural_engine_op_per_s = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_min_bytes = 0;
  std::int64_t memory_budget_bytes = 0;
  int threads = 0;  // of the host, with its caches; 0 where nobody says
  std::int64_t l1d_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;

  // Smallest first; the last is the one to use.
  std::vector<int> batch_sizes{};
  std::vector<int> hidden_sizes{};
  int hidden_limit = 0;
  std::vector<int> backbone_units{};
  double target_utilization = 0;  // of the unit, 0 to 1
  double learning_rate = 0;
  double backbone_dropout = 0;
  std::vector<std::string> advice{};

  std::vector<TargetTier> tiers{};  // the first is what models are checked against; others are for comparison
  std::string origin{};             // where the numbers come from, in words

  // The guide's names and units.
  int get_optimal_batch_size() const { return batch_sizes.back(); }
  int get_optimal_hidden_size() const { return hidden_sizes.back(); }
  const std::vector<int>& get_optimal_backbone() const { return backbone_units; }
  double min_tflops() const { return tiers.front().flop_per_s * 1e-12; }
  double min_bandwidth() const { return tiers.front().bytes_per_s * 1e-9; }                            // GB/s
  double memory_budget() const { return static_cast<double>(memory_budget_bytes) / (1024.0 * 1024); }  // MB

  // "measured" or "modelled": what numbers of a run on it are.
  std::string_view kind() const { return measured ? "measured" : "modelled"; }
  bool operator==(const DeviceProfile&) const = default;
};

// "host", every machine of the family "unified", sorted.
TSR_API std::vector<std::string> device_profile_names();

// By the name of its machine, or as people write it: "apple_m1_max", "M1 Max", "m1-max", "host". An unknown name is an
// Error that lists the known ones.
TSR_API DeviceProfile device_profile(std::string_view name);
TSR_API DeviceProfile device_profile(const Machine& machine);

// What this runs on: the profile of an Apple M1 on one of them, else "host".
TSR_API DeviceProfile detect_device();
// The profile for what the operating system calls the processor, "" if it is none of ours.
TSR_API std::string profile_name_of_processor(std::string_view brand);

// The host, from the cache where it is there and fits this processor and number of threads, else measured (about half a
// second) and kept. A cache that cannot be read or written is no error: then it is measured every time.
TSR_API DeviceProfile host_profile();
TSR_API DeviceProfile measure_host(double seconds = 0.5);
// $XDG_CACHE_HOME/tessera, or ~/.cache/tessera; empty where neither is known.
TSR_API std::filesystem::path cache_folder();
TSR_API std::filesystem::path host_profile_file();

TSR_API std::string device_profile_to_json(const DeviceProfile& profile);
TSR_API DeviceProfile device_profile_from_json(std::string_view text);

}  // namespace tessera::apple
