#include "tessera/core/internal/thread_team.h"

#include <chrono>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

namespace tessera::internal {
namespace {

constexpr std::uint32_t kOneHelper = 1u << 16;
constexpr std::uint32_t kPlaces = kOneHelper - 1;

// How long to look for a change before sleeping. Waking up takes less, but on a virtual machine a thread that wakes is
// often put behind the one that woke it, and runs when that is done. Steps of a network, and runs in a row, follow each
// other faster than this; an idle process uses no CPU.
constexpr std::chrono::microseconds kLook{200};

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Until `changed`, or the time is up.
template <class Changed>
bool look_for(Changed changed) {
  const auto end = std::chrono::steady_clock::now() + kLook;
  do {
    for (int i = 0; i < 64; ++i) {
      if (changed()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return changed();
}

}  // namespace

ThreadTeam& ThreadTeam::instance() {
  static ThreadTeam* const team = new ThreadTeam;
  return *team;
}

void ThreadTeam::start(int helpers) {
#if defined(__linux__)
  if (helpers_.empty() && sched_getaffinity(0, sizeof(home_), &home_) == 0) home_cpus_ = CPU_COUNT(&home_);
  if (helpers_.empty()) process_ = getpid();
#endif
  try {
    while (static_cast<int>(helpers_.size()) < helpers) {
      std::thread helper([this] { help(); });
      helpers_.push_back(helper.native_handle());
      helper.detach();
      kept_off_ = kDiffers;  // this one may use all, others may not
    }
  } catch (const std::system_error&) {
    // The system has no thread to give: those that are there have to do.
  }
}

// Linux likes to wake a helper on the CPU of the caller, where it waits until the caller has done all the work alone:
// of bursts after a pause, 3 in 10 took twice as long on two idle CPUs. Nothing to do while the caller stays where it
// is, and helpers may use all other CPUs: processes that share the machine do not get in each other's way.
void ThreadTeam::keep_off_this_cpu([[maybe_unused]] int helpers) {
#if defined(__linux__)
  const int cpu = helpers < home_cpus_ ? sched_getcpu() : kNone;
  if (cpu == kept_off_ || cpu >= CPU_SETSIZE) return;
  kept_off_ = cpu;
  if (process_ != getpid()) return;  // a fork has no helpers, but their handles would still mean its parent's
  cpu_set_t allowed = home_;
  if (cpu >= 0) CPU_CLR(static_cast<std::size_t>(cpu), &allowed);
  for (const auto helper : helpers_) pthread_setaffinity_np(helper, sizeof(allowed), &allowed);
#endif
}

bool ThreadTeam::join_region() {
  std::uint32_t places = places_.load(std::memory_order_acquire);
  while ((places & kPlaces) != 0)
    if (places_.compare_exchange_weak(places, places - 1 + kOneHelper, std::memory_order_acq_rel)) return true;
  return false;
}

void ThreadTeam::leave_region() {
  if (places_.fetch_sub(kOneHelper, std::memory_order_acq_rel) == kOneHelper) places_.notify_all();
}

void ThreadTeam::help() {
  std::uint32_t seen = region_.load(std::memory_order_acquire);
  for (;;) {
    while (join_region()) {
      (*work_)();
      leave_region();
    }
    if (!look_for([&] { return region_.load(std::memory_order_acquire) != seen; }))
      region_.wait(seen, std::memory_order_acquire);
    seen = region_.load(std::memory_order_acquire);
  }
}

void ThreadTeam::run(int helpers, FunctionRef<void()> work) {
  const std::unique_lock region(busy_, std::try_to_lock);
  if (!region.owns_lock()) return work();
  start(helpers);
  keep_off_this_cpu(helpers);
  work_ = &work;
  places_.store(static_cast<std::uint32_t>(helpers), std::memory_order_release);
  region_.fetch_add(1, std::memory_order_acq_rel);
  region_.notify_all();
  work();
  // No one may join any more; then wait for those who did.
  std::uint32_t places = places_.fetch_and(~kPlaces, std::memory_order_acq_rel) & ~kPlaces;
  if (places == 0 || look_for([&] { return places_.load(std::memory_order_acquire) == 0; })) return;
  while ((places = places_.load(std::memory_order_acquire)) != 0) places_.wait(places, std::memory_order_acquire);
}

}  // namespace tessera::internal
