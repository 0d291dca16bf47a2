#pragma once

// Random cases for a quarter of a second. A failure prints its seed; TESSERA_FUZZ_SEED=<seed> runs that case alone.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace tessera::cpu {

template <class Body>
void fuzz(Body&& body) {
  if (const char* given = std::getenv("TESSERA_FUZZ_SEED")) {
    std::mt19937_64 random(std::stoull(given));
    body(random);
    return;
  }
  std::random_device device;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
  while (std::chrono::steady_clock::now() < end && !testing::Test::HasFailure()) {
    const std::uint64_t seed = std::uint64_t{device()} << 32 | device();
    SCOPED_TRACE("TESSERA_FUZZ_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    body(random);
  }
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
