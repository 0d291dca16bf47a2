#pragma once

// Random cases for a quarter of a second (TESSERA_FUZZ_SECONDS says otherwise), each with a seed of its own that a
// failure names; TESSERA_FUZZ_SEED=<seed> runs that case alone.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>

namespace tessera::cpu {

// for (Fuzz fuzz; fuzz.next();) { ... fuzz.random ... }
class Fuzz {
 public:
  std::mt19937_64 random;

  bool next() {
    if (testing::Test::HasFailure()) return false;
    const char* given = std::getenv("TESSERA_FUZZ_SEED");
    if (round_ > 0 && (given != nullptr || std::chrono::steady_clock::now() > end_)) return false;
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : first_ + round_;
    ++round_;
    random.seed(seed);
    trace_.emplace(__FILE__, __LINE__, "TESSERA_FUZZ_SEED=" + std::to_string(seed));
    return true;
  }
  // Between least and most, both included.
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + pick(0, static_cast<std::int64_t>(values.size()) - 1));
  }

 private:
  static double seconds() {
    const char* given = std::getenv("TESSERA_FUZZ_SECONDS");
    return given != nullptr ? std::strtod(given, nullptr) : 0.25;
  }

  std::chrono::duration<double> limit_{seconds()};
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit_);
  std::uint64_t first_ = std::random_device()(), round_ = 0;
  std::optional<testing::ScopedTrace> trace_;
};

// The same for a body that takes the generator.
template <class Body>
void fuzz(Body&& body) {
  for (Fuzz rounds; rounds.next();) body(rounds.random);
}

// Between low and high, both included.
inline std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}
inline bool coin(std::mt19937_64& random) { return random() & 1; }

template <class T, std::size_t N>
T pick(std::mt19937_64& random, const T (&from)[N]) {
  return from[random() % N];
}

}  // namespace tessera::cpu
