#include "tessera/core/peak.h"

#include "tessera/core/bytes.h"
#include "tessera/core/isa_functions.h"
#include "tessera/core/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace tessera {

TSR_EACH_ISA(double peak_loop(long rounds, float seed); double peak_loop_flops(long rounds);)

namespace {

struct Loop {
  double (*run)(long rounds, float seed);
  double (*flops)(long rounds);
};

Loop loop_of(Isa isa) { return {TSR_FOR_ISA(isa, peak_loop), TSR_FOR_ISA(isa, peak_loop_flops)}; }

double seconds_of(FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_read_bytes_per_s(double budget) {
  constexpr std::int64_t kBytes = std::int64_t{192} << 20, kChunk = 1 << 16;
  const Bytes memory(static_cast<std::size_t>(kBytes), std::byte{1});
  std::atomic<std::uint64_t> sink{0};
  double best = 0, spent = 0;
  do {
    const double seconds = seconds_of([&] {
      parallel_for(kBytes / kChunk, 1, [&](std::int64_t begin, std::int64_t end) {
        std::uint64_t sums[4] = {};
        for (std::int64_t at = begin * kChunk; at < end * kChunk; at += 32)
          for (std::int64_t i = 0; i < 4; ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, memory.data() + at + 8 * i, 8);
            sums[i] ^= word;
          }
        sink ^= sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
      });
    });
    best = std::max(best, static_cast<double>(kBytes) / seconds);
    spent += seconds;
  } while (spent < budget);
  return best;
}

}  // namespace

double run_peak_loop(Isa isa, long rounds) {
  static std::atomic<double> sink{0};  // keeps the loop from being left out
  const Loop loop = loop_of(isa);
  sink = loop.run(rounds, 1.0f);
  return loop.flops(rounds);
}

// The best of several, so that a machine that others use too shows what it can do.
double measure_flop_per_s(Isa isa, int threads, double budget) {
  const ThreadLimit limit(threads);
  constexpr long kRounds = 1 << 18;
  std::atomic<double> flops{0};
  double best = 0, spent = 0;
  do {
    const double seconds = seconds_of([&] {
      parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) flops = run_peak_loop(isa, kRounds);
      });
    });
    best = std::max(best, flops * threads / seconds);
    spent += seconds;
  } while (spent < budget);
  return best;
}

Peak measure_peak(Isa isa, int threads, double seconds) {
  const ThreadLimit limit(threads);
  return {measure_flop_per_s(isa, threads, seconds / 2), best_read_bytes_per_s(seconds / 2)};
}

}  // namespace tessera
