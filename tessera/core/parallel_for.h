#pragma once

// Threads, all of them through one function. Helpers look for more work for some microseconds after each region and
// then sleep: an idle process uses no CPU.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera {

struct ThreadCount {
  int count = 1;
  std::string source;  // where the number comes from, in words
};

// CPUs that this process may use: the smaller of its affinity mask and its cgroup's CPU quota (rounded up), at least
// 1. Read once.
TSR_API int hardware_threads();
// How max_threads() came about: "2: affinity mask allows 8 CPUs, cgroup v2 quota allows 1.5".
TSR_API ThreadCount thread_count_report();

// Threads that parallel_for uses: a ThreadLimit, else set_max_threads(), else the environment variable TESSERA_THREADS,
// else hardware_threads(). A TESSERA_THREADS that is no number from 1 to 4096 is an Error.
TSR_API int max_threads();
TSR_API void set_max_threads(int threads);  // 0 returns to the default

// While it lives, max_threads() of this thread is the given number; 0 changes nothing.
class TSR_API ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

// Calls body(begin, end) on ranges that together cover [0, n) once. Every range but the last is a multiple of grain
// long. Ranges run in any order on up to max_threads() threads; inline, as one range, when that is one thread or one
// grain, or inside another parallel_for. When bodies throw, the first exception reaches the caller and ranges not yet
// begun are left out.
TSR_API void parallel_for(std::int64_t n, std::int64_t grain,
                          FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

// The count for a given affinity mask and the cgroup files under `root` (root/proc/self/cgroup, root/sys/fs/cgroup).
TSR_API ThreadCount count_threads(int affinity_cpus, const std::filesystem::path& root);

}  // namespace tessera
