#include "tessera/ncp/random_generator.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace tessera::ncp {
namespace {

// SeedSequence: a pool of four words into which the seed is hashed, and from which the state of the engine is drawn.
class SeedPool {
 public:
  explicit SeedPool(std::uint64_t seed) {
    const std::array<std::uint32_t, 4> entropy{static_cast<std::uint32_t>(seed),
                                               static_cast<std::uint32_t>(seed >> 32)};
    for (std::size_t i = 0; i < pool_.size(); ++i) pool_[i] = hash(entropy[i]);
    for (std::size_t source = 0; source < pool_.size(); ++source)
      for (std::size_t target = 0; target < pool_.size(); ++target)
        if (source != target) pool_[target] = mix(pool_[target], hash(pool_[source]));
  }

  std::array<std::uint64_t, 4> state() const {
    std::array<std::uint64_t, 4> out{};
    std::uint32_t factor = 0x8b51f9ddu;
    for (std::size_t i = 0; i < 2 * out.size(); ++i) {
      std::uint32_t word = pool_[i % pool_.size()] ^ factor;
      factor *= 0x58f38dedu;
      word *= factor;
      word ^= word >> 16;
      out[i / 2] |= std::uint64_t{word} << (i % 2 == 0 ? 0 : 32);
    }
    return out;
  }

 private:
  std::uint32_t hash(std::uint32_t word) {
    word ^= factor_;
    factor_ *= 0x931e8875u;
    word *= factor_;
    return word ^ (word >> 16);
  }
  static std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
    const std::uint32_t word = 0xca01f9ddu * x - 0x4973f715u * y;
    return word ^ (word >> 16);
  }

  std::uint32_t factor_ = 0x43b0d7e5u;
  std::array<std::uint32_t, 4> pool_{};
};

}  // namespace

RandomGenerator::RandomGenerator(std::uint64_t seed) {
  const auto words = SeedPool(seed).state();
  const auto join = [](std::uint64_t high, std::uint64_t low) { return (Word{high} << 64) | low; };
  increment_ = (join(words[2], words[3]) << 1) | 1u;
  step();
  state_ += join(words[0], words[1]);
  step();
}

void RandomGenerator::step() {
  constexpr Word kFactor = (Word{0x2360ed051fc65da4u} << 64) | 0x4385df649fccf645u;
  state_ = state_ * kFactor + increment_;
}

std::uint64_t RandomGenerator::next_u64() {
  step();
  const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

std::uint32_t RandomGenerator::next_u32() {
  if (high_half_) return *std::exchange(high_half_, std::nullopt);
  const std::uint64_t both = next_u64();
  high_half_ = static_cast<std::uint32_t>(both >> 32);
  return static_cast<std::uint32_t>(both);
}

// Lemire's method ("Fast random integer generation in an interval", 2019).
std::uint32_t RandomGenerator::up_to(std::uint32_t most) {
  if (most == 0) return 0;
  const std::uint64_t count = std::uint64_t{most} + 1;
  std::uint64_t product = next_u32() * count;
  if (static_cast<std::uint32_t>(product) < count) {
    const auto threshold = static_cast<std::uint32_t>((std::numeric_limits<std::uint32_t>::max() - most) % count);
    while (static_cast<std::uint32_t>(product) < threshold) product = next_u32() * count;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

std::int64_t RandomGenerator::choice(std::int64_t n) {
  check(0 < n && n <= std::numeric_limits<std::uint32_t>::max(), Code::invalid_argument,
        "cannot choose one of {} items: 1 to 4294967295 are possible", n);
  return up_to(static_cast<std::uint32_t>(n - 1));
}

void RandomGenerator::shuffle(std::vector<std::int64_t>& items, std::int64_t first) {
  for (auto i = static_cast<std::int64_t>(items.size()) - 1; i >= first; --i)
    std::swap(items[static_cast<std::size_t>(i)], items[up_to(static_cast<std::uint32_t>(i))]);
}

namespace {

// Whether all items are listed and the list is shuffled, as numpy does.
bool lists_all(std::int64_t n, std::int64_t k) { return n > 10000 && k > n / 50; }

}  // namespace

std::int64_t RandomGenerator::steps(std::int64_t n, std::int64_t k) { return lists_all(n, k) ? n : k; }

std::vector<std::int64_t> RandomGenerator::choose(std::int64_t n, std::int64_t k) {
  check(0 <= k && k <= n && n <= std::numeric_limits<std::uint32_t>::max(), Code::invalid_argument,
        "cannot choose {} different items of {}", k, n);
  std::vector<std::int64_t> items;
  if (lists_all(n, k)) {
    items.resize(static_cast<std::size_t>(n));
    std::iota(items.begin(), items.end(), std::int64_t{0});
    shuffle(items, std::max<std::int64_t>(n - k, 1));
    items.erase(items.begin(), items.end() - k);
    return items;
  }
  // Floyd's algorithm: each step adds one item of a range that grows by one.
  std::unordered_set<std::int64_t> taken;
  for (std::int64_t last = n - k; last < n; ++last) {
    std::int64_t item = up_to(static_cast<std::uint32_t>(last));
    if (!taken.insert(item).second) taken.insert(item = last);
    items.push_back(item);
  }
  shuffle(items, 1);
  return items;
}

}  // namespace tessera::ncp
