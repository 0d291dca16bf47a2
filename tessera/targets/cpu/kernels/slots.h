#pragma once

// Pieces of a step's scratch that threads take in turns. Which of them are taken is kept as bits in the first bytes of
// the scratch, so that calls at the same time, each with a scratch of its own, do not meet.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace tessera::cpu {

class Slots {
 public:
  static constexpr std::int64_t kFlagBytes = 64;  // before the first slot
  static constexpr std::int64_t kMost = 64;

  static std::int64_t bytes(std::int64_t count, std::int64_t slot_bytes) { return kFlagBytes + count * slot_bytes; }

  // Before threads begin.
  Slots(std::byte* scratch, std::int64_t count, std::int64_t slot_bytes)
      : scratch_(scratch), count_(std::min(count, kMost)), slot_bytes_(slot_bytes) {
    new (scratch) std::atomic<std::uint64_t>(0);
  }

  // Held while it lives. No more than `count` may be held at once.
  class Held {
   public:
    explicit Held(const Slots& slots) : slots_(slots) {
      for (;;)
        for (index_ = 0; index_ < slots.count_; ++index_)
          if ((slots.taken().fetch_or(bit()) & bit()) == 0) return;
    }
    ~Held() { slots_.taken().fetch_and(~bit()); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    std::byte* data() const { return slots_.scratch_ + kFlagBytes + index_ * slots_.slot_bytes_; }

   private:
    std::uint64_t bit() const { return std::uint64_t{1} << index_; }
    const Slots& slots_;
    std::int64_t index_ = 0;
  };

 private:
  std::atomic<std::uint64_t>& taken() const {
    return *std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(scratch_));
  }
  std::byte* scratch_;
  std::int64_t count_, slot_bytes_;
};

}  // namespace tessera::cpu
