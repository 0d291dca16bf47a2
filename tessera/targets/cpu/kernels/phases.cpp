#include "tessera/targets/cpu/kernels/phases.h"

#include "tessera/core/parallel_for.h"

#include <atomic>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::cpu {
namespace {

// How often to look before another's part is taken although it is there: some microseconds. How often before the
// system may run somebody else.
constexpr int kPatience = 256, kYield = 4096;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

class Phases {
 public:
  Phases(std::int64_t phases, int parts, FunctionRef<void(std::int64_t, int)> body)
      : phases_(phases), slots_(static_cast<std::size_t>(parts)), body_(body) {}

  void join(int own) {
    slots_[static_cast<std::size_t>(own)].present.store(true, std::memory_order_relaxed);
    for (std::int64_t phase = 0; phase < phases_; ++phase) {
      take(own, phase);
      for (int looks = 1; !complete(phase); ++looks) {
        for (int part = 0; part < static_cast<int>(slots_.size()); ++part)
          if (looks > kPatience || !slots_[static_cast<std::size_t>(part)].present.load(std::memory_order_relaxed))
            take(part, phase);
        if (looks % kYield == 0)
          std::this_thread::yield();
        else
          pause();
      }
    }
  }

 private:
  struct alignas(64) Slot {
    std::atomic<std::int64_t> next{0};  // the phase whose part nobody has taken yet
    std::atomic<bool> present{false};
  };

  bool complete(std::int64_t phase) const {
    return done_.load(std::memory_order_acquire) >= (phase + 1) * static_cast<std::int64_t>(slots_.size());
  }
  void take(int part, std::int64_t phase) {
    std::atomic<std::int64_t>& next = slots_[static_cast<std::size_t>(part)].next;
    std::int64_t expected = phase;
    if (next.load(std::memory_order_relaxed) != phase ||
        !next.compare_exchange_strong(expected, phase + 1, std::memory_order_acq_rel))
      return;
    body_(phase, part);
    done_.fetch_add(1, std::memory_order_acq_rel);
  }

  const std::int64_t phases_;
  std::vector<Slot> slots_;
  FunctionRef<void(std::int64_t, int)> body_;
  alignas(64) std::atomic<std::int64_t> done_{0};
};

}  // namespace

void run_phases(std::int64_t phases, int parts, FunctionRef<void(std::int64_t phase, int part)> body) {
  if (parts <= 1) {
    for (std::int64_t phase = 0; phase < phases; ++phase) body(phase, 0);
    return;
  }
  Phases shared(phases, parts, body);
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) shared.join(static_cast<int>(part));
  });
}

}  // namespace tessera::cpu
