#include "tessera/ncp/random_state.h"

#include "tessera/core/error.h"

#include <bit>
#include <numeric>
#include <utility>

namespace tessera::ncp {

RandomState::RandomState(std::uint32_t seed) {
  words_[0] = seed;
  for (std::uint32_t i = 1; i < kWords; ++i) {
    const std::uint32_t before = words_[i - 1];
    words_[i] = 1812433253u * (before ^ (before >> 30)) + i;
  }
}

void RandomState::refill() {
  constexpr int kShift = 397;
  for (int i = 0; i < kWords; ++i) {
    const auto at = [&](int k) { return words_[static_cast<std::size_t>(k % kWords)]; };
    const std::uint32_t joined = (at(i) & 0x80000000u) | (at(i + 1) & 0x7fffffffu);
    words_[static_cast<std::size_t>(i)] = at(i + kShift) ^ (joined >> 1) ^ ((joined & 1u) != 0 ? 0x9908b0dfu : 0u);
  }
  used_ = 0;
}

std::uint32_t RandomState::next_u32() {
  if (used_ == kWords) refill();
  std::uint32_t word = words_[static_cast<std::size_t>(used_++)];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

std::uint32_t RandomState::up_to(std::uint32_t most) {
  if (most == 0) return 0;
  const std::uint32_t mask = 0xffffffffu >> std::countl_zero(most);
  for (;;)
    if (const std::uint32_t value = next_u32() & mask; value <= most) return value;
}

int RandomState::choice(int n) {
  check(n > 0, Code::invalid_argument, "cannot choose one of {} items", n);
  return static_cast<int>(up_to(static_cast<std::uint32_t>(n - 1)));
}

std::vector<int> RandomState::choose(int n, int k) {
  check(0 <= k && k <= n, Code::invalid_argument, "cannot choose {} different items of {}", k, n);
  std::vector<int> items(static_cast<std::size_t>(n));
  std::iota(items.begin(), items.end(), 0);
  for (int i = n - 1; i > 0; --i)
    std::swap(items[static_cast<std::size_t>(i)], items[up_to(static_cast<std::uint32_t>(i))]);
  items.resize(static_cast<std::size_t>(k));
  return items;
}

}  // namespace tessera::ncp
