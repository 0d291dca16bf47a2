#include "tessera/scale/shared_work.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace tessera {
namespace {

// Handed out to a rank at a time, so that it has something to do while its last results are on their way.
constexpr std::size_t kPiecesAhead = 2;
// Messages begin with the number of a piece, or with one of these.
constexpr std::int64_t kAllDone = -1, kGaveUp = -2;

Payload numbered(std::int64_t head, std::span<const std::byte> body) {
  Payload out(sizeof(head) + body.size());
  std::memcpy(out.data(), &head, sizeof(head));
  std::copy(body.begin(), body.end(), out.begin() + sizeof(head));
  return out;
}
Payload given_up(const std::string& text) { return numbered(kGaveUp, std::as_bytes(std::span(text))); }
std::int64_t number_of(const Payload& message) {
  std::int64_t head = 0;
  check(message.size() >= sizeof(head), Code::internal, "a message of {} B", message.size());
  std::memcpy(&head, message.data(), sizeof(head));
  return head;
}
std::span<const std::byte> rest_of(const Payload& message) { return std::span(message).subspan(sizeof(std::int64_t)); }
std::string body_text(const Payload& message) {
  const auto body = rest_of(message);
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

void take_part(Communicator& world, FunctionRef<Payload(std::size_t)> compute) {
  for (;;) {
    const Payload message = world.receive().bytes;
    const std::int64_t piece = number_of(message);
    if (piece == kAllDone) return;
    if (piece == kGaveUp) {
      world.send(0, numbered(kAllDone, {}));
      fail(Code::invalid_argument, "{}", body_text(message));
    }
    try {
      world.send(0, numbered(piece, compute(static_cast<std::size_t>(piece))));
    } catch (const Error& error) {
      world.send(0, given_up(error.message()));
      throw;
    }
  }
}

std::vector<Payload> hand_out(Communicator& world, std::size_t count, FunctionRef<Payload(std::size_t)> compute) {
  std::vector<Payload> results(count);
  std::size_t next = 0, underway = 0;
  int failed = -1;
  const auto give = [&](int rank) {
    if (next >= count) return;
    world.send(rank, numbered(static_cast<std::int64_t>(next++), {}));
    ++underway;
  };
  try {
    for (std::size_t round = 0; round < kPiecesAhead; ++round)
      for (int rank = 1; rank < world.size(); ++rank)
        if (next + 1 < count) give(rank);  // the last one is this rank's own
    while (next < count || underway > 0) {
      if (std::optional<Communicator::Message> message = next < count ? world.poll() : world.receive()) {
        const std::int64_t piece = number_of(message->bytes);
        if (piece == kGaveUp) {
          failed = message->from;
          fail(Code::invalid_argument, "{} failed: {}", rank_text(world, failed), body_text(message->bytes));
        }
        const auto body = rest_of(message->bytes);
        results.at(static_cast<std::size_t>(piece)).assign(body.begin(), body.end());
        --underway;
        give(message->from);
        continue;
      }
      const std::size_t own = next++;
      results[own] = compute(own);
    }
  } catch (const Error& error) {
    const std::string text =
        failed < 0 ? fmt::format("{} failed: {}", rank_text(world, 0), error.message()) : error.message();
    int still = 0;
    for (int rank = 1; rank < world.size(); ++rank)
      if (rank != failed) world.send(rank, given_up(text)), ++still;
    // Nothing is on its way any more when all of them end.
    while (still > 0)
      if (const std::int64_t head = number_of(world.receive().bytes); head == kAllDone || head == kGaveUp) --still;
    throw;
  }
  for (int rank = 1; rank < world.size(); ++rank) world.send(rank, numbered(kAllDone, {}));
  return results;
}

}  // namespace

std::vector<Payload> share_work(Communicator& world, std::size_t count, FunctionRef<Payload(std::size_t)> compute) {
  std::vector<Payload> results;
  Payload all;
  if (world.rank() == 0) {
    results = hand_out(world, count, compute);
    if (world.size() == 1) return results;
    for (const Payload& each : results) {
      const Payload one = numbered(static_cast<std::int64_t>(each.size()), each);
      all.insert(all.end(), one.begin(), one.end());
    }
  } else {
    take_part(world, compute);
  }
  all = broadcast_bytes(world, std::move(all), 0);
  if (world.rank() == 0) return results;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t bytes = 0;
    check(at + sizeof(bytes) <= all.size(), Code::internal, "results of {} pieces end after {}", count, i);
    std::memcpy(&bytes, all.data() + at, sizeof(bytes));
    at += sizeof(bytes);
    check(bytes >= 0 && at + static_cast<std::size_t>(bytes) <= all.size(), Code::internal, "a result of {} B", bytes);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    results.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    at += static_cast<std::size_t>(bytes);
  }
  return results;
}

bool first_decides(Communicator& world, bool mine) {
  if (world.size() == 1) return mine;
  std::byte said{static_cast<unsigned char>(mine ? 1 : 0)};
  world.broadcast(std::span(&said, 1), 0);
  return said != std::byte{0};
}

}  // namespace tessera
