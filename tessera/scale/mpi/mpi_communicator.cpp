#include "tessera/scale/mpi/mpi_communicator.h"

#include "tessera/core/error.h"
#include "tessera/scale/watch.h"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <limits>
#include <numeric>
#include <thread>

namespace tessera {
namespace {

constexpr int kTag = 1;
// A count is an int in MPI: what is longer goes in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 30;

using namespace std::chrono_literals;

std::atomic<Watch*> the_watch = nullptr;

// How long a process that MPI ends stays for its watch to say why.
constexpr auto kForTheWatch = 2s;

extern "C" void on_sigterm(int) {
  if (Watch* const watch = the_watch.load()) watch->told_to_end();
}

void checked(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  if (the_watch.load() != nullptr)
    std::this_thread::sleep_for(kForTheWatch);  // it knows better what has happened, and ends this
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail(Code::io, Hint{"another rank or its host may be gone; its message says why"}, "{}: {}", what, text);
}

// MPI ends a process that finds a connection broken: the watch, which has seen that as well, is to say why first.
void let_the_watch_speak() {
  for (Watch* watch = the_watch.load(); watch != nullptr && watch->about_to_end(); watch = the_watch.load())
    std::this_thread::sleep_for(10ms);
}

// The calls of MPI that wait spin, take the core from others, and end the process without a word where a connection
// breaks. Bytes move only while both sides look: those that wait for many of them are to look often, for `awake`.
template <typename Done>
void wait_until(std::chrono::milliseconds awake, Done&& done) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    let_the_watch_speak();
    if (done()) return;
    if (std::chrono::steady_clock::now() - start > awake)
      std::this_thread::sleep_for(500us);
    else
      std::this_thread::yield();
  }
}
void finish(int status, MPI_Request& request, const char* what) {
  checked(status, what);
  wait_until(1s, [&] {
    int all = 0;
    checked(MPI_Test(&request, &all, MPI_STATUS_IGNORE), what);
    return all != 0;
  });
}

class MpiSum final : public Communicator::Sum {
 public:
  explicit MpiSum(std::span<float> values) {
    check(values.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::internal,
          "{} numbers to add up at a time", values.size());
    checked(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD, &request_),
            kWhat);
  }
  bool done() override {
    let_the_watch_speak();
    int all = 0;
    checked(MPI_Test(&request_, &all, MPI_STATUS_IGNORE), kWhat);
    return all != 0;
  }
  void wait() override { finish(MPI_SUCCESS, request_, kWhat); }

 private:
  static constexpr const char* kWhat = "adding up over all ranks";
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class MpiWorld final : public Communicator {
 public:
  MpiWorld() {
    int provided = 0;
    checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI cannot start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &leaving_);
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    for (const Payload& host : all_gather(std::as_bytes(std::span(name, static_cast<std::size_t>(length)))))
      hosts_.emplace_back(reinterpret_cast<const char*>(host.data()), host.size());
  }
  ~MpiWorld() override { end(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host(int rank) const override { return hosts_.at(static_cast<std::size_t>(rank)); }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    finish(MPI_Ibarrier(MPI_COMM_WORLD, &request), request, "waiting for all ranks");
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    MPI_Request request = MPI_REQUEST_NULL;
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
      finish(MPI_Ibcast(bytes.data() + at, static_cast<int>(std::min(kPiece, bytes.size() - at)), MPI_BYTE, root,
                        MPI_COMM_WORLD, &request),
             request, "broadcasting");
  }

  std::vector<Payload> all_gather(std::span<const std::byte> bytes) override {
    check(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::internal,
          "{} B to gather from one rank", bytes.size());
    const int mine = static_cast<int>(bytes.size());
    std::vector<int> lengths(static_cast<std::size_t>(size_)), offsets(lengths.size());
    MPI_Request request = MPI_REQUEST_NULL;
    finish(MPI_Iallgather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD, &request), request,
           "gathering");
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    Payload all(static_cast<std::size_t>(offsets.back()) + static_cast<std::size_t>(lengths.back()));
    finish(MPI_Iallgatherv(bytes.data(), mine, MPI_BYTE, all.data(), lengths.data(), offsets.data(), MPI_BYTE,
                           MPI_COMM_WORLD, &request),
           request, "gathering");
    std::vector<Payload> out;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      out.emplace_back(all.begin() + offsets[i], all.begin() + offsets[i] + lengths[i]);
    return out;
  }

  std::unique_ptr<Sum> start_sum(std::span<float> values) override { return std::make_unique<MpiSum>(values); }

  void send(int to, Payload bytes) override {
    check(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::internal,
          "a message of {} B", bytes.size());
    forget_sent();
    Underway& message = underway_.emplace_back();
    message.bytes = std::move(bytes);
    checked(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD,
                      &message.request),
            "sending");
  }

  Message receive() override {
    std::optional<Message> message;
    wait_until(2ms, [&] { return (message = poll()).has_value(); });
    return *std::move(message);
  }

  // Long messages come in the background: whoever has something else to do meanwhile does not wait for them.
  std::optional<Message> poll() override {
    let_the_watch_speak();
    forget_sent();
    while (begin_to_receive()) {
    }
    for (auto it = arriving_.begin(); it != arriving_.end(); ++it) {
      int there = 0;
      checked(MPI_Test(&it->request, &there, MPI_STATUS_IGNORE), kReceiving);
      if (there == 0 || overtakes(it)) continue;
      Message message = std::move(it->message);
      arriving_.erase(it);
      return message;
    }
    return std::nullopt;
  }

  void watch(Lost lost) override {
    if (size_ == 1 || watch_) return;
    std::vector<std::string> names;
    for (int rank = 0; rank < size_; ++rank) names.push_back(rank_text(*this, rank));
    WatchOptions options;
    together(*this, [&] {
      options = watch_options();
      if (rank_ == 0) watch_ = std::make_unique<Watch>(names, options, lost);
    });
    const Payload place = broadcast_bytes(*this, watch_ ? watch_->meeting_place() : Payload(), 0);
    if (rank_ != 0) watch_ = std::make_unique<Watch>(rank_, place, names, options, std::move(lost));
    the_watch = watch_.get();
    std::signal(SIGTERM, on_sigterm);  // what launchers send before they kill
  }

  void leave(int exit_code) override {
    MPI_Request request;
    int all = 0;
    bool asked = MPI_Ibarrier(leaving_, &request) == MPI_SUCCESS;
    const auto start = std::chrono::steady_clock::now();
    while (asked && all == 0 && std::chrono::steady_clock::now() - start < 3s) {
      asked = MPI_Test(&request, &all, MPI_STATUS_IGNORE) == MPI_SUCCESS;
      std::this_thread::sleep_for(1ms);
    }
    if (all == 0 && watch_) watch_->tell(rank_text(*this, rank_) + " has failed, and said why");
    if (all == 0) {
      the_watch = nullptr;  // all is said
      MPI_Abort(MPI_COMM_WORLD, exit_code);
    }
    end();
  }

 private:
  struct Underway {
    Payload bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Arriving {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  static constexpr const char* kReceiving = "receiving";

  void forget_sent() {
    while (!underway_.empty()) {
      int sent = 0;
      checked(MPI_Test(&underway_.front().request, &sent, MPI_STATUS_IGNORE), "sending");
      if (sent == 0) return;
      underway_.pop_front();
    }
  }
  void end() {
    if (ended_) return;
    ended_ = true;
    MPI_Finalize();  // waits for all, and is watched as well
    the_watch = nullptr;
    watch_.reset();
  }

  bool begin_to_receive() {
    int there = 0;
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Status status;
    checked(MPI_Improbe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &found, &status), "looking for a message");
    if (there == 0) return false;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    Arriving& to = arriving_.emplace_back();
    to.message = {status.MPI_SOURCE, Payload(static_cast<std::size_t>(length))};
    checked(MPI_Imrecv(to.message.bytes.data(), length, MPI_BYTE, &found, &to.request), kReceiving);
    return true;
  }
  // What one rank sends comes in the order that it was sent in.
  bool overtakes(std::deque<Arriving>::const_iterator one) const {
    return std::any_of(arriving_.begin(), one,
                       [&](const Arriving& earlier) { return earlier.message.from == one->message.from; });
  }

  int rank_ = 0, size_ = 1;
  bool ended_ = false;
  MPI_Comm leaving_ = MPI_COMM_NULL;  // of its own, since others may wait in something else
  std::deque<Underway> underway_;
  std::deque<Arriving> arriving_;
  std::vector<std::string> hosts_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace

bool under_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_RANK") != nullptr;
}

std::unique_ptr<Communicator> mpi_world() { return std::make_unique<MpiWorld>(); }

}  // namespace tessera

// What MPI calls where it sees a broken connection in the middle of a call, before the watch does: the watch is to say
// who is gone, and ends the process itself then.
extern "C" [[gnu::visibility("default")]] void _exit(int status) {
  if (tessera::the_watch.load() != nullptr) std::this_thread::sleep_for(tessera::kForTheWatch);
  for (;;) ::syscall(SYS_exit_group, status);
}
