#pragma once

// Draws of numpy.random.RandomState: a Mersenne Twister (Matsumoto and Nishimura, 1998) and NumPy's frozen recipes on
// top of it, number for number.

#include "tessera/core/export.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::ncp {

class TSR_API RandomState {
 public:
  explicit RandomState(std::uint32_t seed);

  std::uint32_t next_u32();
  // choice(n): one of 0..n-1. Takes nothing from the stream when n is 1.
  int choice(int n);
  // choice(n, size=k, replace=False): the first k of a permutation of all n, so a whole permutation is drawn.
  std::vector<int> choose(int n, int k);

 private:
  static constexpr int kWords = 624;

  void refill();
  std::uint32_t up_to(std::uint32_t most);

  std::array<std::uint32_t, kWords> words_{};
  int used_ = kWords;
};

}  // namespace tessera::ncp
