#include "tessera/scale/shared_work.h"

#include "tessera/core/error.h"
#include "thread_world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tessera {
namespace {

using for_tests::Threads;
using testing::Each;
using testing::HasSubstr;

Payload square(std::size_t i) {
  Payload out(i % 5 + 1, std::byte{3});  // of different lengths
  out[0] = static_cast<std::byte>(i * i % 251);
  return out;
}

TEST(SharedWork, EverybodyGetsAllResultsInOrder) {
  for (const int ranks : {1, 2, 5})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      std::atomic<std::size_t> computed = 0;
      const auto thrown = Threads(ranks).run([&](Communicator& world) {
        for (int round = 0; round < 2; ++round) {
          const std::vector<Payload> all = share_work(world, count, [&](std::size_t i) {
            ++computed;
            return square(i);
          });
          ASSERT_EQ(all.size(), count);
          for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(all[i], square(i));
        }
      });
      EXPECT_THAT(thrown, Each(""));
      EXPECT_EQ(computed, 2 * count) << "each by one rank";
    }
}

TEST(SharedWork, WhoIsSlowDoesLess) {
  std::vector<std::atomic<int>> pieces(3);
  const auto thrown = Threads(3).run([&](Communicator& world) {
    share_work(world, 60, [&](std::size_t i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(world.rank() == 1 ? 20 : 1));
      ++pieces[static_cast<std::size_t>(world.rank())];
      return square(i);
    });
  });
  EXPECT_THAT(thrown, Each(""));
  EXPECT_LT(pieces[1], pieces[0]);
  EXPECT_LT(pieces[1], pieces[2]);
}

TEST(SharedWork, AFailureEndsAllWithItsCause) {
  for (const int failing : {0, 2}) {
    const auto thrown = Threads(3).run([&](Communicator& world) {
      share_work(world, 200, [&](std::size_t i) {
        if (world.rank() == failing && i > 2) fail(Code::internal, "the card is gone");
        return square(i);
      });
    });
    EXPECT_THAT(thrown, Each(HasSubstr("the card is gone")));
    for (std::size_t rank = 0; rank < thrown.size(); ++rank)
      if (static_cast<int>(rank) != failing) {
        EXPECT_THAT(thrown[rank], HasSubstr(fmt::format("rank {} of 3", failing)));
      }
  }
}

TEST(SharedWork, TheFirstDecides) {
  const auto thrown = Threads(3).run([&](Communicator& world) {
    EXPECT_FALSE(first_decides(world, world.rank() != 0));
    EXPECT_TRUE(first_decides(world, world.rank() == 0));
  });
  EXPECT_THAT(thrown, Each(""));
}

}  // namespace
}  // namespace tessera
