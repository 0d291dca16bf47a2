#include "tessera/kernel_plan/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

TEST(Arena, WhatNeverLivesTogetherSharesItsPlace) {
  const std::vector<Lifetime> lifetimes{{1000, 0, 1}, {1000, 2, 3}};
  const ArenaPlacement placement = place(lifetimes);
  EXPECT_EQ(placement.offsets[0], placement.offsets[1]);
  EXPECT_EQ(placement.bytes, 1024);
}

TEST(Arena, NothingOverlapsInSpaceAndTimeAndTheBlockIsNearItsLowerBound) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 100);
      lifetimes.push_back(
          {static_cast<std::int64_t>(random() % 100000), first, first + static_cast<int>(random() % 8)});
    }
    const ArenaPlacement placement = place(lifetimes);
    for (std::size_t a = 0; a < lifetimes.size(); ++a) {
      EXPECT_EQ(placement.offsets[a] % kArenaAlignment, 0);
      EXPECT_LE(placement.offsets[a] + lifetimes[a].bytes, placement.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        const bool together = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
        const bool apart = placement.offsets[a] + lifetimes[a].bytes <= placement.offsets[b] ||
                           placement.offsets[b] + lifetimes[b].bytes <= placement.offsets[a];
        EXPECT_TRUE(!together || apart || lifetimes[a].bytes == 0 || lifetimes[b].bytes == 0);
      }
    }
    EXPECT_GE(placement.bytes, placement.lower_bound_bytes);
    EXPECT_LE(placement.bytes, placement.lower_bound_bytes * 3 / 2);
  }
}

TEST(Arena, ChainsReachTheLowerBound) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({4096, i, i + 1});
  const ArenaPlacement placement = place(chain);
  EXPECT_EQ(placement.bytes, placement.lower_bound_bytes);
  EXPECT_EQ(placement.bytes, 8192);
}

}  // namespace
}  // namespace tessera
