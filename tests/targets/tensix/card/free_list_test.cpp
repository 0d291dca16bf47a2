// The free list against the plainest model there is: a map of units that are taken.

#include "tessera/targets/tensix/card/free_list.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kUnit = 32;

class Model {
 public:
  explicit Model(std::int64_t units) : taken_(static_cast<std::size_t>(units)) {}

  std::optional<std::int64_t> allocate(std::int64_t bytes, bool bottom_up) {
    const std::int64_t want = std::max<std::int64_t>(1, (bytes + kUnit - 1) / kUnit);
    const std::int64_t last = static_cast<std::int64_t>(taken_.size()) - want;
    for (std::int64_t i = 0; i <= last; ++i) {
      const std::int64_t at = bottom_up ? i : last - i;
      if (std::none_of(taken_.begin() + at, taken_.begin() + at + want, [](bool t) { return t; })) {
        std::fill(taken_.begin() + at, taken_.begin() + at + want, true);
        sizes_[at * kUnit] = want;
        return at * kUnit;
      }
    }
    return std::nullopt;
  }
  void deallocate(std::int64_t address) {
    const std::int64_t at = address / kUnit;
    std::fill(taken_.begin() + at, taken_.begin() + at + sizes_[address], false);
    sizes_.erase(address);
  }
  std::int64_t largest_free_bytes() const {
    std::int64_t best = 0, run = 0;
    for (bool t : taken_) best = std::max(best, run = t ? 0 : run + 1);
    return best * kUnit;
  }
  std::int64_t allocated_bytes() const { return std::count(taken_.begin(), taken_.end(), true) * kUnit; }
  const std::map<std::int64_t, std::int64_t>& sizes() const { return sizes_; }

 private:
  std::vector<bool> taken_;
  std::map<std::int64_t, std::int64_t> sizes_;  // address -> units
};

void expect_sound(const FreeList& list) {
  std::int64_t covered = 0, allocated = 0;
  int first = FreeList::kNoBlock;
  const auto& blocks = list.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].in_use && blocks[i].previous == FreeList::kNoBlock) {
      EXPECT_EQ(first, FreeList::kNoBlock) << "two blocks without a previous one";
      first = static_cast<int>(i);
    }
  bool was_free = false;
  for (int id = first; id != FreeList::kNoBlock; id = blocks[static_cast<std::size_t>(id)].next) {
    const FreeList::Block& b = blocks[static_cast<std::size_t>(id)];
    EXPECT_EQ(b.address, covered);
    EXPECT_FALSE(was_free && !b.allocated) << "two free neighbours at " << b.address;
    was_free = !b.allocated;
    covered += b.size_bytes;
    if (b.allocated) allocated += b.size_bytes;
  }
  EXPECT_EQ(covered, list.size_bytes());
  EXPECT_EQ(allocated, list.allocated_bytes());
}

TEST(FreeList, AgreesWithThePlainModelOnRandomWalks) {
  std::mt19937_64 rng(3);
  for (int walk = 0; walk < 40; ++walk) {
    const std::int64_t units = 200 + static_cast<std::int64_t>(rng() % 400);
    const bool bottom_up = walk % 2;
    FreeList list(units * kUnit, kUnit);
    Model model(units);
    for (int step = 0; step < 300; ++step) {
      if (model.sizes().empty() || rng() % 5 < 3) {
        const std::int64_t bytes = static_cast<std::int64_t>(rng() % (rng() % 4 ? 400 : 4000));
        ASSERT_EQ(list.allocate(bytes, bottom_up), model.allocate(bytes, bottom_up));
      } else {
        auto it = model.sizes().begin();
        std::advance(it, static_cast<std::ptrdiff_t>(rng() % model.sizes().size()));
        const std::int64_t address = it->first;
        list.deallocate(address);
        model.deallocate(address);
      }
      ASSERT_EQ(list.largest_free_block_bytes(), model.largest_free_bytes());
      ASSERT_EQ(list.allocated_bytes(), model.allocated_bytes());
    }
    expect_sound(list);
    while (!model.sizes().empty()) {
      const std::int64_t address = model.sizes().begin()->first;
      list.deallocate(address);
      model.deallocate(address);
    }
    EXPECT_EQ(list.largest_free_block_bytes(), list.size_bytes());
    expect_sound(list);
  }
}

TEST(FreeList, AnEmptyBankRefusesEverything) {
  FreeList list(0, kUnit);
  EXPECT_EQ(list.allocate(1, true), std::nullopt);
  EXPECT_EQ(list.largest_free_block_bytes(), 0);
  EXPECT_EQ(list.lowest_allocated_address(), std::nullopt);
}

}  // namespace
}  // namespace tessera::tensix
