#include "tessera/scale/thread_share.h"

#include "tessera/core/parallel_for.h"
#include "thread_world.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

TEST(ThreadShare, CpusOfOneHostAreDividedAmongItsRanks) {
  const std::vector<RankCpus> ranks{{"a", {0, 1, 2, 3}}, {"a", {0, 1, 2, 3}}, {"b", {0, 1, 2, 3}}, {"a", {4, 5}}};
  EXPECT_EQ(share_of_cpus(ranks, 0), 2);
  EXPECT_EQ(share_of_cpus(ranks, 1), 2);
  EXPECT_EQ(share_of_cpus(ranks, 2), 4);  // alone on its host
  EXPECT_EQ(share_of_cpus(ranks, 3), 2);  // bound to CPUs of its own
  EXPECT_EQ(share_of_cpus({{"a", {0, 1, 2}}, {"a", {0, 1, 2}}, {"a", {0, 1, 2}}}, 2), 1);
  EXPECT_EQ(share_of_cpus({{"a", {0}}, {"a", {0}}}, 1), 1);  // more ranks than CPUs
}

TEST(ThreadShare, RanksThatAreThreadsDivideWhatTheProcessHas) {
  std::vector<int> found(2);
  const auto thrown = for_tests::Threads(2).run(
      [&](Communicator& world) { found[static_cast<std::size_t>(world.rank())] = share_of_threads(world); });
  EXPECT_THAT(thrown, testing::Each(""));
  EXPECT_THAT(found, testing::Each(std::max(1, hardware_threads() / 2)));
  EXPECT_EQ(share_of_threads(*single_process()), hardware_threads());
}

}  // namespace
}  // namespace tessera
