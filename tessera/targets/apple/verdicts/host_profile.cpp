#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/peak.h"
#include "tessera/core/sha256.h"
#include "tessera/targets/apple/verdicts/device_profile.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <span>

namespace tessera::apple {
namespace {

namespace fs = std::filesystem;

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

// What the system says of a cache; 0 where it says nothing.
std::int64_t cache_bytes([[maybe_unused]] int which) {
#if defined(__linux__)
  return std::max<std::int64_t>(sysconf(which), 0);
#else
  return 0;
#endif
}

std::int64_t memory_of_system() {
  return std::max<std::int64_t>(sysconf(_SC_PHYS_PAGES), 0) * std::max<std::int64_t>(sysconf(_SC_PAGE_SIZE), 0);
}

// The largest power of two whose CfC cell (hidden and both layers of the backbone as wide, and as many inputs) has its
// weights in half of the cache: 2 w^2 + w^2 + 4 w^2 of them.
int size_for_cache(std::int64_t bytes) {
  int size = 32;
  while (size < 1024 && std::int64_t{7} * (2 * size) * (2 * size) * 4 <= bytes / 2) size *= 2;
  return size;
}

std::string file_name() {
  const std::string key = fmt::format("1|{}|{}|{}", processor_name(), name(active_isa()), max_threads());
  return "host-" + sha256_hex(std::as_bytes(std::span(key)), 16) + ".json";
}

std::optional<DeviceProfile> from_cache(const fs::path& file) {
  std::error_code error;
  if (file.empty() || !fs::is_regular_file(file, error)) return std::nullopt;
  try {
    DeviceProfile out = device_profile_from_json(read_text_file(file));
    // A file of another processor that came here under this name would be believed for ever.
    if (out.name == "host" && out.measured && out.title == processor_name() && out.threads == max_threads()) return out;
  } catch (const Error&) {  // written by another version, or cut off: measured again
  }
  return std::nullopt;
}

}  // namespace

fs::path cache_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') return fs::path(xdg) / "tessera";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "tessera";
  return {};
}

fs::path host_profile_file() {
  const fs::path folder = cache_folder();
  return folder.empty() ? fs::path() : folder / file_name();
}

DeviceProfile measure_host(double seconds) {
  const int threads = max_threads();
  const Peak peak = measure_peak(active_isa(), threads, seconds);
  DeviceProfile out{.name = "host", .title = processor_name(), .unit = "CPU", .measured = true};
  out.peak_flop_per_s = peak.flop_per_s;
  out.peak_bytes_per_s = peak.read_bytes_per_s;
  out.threads = threads;
#if defined(__linux__)
  out.l1d_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  out.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  out.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
#endif
  out.memory_bytes = out.memory_min_bytes = memory_of_system();
  out.memory_budget_bytes = out.memory_bytes / 2;
  const int size = size_for_cache(out.l2_bytes > 0 ? out.l2_bytes : std::int64_t{1} << 20);
  // A thread multiplies up to some dozen rows at a time by weights that it has loaded.
  for (int batch = 16; batch <= 64; batch *= 2) out.batch_sizes.push_back(batch * threads);
  out.hidden_sizes = {size / 2, size};
  out.hidden_limit = 1024;
  out.backbone_units = {size, size};
  out.target_utilization = 0.5;
  out.learning_rate = 0.001;
  out.backbone_dropout = 0.1;
  out.advice = {"keep the weights of a cell within the second-level cache", "give each thread 16 samples or more"};
  // As much of the measured peaks as the guide asks of Apple's published ones: 2 of 2.6 TFLOP/s and 50 of 68 GB/s.
  out.tiers = {{"guide", out.peak_flop_per_s * (2 / 2.6), out.peak_bytes_per_s * (50.0 / 68), out.memory_budget_bytes,
                "the fractions of the peaks that the guide asks of an M1"}};
  out.origin = fmt::format("measured with {} on {} threads", name(active_isa()), threads);
  return out;
}

DeviceProfile host_profile() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);  // two measurements at a time would disturb each other
  const fs::path file = host_profile_file();
  if (std::optional<DeviceProfile> known = from_cache(file)) return *known;
  DeviceProfile out = measure_host();
  try {
    if (!file.empty()) write_file_atomically(file, device_profile_to_json(out), Directories::create);
  } catch (const Error&) {  // a folder that cannot be written to: measured again next time
  }
  return out;
}

}  // namespace tessera::apple
