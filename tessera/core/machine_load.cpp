#include "tessera/core/machine_load.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>

namespace tessera {
namespace {

std::optional<CpuTimes> cpu_times() {
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return parse_cpu_times(line, ticks > 0 ? static_cast<double>(ticks) : 100);
}

double own_seconds() {
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view stat, double ticks_per_s) {
  constexpr std::string_view kName = "cpu ";
  if (!stat.starts_with(kName)) return std::nullopt;
  stat.remove_prefix(kName.size());
  // user, nice, system, idle, waiting, interrupts, soft interrupts, stolen; user has the time of guests in it.
  std::array<double, 8> ticks{};
  std::size_t count = 0;
  while (count < ticks.size()) {
    stat.remove_prefix(std::min(stat.find_first_not_of(' '), stat.size()));
    if (stat.empty() || stat.front() == '\n') break;
    const auto [next, error] = std::from_chars(stat.data(), stat.data() + stat.size(), ticks[count]);
    if (error != std::errc{}) return std::nullopt;
    stat.remove_prefix(static_cast<std::size_t>(next - stat.data()));
    ++count;
  }
  if (count < 4) return std::nullopt;
  return CpuTimes{(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / ticks_per_s, ticks[7] / ticks_per_s};
}

LoadWatch::LoadWatch() : cpus_(cpu_times()), own_s_(own_seconds()), wall_s_(wall_seconds()) {}

std::optional<MachineLoad> LoadWatch::load() const {
  const std::optional<CpuTimes> now = cpu_times();
  const double wall = wall_seconds() - wall_s_;
  if (!cpus_ || !now || wall <= 0) return std::nullopt;
  const double own = own_seconds() - own_s_;
  return MachineLoad{std::max(0.0, now->busy - cpus_->busy - own) / wall,
                     std::max(0.0, now->stolen - cpus_->stolen) / wall};
}

}  // namespace tessera
