#pragma once

// Threads that wait for work. One region of work runs at a time; the caller takes part in it and never waits for a
// helper that has not begun, so a helper that is slow to wake (or is gone after a fork) costs nothing.

#include "tessera/core/function_ref.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace tessera::internal {

class ThreadTeam {
 public:
  // The one of this process. It is never taken down: threads that wait hold nothing.
  static ThreadTeam& instance();

  // Calls work() on the caller's thread and on up to helpers others, at once; returns when all have come back. If
  // another thread's region is running, on the caller's alone. work must not throw.
  void run(int helpers, FunctionRef<void()> work);

 private:
  ThreadTeam() = default;

  void start(int helpers);
  void keep_off_this_cpu(int helpers);
  void help();
  bool join_region();
  void leave_region();

  std::mutex busy_;
  std::vector<std::thread::native_handle_type> helpers_;  // under busy_, as are the next ones
  static constexpr int kNone = -1, kDiffers = -2;
  int kept_off_ = kNone;  // the CPU that no helper may use; kDiffers: not the same for all
  int process_ = 0;       // that they are threads of
#if defined(__linux__)
  cpu_set_t home_ = {};  // the CPUs that they were born with
  int home_cpus_ = 0;
#endif
  const FunctionRef<void()>* work_ = nullptr;  // of the region, valid while there are places in it
  // Places left in the low half, helpers at work in the high half: one word, so that closing a region and joining it
  // cannot both happen.
  std::atomic<std::uint32_t> places_{0};
  std::atomic<std::uint32_t> region_{0};  // its number; helpers wait for the next
};

}  // namespace tessera::internal
