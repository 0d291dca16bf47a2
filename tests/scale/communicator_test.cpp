#include "tessera/scale/communicator.h"

#include "tessera/core/error.h"
#include "thread_world.h"

#include <gmock/gmock.h>

#include <new>

namespace tessera {
namespace {

using for_tests::Threads;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST(Communicator, OneProcessIsAWorldOfItsOwn) {
  const std::unique_ptr<Communicator> world = single_process();
  EXPECT_EQ(world->size(), 1);
  EXPECT_EQ(world->rank(), 0);
  const Payload bytes{std::byte{1}, std::byte{2}};
  EXPECT_EQ(broadcast_bytes(*world, bytes, 0), bytes);
  EXPECT_EQ(world->all_gather(bytes), std::vector<Payload>{bytes});
  EXPECT_FALSE(world->poll());
}

TEST(Communicator, BytesOfAnyLengthComeFromTheRoot) {
  const Payload given(1000, std::byte{7});
  const auto thrown = Threads(3).run(
      [&](Communicator& world) { EXPECT_EQ(broadcast_bytes(world, world.rank() == 1 ? given : Payload{}, 1), given); });
  EXPECT_THAT(thrown, Each(""));
}

TEST(Communicator, AFailureOfOneRankIsTheFailureOfAll) {
  const auto thrown = Threads(3).run([](Communicator& world) {
    together(world, [&] {
      if (world.rank() == 2) fail(Code::io, "the disk is full");
    });
  });
  EXPECT_THAT(thrown[0], HasSubstr("rank 2 of 3 on here failed: the disk is full"));
  EXPECT_THAT(thrown[1], HasSubstr("rank 2 of 3 on here failed: the disk is full"));
  EXPECT_EQ(thrown[2], "the disk is full");
}

TEST(Communicator, SoIsAnExceptionOfAnyKind) {
  const auto thrown = Threads(2).run([](Communicator& world) {
    together(world, [&] {
      if (world.rank() == 0) throw std::bad_alloc();
    });
  });
  EXPECT_EQ(thrown[0], std::bad_alloc().what());
  EXPECT_THAT(thrown[1], HasSubstr("rank 0 of 2 on here failed: std::bad_alloc"));
}

TEST(Communicator, SumsAreThoseOfAllRanksInTheOrderInWhichTheyWereStarted) {
  const auto thrown = Threads(3).run([](Communicator& world) {
    std::vector<float> first(5, static_cast<float>(1 << world.rank())), second(2, 0.5f);
    const auto a = world.start_sum(first), b = world.start_sum(second);
    a->wait();
    b->wait();
    EXPECT_TRUE(b->done());
    EXPECT_THAT(first, Each(7.0f));
    EXPECT_THAT(second, Each(1.5f));
  });
  EXPECT_THAT(thrown, Each(""));
  std::vector<float> alone(3, 2.0f);
  single_process()->start_sum(alone)->wait();
  EXPECT_THAT(alone, Each(2.0f));
}

TEST(Communicator, ARankThatDiffersIsNamed) {
  const auto thrown =
      Threads(3).run([](Communicator& world) { must_agree(world, "the version", world.rank() == 1 ? "0.2" : "0.1"); });
  EXPECT_THAT(thrown, Each(AllOf(HasSubstr("the version differs"), HasSubstr("rank 1 of 3 on here has 0.2"))));
}

}  // namespace
}  // namespace tessera
