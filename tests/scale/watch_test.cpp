#include "tessera/scale/watch.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <memory>
#include <thread>

namespace tessera {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> kNames = {"rank 0 of 3 on a", "rank 1 of 3 on b", "rank 2 of 3 on c"};

// What a rank comes to hear, if it does.
class Ear {
 public:
  Watch::Lost lost() {
    return [this](const std::string& cause, std::chrono::milliseconds) { heard_.set_value(cause); };
  }
  std::string wait(std::chrono::milliseconds patience = 20s) {
    return future_.wait_for(patience) == std::future_status::ready ? future_.get() : "nothing";
  }

 private:
  std::promise<std::string> heard_;
  std::future<std::string> future_ = heard_.get_future();
};

WatchOptions quick() {
  WatchOptions options;
  options.beat = 50ms;
  options.last_words = 300ms;
  return options;
}

// Rank 2 as a process. It is there before any thread is (sanitizers forbid to start some in a child of a process that
// has several), joins where it is told to, and waits to be killed or stopped.
class Child {
 public:
  Child() {
    int ends[2];
    if (pipe(ends) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      std::byte bytes[4096];
      close(ends[1]);
      const auto got = read(ends[0], bytes, sizeof(bytes));
      if (got <= 0) _exit(1);
      const Watch watch(2, Payload(bytes, bytes + got), kNames, quick(),
                        [](const std::string&, std::chrono::milliseconds) { _exit(3); });
      for (;;) pause();
    }
    close(ends[0]);
    told_ = ends[1];
  }
  ~Child() {
    close(told_);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  void join(const Payload& place) const {
    ASSERT_EQ(write(told_, place.data(), place.size()), static_cast<ssize_t>(place.size()));
    std::this_thread::sleep_for(500ms);
  }
  void signal(int number) const { kill(process_, number); }

 private:
  pid_t process_ = -1;
  int told_ = -1;
};

TEST(Watch, WhoSaysGoodByeIsNotMissed) {
  Ear first, second;
  auto hub = std::make_unique<Watch>(kNames, quick(), first.lost());
  auto other = std::make_unique<Watch>(1, hub->meeting_place(), kNames, quick(), second.lost());
  std::this_thread::sleep_for(300ms);
  other.reset();
  EXPECT_EQ(first.wait(500ms), "nothing");
  hub.reset();
  EXPECT_EQ(second.wait(0ms), "nothing");
}

TEST(Watch, AProcessThatIsKilledIsNamedToAllOthers) {
  Ear first, second;
  const Child child;
  const Watch hub(kNames, quick(), first.lost());
  child.join(hub.meeting_place());
  const Watch other(1, hub.meeting_place(), kNames, quick(), second.lost());
  std::this_thread::sleep_for(300ms);
  child.signal(SIGKILL);
  const auto says = AllOf(HasSubstr("rank 2 of 3 on c is gone"), HasSubstr("killed or crashed"));
  EXPECT_THAT(first.wait(), says);
  EXPECT_THAT(second.wait(), says);
}

// Rank 0 is stopped while rank 1 looks for it, for longer than one try takes.
TEST(Watch, WhoIsNotAnsweredTriesAgainAndIsNotMissedMeanwhile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t rank_0 = fork();
  if (rank_0 == 0) {
    const Watch hub(kNames, quick(), [](const std::string&, std::chrono::milliseconds) { _exit(3); });
    const Payload place = hub.meeting_place();
    if (write(ends[1], place.data(), place.size()) != static_cast<ssize_t>(place.size())) _exit(1);
    for (;;) pause();
  }
  std::byte bytes[4096];
  const auto got = read(ends[0], bytes, sizeof(bytes));
  kill(rank_0, SIGSTOP);
  Ear ear;
  ASSERT_GT(got, 0);
  const Watch other(1, Payload(bytes, bytes + got), kNames, quick(), ear.lost());
  std::this_thread::sleep_for(2s);
  kill(rank_0, SIGCONT);
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(waitpid(rank_0, nullptr, WNOHANG), 0) << "rank 0 missed somebody";
  kill(rank_0, SIGKILL);
  EXPECT_THAT(ear.wait(), AllOf(HasSubstr("rank 0 of 3 on a is gone"), HasSubstr("killed or crashed")));
  waitpid(rank_0, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(Watch, WhoIsSilentForTooLongIsGone) {
  Ear first;
  WatchOptions options = quick();
  options.silence = 1s;
  const Child child;
  const Watch hub(kNames, options, first.lost());
  child.join(hub.meeting_place());
  child.signal(SIGSTOP);  // its connections stay
  EXPECT_THAT(first.wait(), AllOf(HasSubstr("rank 2 of 3 on c is gone: nothing was heard of it for 1 s")));
}

TEST(Watch, ARankThatGivesUpTellsWhyThroughRank0) {
  Ear first, second, third;
  Watch hub(kNames, quick(), first.lost());
  const Watch one(1, hub.meeting_place(), kNames, quick(), second.lost());
  Watch two(2, hub.meeting_place(), kNames, quick(), third.lost());
  std::this_thread::sleep_for(300ms);
  two.tell("rank 2 has no more memory");
  EXPECT_EQ(first.wait(), "rank 2 has no more memory");
  EXPECT_EQ(second.wait(), "rank 2 has no more memory");
  EXPECT_EQ(third.wait(0ms), "nothing");
}

TEST(Watch, AProcessThatIsToldToEndSaysSoIfNothingElseIsKnown) {
  Ear first, second;
  Watch hub(kNames, quick(), first.lost());
  const Watch other(1, hub.meeting_place(), kNames, quick(), second.lost());
  std::this_thread::sleep_for(300ms);
  hub.told_to_end();
  EXPECT_THAT(first.wait(), HasSubstr("rank 0 of 3 on a was told to end (SIGTERM)"));
  EXPECT_THAT(second.wait(), HasSubstr("rank 0 of 3 on a was told to end (SIGTERM)"));
}

TEST(Watch, AStrangerIsNotLetIn) {
  Ear first, second;
  const Watch hub(kNames, quick(), first.lost());
  Payload place = hub.meeting_place();
  place[0] ^= std::byte{1};
  auto stranger = std::make_unique<Watch>(1, place, kNames, quick(), second.lost());
  stranger->tell("rank 1 has broken everything");
  EXPECT_EQ(first.wait(500ms), "nothing");
}

TEST(Watch, TheTimeoutComesFromTheEnvironment) {
  setenv("TESSERA_PEER_TIMEOUT", "2", 1);
  EXPECT_EQ(watch_options().silence, 2s);
  EXPECT_EQ(watch_options().beat, 500ms);
  setenv("TESSERA_PEER_TIMEOUT", "soon", 1);
  EXPECT_THAT([] { watch_options(); },
              testing::Throws<std::exception>(testing::Property(
                  &std::exception::what, HasSubstr("TESSERA_PEER_TIMEOUT='soon' is no number of seconds"))));
  unsetenv("TESSERA_PEER_TIMEOUT");
}

}  // namespace
}  // namespace tessera
