#pragma once

// Draws of numpy.random.default_rng: PCG64 (O'Neill, 2014; 128-bit state, XSL-RR output) seeded through a SeedSequence,
// and NumPy's recipes on top of it, number for number.

#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::ncp {

class TSR_API RandomGenerator {
 public:
  explicit RandomGenerator(std::uint64_t seed);

  std::uint64_t next_u64();
  // The low half of a 64-bit draw, and its high half the next time.
  std::uint32_t next_u32();
  // integers(n), as choice() of n items does it: 0..n-1. Takes nothing from the stream when n is 1.
  std::int64_t choice(std::int64_t n);
  // choice(n, size=k, replace=False), shuffled.
  std::vector<std::int64_t> choose(std::int64_t n, std::int64_t k);
  static std::int64_t steps(std::int64_t n, std::int64_t k);  // that choosing takes

 private:
  using Word = unsigned __int128;

  void step();
  std::uint32_t up_to(std::uint32_t most);
  // Fisher and Yates from the end down to `first`.
  void shuffle(std::vector<std::int64_t>& items, std::int64_t first);

  Word state_ = 0;
  Word increment_ = 0;
  std::optional<std::uint32_t> high_half_;
};

}  // namespace tessera::ncp
