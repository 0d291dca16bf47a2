#include "tessera/scale/watch.h"

#include "tessera/core/error.h"
#include "tessera/scale/internal/sockets.h"

#include <fmt/ranges.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kTokenBytes = 16, kHelloBytes = kTokenBytes + sizeof(std::int32_t);
constexpr std::uint32_t kLongestCause = 1 << 16;
constexpr auto kToConnect = 1500ms, kToMeet = 30000ms, kBetweenTries = 200ms;
constexpr auto kGathering = 2ms;  // ranks that go together are named together

// What is said on a connection: a character, and behind the last two a length and a text.
constexpr char kWelcome = 'w', kBeat = 'b', kBye = 'e', kCause = 'c', kSilence = 'l';
// What other threads say to that of the watch.
constexpr char kWakeToStop = 's', kWakeToTell = 't', kWakeToEnd = 'x';

int to_wait(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

std::string cause_message(char kind, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), kLongestCause));
  std::string out(1 + sizeof(length), kind);
  std::memcpy(out.data() + 1, &length, sizeof(length));
  return out + text.substr(0, length);
}

struct Peer {
  Socket socket;
  int rank = -1;  // not known until it has said hello
  std::string received;
  Clock::time_point heard = Clock::now();
  bool parted = false;
};

std::string new_token() {
  std::random_device random;
  std::string token(kTokenBytes, 0);
  for (char& c : token) c = static_cast<char>(random());
  return token;
}

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

WatchOptions watch_options() {
  WatchOptions options;
  const char* text = std::getenv("TESSERA_PEER_TIMEOUT");
  if (text == nullptr || *text == 0) return options;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, value);
  check(error == std::errc() && stopped == end && value >= 1 && value <= 86400, Code::invalid_argument,
        "TESSERA_PEER_TIMEOUT='{}' is no number of seconds from 1 to 86400", text);
  options.silence = std::chrono::seconds(value);
  options.beat = std::min<std::chrono::milliseconds>(options.beat, options.silence / 4);
  return options;
}

struct Watch::Impl {
  Impl(int own, std::vector<std::string> all, const WatchOptions& given, Lost call)
      : rank(own), names(std::move(all)), options(given), lost(std::move(call)), wake(make_pipe()) {}

  void start() {
    thread = std::thread([this] { run(); });
  }
  void wake_with(char what) const noexcept {
    // A full pipe has something to wake up for already.
    [[maybe_unused]] const auto written = ::write(wake.second.get(), &what, 1);
  }

  void run() {
    if (rank != 0) meet();
    auto next_beat = Clock::now();
    while (!stopped && !finished) {
      if (Clock::now() >= next_beat) {
        for (const Peer& peer : peers)
          if (peer.rank >= 0) put(peer.socket, std::string_view(&kBeat, 1));
        next_beat = Clock::now() + options.beat;
      }
      wait_for_something(deadline ? std::min(next_beat, *deadline) : next_beat);
      find_silent();
      if (deadline && Clock::now() >= *deadline) finish();
    }
    for (const Peer& peer : peers)
      if (!finished && peer.rank >= 0) put(peer.socket, std::string_view(&kBye, 1));
    peers.clear();
  }

  // Rank 0 is tried at each of its addresses, again and again while its host is busy.
  void meet() {
    const auto until = Clock::now() + kToMeet;
    do {
      for (const std::string& address : addresses)
        if (meet_at(address)) return;
    } while (Clock::now() < until && !wanted_within(kBetweenTries));
  }

  // Whoever answers must know the token.
  bool meet_at(const std::string& address) {
    Socket socket = connect_to(address, port, kToConnect, wake.first.get());
    if (socket.get() < 0) return false;
    put(socket, token + std::string(reinterpret_cast<const char*>(&rank), sizeof(rank)));  // same processor family
    std::array<pollfd, 2> either = {{{socket.get(), POLLIN, 0}, {wake.first.get(), POLLIN, 0}}};
    char word = 0;
    if (::poll(either.data(), either.size(), static_cast<int>(kToConnect.count())) > 0 && either[0].revents != 0 &&
        ::recv(socket.get(), &word, 1, 0) == 1 && word == kWelcome) {
      peers.push_back({std::move(socket), 0, {}, Clock::now(), false});
      return true;
    }
    put(socket, std::string_view(&kBye, 1));  // or rank 0 would take the end of this try for that of the process
    return false;
  }

  // Another thread has something for this one.
  bool wanted_within(std::chrono::milliseconds time) const {
    pollfd woken_by{wake.first.get(), POLLIN, 0};
    return ::poll(&woken_by, 1, static_cast<int>(time.count())) > 0;
  }

  void wait_for_something(Clock::time_point until) {
    std::vector<pollfd> all = {{wake.first.get(), POLLIN, 0}};
    if (door.get() >= 0) all.push_back({door.get(), POLLIN, 0});
    const std::size_t first = all.size();
    for (const Peer& peer : peers) all.push_back({peer.socket.get(), POLLIN, 0});
    if (::poll(all.data(), all.size(), to_wait(until)) <= 0) return;
    for (std::size_t i = first; i < all.size(); ++i)
      if (all[i].revents != 0) listen_to(peers[i - first]);
    std::erase_if(peers, [](const Peer& peer) { return peer.socket.get() < 0; });
    if (all[0].revents != 0) woken();
    if (first == 2 && all[1].revents != 0)
      if (Socket guest = accept_from(door); guest.get() >= 0)
        peers.push_back({std::move(guest), -1, {}, Clock::now(), false});
  }

  void woken() {
    char words[64];
    const ssize_t got = ::read(wake.first.get(), words, sizeof(words));
    for (ssize_t i = 0; i < got; ++i) {
      if (words[i] == kWakeToStop) stopped = true;
      if (words[i] == kWakeToEnd && !deadline) {
        told = about_to_end = true;
        deadline = Clock::now() + (silent_peer() ? 0ms : options.last_words);
      }
      if (words[i] == kWakeToTell) pass_on();
    }
  }

  void pass_on() {
    const std::lock_guard lock(mutex);
    for (const Peer& peer : peers)
      if (peer.rank >= 0) put(peer.socket, cause_message(kCause, own_cause));
    finished = passed_on = true;  // whoever tells it ends by itself
    changed.notify_all();
  }

  void listen_to(Peer& peer) {
    for (;;) {
      char bytes[4096];
      const ssize_t got = ::recv(peer.socket.get(), bytes, sizeof(bytes), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) {
        if (peer.rank >= 0 && !peer.parted && !finished)
          // Reset: it had not read all that was sent to it.
          miss(peer, got == 0 || errno == ECONNRESET
                         ? "its process has ended without a word, killed or crashed"
                         : fmt::format("its process or host has ended ({})", error_text(errno)));
        peer.socket = Socket();
        return;
      }
      peer.heard = Clock::now();
      peer.received.append(bytes, static_cast<std::size_t>(got));
      if (!understand(peer)) {
        peer.socket = Socket();
        return;
      }
    }
  }

  // False: it makes no sense, or is nobody that we know.
  bool understand(Peer& peer) {
    std::string& text = peer.received;
    if (peer.rank < 0) {
      if (text.size() < kHelloBytes) return true;
      std::int32_t guest = -1;
      std::memcpy(&guest, text.data() + kTokenBytes, sizeof(guest));
      if (text.compare(0, kTokenBytes, token) != 0 || guest <= 0 || guest >= static_cast<int>(names.size()))
        return false;
      peer.rank = guest;
      put(peer.socket, std::string_view(&kWelcome, 1));
      text.erase(0, kHelloBytes);
    }
    while (!text.empty()) {
      std::size_t used = 1;
      if (text[0] == kBye) peer.parted = true;
      if (text[0] == kCause || text[0] == kSilence) {
        std::uint32_t length = 0;
        if (text.size() < 1 + sizeof(length)) return true;
        std::memcpy(&length, text.data() + 1, sizeof(length));
        if (length > kLongestCause) return false;
        used += sizeof(length) + length;
        if (text.size() < used) return true;
        silence = text[0] == kSilence;
        heard_cause = text.substr(1 + sizeof(length), length);
        peer.parted = about_to_end = true;
        deadline = Clock::now();
      }
      text.erase(0, used);
    }
    return true;
  }

  void miss(const Peer& peer, std::string_view how) {
    about_to_end = true;
    const auto name = names[static_cast<std::size_t>(peer.rank)];
    // Those who have lost rank 0 have nobody else to lose, and MPI may end the process before long, without a word.
    if (missed.empty()) deadline = Clock::now() + (rank == 0 ? kGathering : 0ms);
    missed.push_back(fmt::format("{} is gone: {}", name, how));
  }

  void find_silent() {
    if (deadline && !told) return;
    for (Peer& peer : peers) {
      const auto silent = Clock::now() - peer.heard;
      if (silent < (rank == 0 ? 1 : 3) * options.silence) continue;
      if (rank == 0 && peer.rank >= 0) silence = true;
      if (peer.rank >= 0 && !peer.parted)
        miss(peer, fmt::format("nothing was heard of it for {:.0f} s, its host or the network in between is down",
                               seconds(silent)));
      peer.socket = Socket();
    }
    std::erase_if(peers, [](const Peer& peer) { return peer.socket.get() < 0; });
  }

  // One that should have been heard of by now.
  const Peer* silent_peer() const {
    const auto found = std::find_if(peers.begin(), peers.end(), [&](const Peer& peer) {
      return peer.rank >= 0 && !peer.parted && Clock::now() - peer.heard > 5 * options.beat / 2;
    });
    return found == peers.end() ? nullptr : &*found;
  }

  std::string cause() const {
    if (heard_cause) return *heard_cause;
    if (!missed.empty()) return fmt::format("{}", fmt::join(missed, "; "));
    if (const Peer* const peer = silent_peer())
      return fmt::format("{} is gone: nothing was heard of it for {:.1f} s, its host or the network in between is down",
                         names[static_cast<std::size_t>(peer->rank)], seconds(Clock::now() - peer->heard));
    return fmt::format("{} was told to end (SIGTERM), by the launcher or by somebody else",
                       names[static_cast<std::size_t>(rank)]);
  }

  void finish() {
    finished = true;
    const std::string text = cause();
    if (rank == 0)
      for (const Peer& peer : peers)
        if (peer.rank >= 0 && !peer.parted) put(peer.socket, cause_message(silence ? kSilence : kCause, text));
    lost(text, silence ? 2 * options.silence : 0ms);
  }

  const std::int32_t rank;
  const std::vector<std::string> names;
  const WatchOptions options;
  const Lost lost;
  const std::pair<Socket, Socket> wake;  // to read from, to write to
  Socket door;
  std::string token;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;

  // The thread's own.
  std::vector<Peer> peers;
  std::vector<std::string> missed;
  std::optional<std::string> heard_cause;
  std::optional<Clock::time_point> deadline;  // when what is known is said
  bool silence = false;                       // a host is
  bool told = false, stopped = false, finished = false;

  std::atomic<bool> about_to_end = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::string own_cause;
  bool passed_on = false;
  std::thread thread;
};

Watch::Watch(std::vector<std::string> names, const WatchOptions& options, Lost lost)
    : impl_(std::make_unique<Impl>(0, std::move(names), options, std::move(lost))) {
  impl_->token = new_token();
  impl_->door = open_door(impl_->port);
  impl_->addresses = own_addresses();
  impl_->start();
}

Watch::Watch(int rank, const Payload& meeting_place, std::vector<std::string> names, const WatchOptions& options,
             Lost lost)
    : impl_(std::make_unique<Impl>(rank, std::move(names), options, std::move(lost))) {
  const std::string text(reinterpret_cast<const char*>(meeting_place.data()), meeting_place.size());
  check(text.size() > kTokenBytes + sizeof(impl_->port), Code::internal, "a meeting place of {} B", text.size());
  impl_->token = text.substr(0, kTokenBytes);
  std::memcpy(&impl_->port, text.data() + kTokenBytes, sizeof(impl_->port));
  for (std::size_t at = kTokenBytes + sizeof(impl_->port); at < text.size();) {
    const std::size_t end = text.find('\n', at);
    impl_->addresses.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? end : end + 1;
  }
  impl_->start();
}

Payload Watch::meeting_place() const {
  const std::string text = impl_->token +
                           std::string(reinterpret_cast<const char*>(&impl_->port), sizeof(impl_->port)) +
                           fmt::format("{}", fmt::join(impl_->addresses, "\n"));
  const auto bytes = std::as_bytes(std::span(text));
  return Payload(bytes.begin(), bytes.end());
}

Watch::~Watch() {
  impl_->wake_with(kWakeToStop);
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Watch::tell(const std::string& cause) {
  std::unique_lock lock(impl_->mutex);
  impl_->own_cause = cause;
  impl_->wake_with(kWakeToTell);
  impl_->changed.wait_for(lock, 1s, [&] { return impl_->passed_on; });
}

void Watch::told_to_end() noexcept { impl_->wake_with(kWakeToEnd); }

bool Watch::about_to_end() const noexcept { return impl_->about_to_end; }

}  // namespace tessera
