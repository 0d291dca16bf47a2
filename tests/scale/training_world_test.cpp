#include "tessera/scale/training_world.h"

#include "tessera/core/parallel_for.h"
#include "thread_world.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera {
namespace {

using for_tests::Threads;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(TrainingWorld, TellsHowMuchOfTheTimeWasSpentComputing) {
  std::vector<std::string> long_run(2), no_time(2);
  const auto thrown = Threads(2).run([&](Communicator& all) {
    TrainingWorld world(all, "1", false, 1);
    ASSERT_NE(world.exchange(), nullptr);
    const auto rank = static_cast<std::size_t>(all.rank());
    // An hour in which nobody has waited; then no time at all, of which the wait for the first text leaves nothing.
    long_run[rank] = world.closing_text(3600, 7200);
    no_time[rank] = world.closing_text(0, 0);
  });
  EXPECT_THAT(thrown, Each(""));
  EXPECT_THAT(long_run, Each(AllOf(StartsWith("2 ranks: 2 samples/s in 3600 s measured"), HasSubstr("100.0 % of that"),
                                   HasSubstr("1 thread, waited"))));
  EXPECT_THAT(no_time, Each(HasSubstr("they computed 0.0 % of that time")));
}

TEST(TrainingWorld, RanksOfOneHostShareItsCpusUnlessTheyAreToldHowManyThreads) {
  std::vector<int> share(2), asked(2);
  const auto thrown = Threads(2).run([&](Communicator& all) {
    const auto rank = static_cast<std::size_t>(all.rank());
    {
      const TrainingWorld world(all, "1", false, 0);
      share[rank] = max_threads();
    }
    const TrainingWorld world(all, "1", false, 3);
    asked[rank] = max_threads();
  });
  EXPECT_THAT(thrown, Each(""));
  EXPECT_THAT(share, Each(std::max(1, hardware_threads() / 2)));
  EXPECT_THAT(asked, Each(3));
}

TEST(TrainingWorld, OneRankHasNothingToExchangeOrToTell) {
  const auto thrown = Threads(1).run([&](Communicator& all) {
    TrainingWorld world(all, "1", false, 1);
    EXPECT_EQ(world.exchange(), nullptr);
    EXPECT_THAT(world.closing_text(1, 1), IsEmpty());
  });
  EXPECT_THAT(thrown, Each(""));
}

}  // namespace
}  // namespace tessera
