#include "tessera/core/parallel_for.h"

#include "tessera/core/error.h"
#include "tessera/core/internal/cgroup.h"
#include "tessera/core/internal/thread_team.h"
#include "tessera/core/shape.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxThreads = 4096;
// Ranges per thread: enough to even out threads that are slowed down by others, few enough to cost nothing.
constexpr std::int64_t kRangesPerThread = 4;

int affinity_cpus() {
#if defined(__linux__)
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {  // the kernel refuses masks smaller than its own
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(1, count);
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!in || !std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::optional<double> quota(std::optional<double> time, std::optional<double> period) {
  if (!time || !period || *time <= 0 || *period <= 0) return std::nullopt;
  return *time / *period;
}

// "150000 100000" or "max 100000"
std::optional<double> quota_v2(const fs::path& dir) {
  const std::optional<std::string> line = first_line(dir / "cpu.max");
  if (!line) return std::nullopt;
  const std::size_t space = line->find(' ');
  if (space == std::string::npos) return std::nullopt;
  return quota(number(std::string_view(*line).substr(0, space)), number(std::string_view(*line).substr(space + 1)));
}

// -1 means no limit.
std::optional<double> quota_v1(const fs::path& dir) {
  const std::optional<std::string> time = first_line(dir / "cpu.cfs_quota_us"),
                                   period = first_line(dir / "cpu.cfs_period_us");
  if (!time || !period) return std::nullopt;
  return quota(number(*time), number(*period));
}

struct Quota {
  double cpus;
  int version;
};

// The smallest of all levels.
std::optional<Quota> cgroup_quota(const fs::path& root) {
  std::optional<Quota> found;
  for (const auto& [folder, version] : internal::cgroup_folders(root, "cpu")) {
    const std::optional<double> cpus = version == 2 ? quota_v2(folder) : quota_v1(folder);
    if (cpus && (!found || *cpus < found->cpus)) found = Quota{*cpus, version};
  }
  return found;
}

const ThreadCount& hardware() {
  static const ThreadCount count = count_threads(affinity_cpus(), "/");
  return count;
}

int threads_from_environment() {
  const char* text = std::getenv("TESSERA_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  int threads = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, threads);
  check(error == std::errc{} && stop == end && threads >= 1 && threads <= kMaxThreads, Code::invalid_argument,
        Hint{"leave it out to use every CPU this process may use"}, "TESSERA_THREADS='{}' is no number from 1 to {}",
        text, kMaxThreads);
  return threads;
}

std::atomic<int> g_set_threads{0};
thread_local bool t_inside = false;
thread_local int t_limit = 0;

struct InsideGuard {
  InsideGuard() { t_inside = true; }
  ~InsideGuard() { t_inside = false; }
};

}  // namespace

ThreadCount count_threads(int cpus, const fs::path& root) {
  const std::optional<Quota> limit = cgroup_quota(root);
  if (!limit) return {std::max(1, cpus), fmt::format("affinity mask allows {} CPUs, no cgroup quota", cpus)};
  const int by_quota = static_cast<int>(std::clamp(std::ceil(limit->cpus), 1.0, double{kMaxThreads}));
  return {std::clamp(cpus, 1, by_quota), fmt::format("affinity mask allows {} CPUs, cgroup v{} quota allows {:.4g}",
                                                     cpus, limit->version, limit->cpus)};
}

int hardware_threads() { return hardware().count; }

int max_threads() {
  if (t_limit > 0) return t_limit;
  if (const int set = g_set_threads.load(std::memory_order_relaxed); set > 0) return set;
  static const int environment = threads_from_environment();
  return environment > 0 ? environment : hardware_threads();
}

void set_max_threads(int threads) {
  check(threads >= 0 && threads <= kMaxThreads, Code::invalid_argument,
        "cannot use {} threads, only 1 to {} (0: default)", threads, kMaxThreads);
  g_set_threads.store(threads, std::memory_order_relaxed);
}

ThreadLimit::ThreadLimit(int threads) : before_(t_limit) {
  check(threads >= 0 && threads <= kMaxThreads, Code::invalid_argument,
        "cannot use {} threads, only 1 to {} (0: default)", threads, kMaxThreads);
  if (threads > 0) t_limit = threads;
}
ThreadLimit::~ThreadLimit() { t_limit = before_; }

ThreadCount thread_count_report() {
  const int threads = max_threads();
  if (g_set_threads.load(std::memory_order_relaxed) > 0) return {threads, "set by the program"};
  if (threads_from_environment() > 0) return {threads, "environment variable TESSERA_THREADS"};
  return hardware();
}

void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  grain = std::clamp<std::int64_t>(grain, 1, n);
  const std::int64_t grains = (n - 1) / grain + 1;
  const int threads = static_cast<int>(std::min<std::int64_t>(t_inside ? 1 : max_threads(), grains));
  if (threads <= 1) return body(0, n);

  const std::int64_t ranges = std::min(grains, threads * kRangesPerThread);
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  internal::ThreadTeam::instance().run(threads - 1, [&] {
    const InsideGuard inside;
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= ranges || failed.load(std::memory_order_relaxed)) break;
      // Range i covers grains [i * grains / ranges, (i + 1) * grains / ranges), written so that nothing overflows.
      const std::int64_t each = grains / ranges, extra = grains % ranges;
      const std::int64_t first = i * each + std::min(i, extra), count = each + (i < extra ? 1 : 0);
      const std::int64_t begin = first * grain, end = first + count == grains ? n : (first + count) * grain;
      try {
        body(begin, end);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera
