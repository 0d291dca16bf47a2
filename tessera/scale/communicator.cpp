#include "tessera/scale/communicator.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera {
namespace {

std::string own_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

class NothingToAdd final : public Communicator::Sum {
 public:
  bool done() override { return true; }
  void wait() override {}
};

class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::string& host(int) const override { return host_; }
  void barrier() override {}
  void broadcast(std::span<std::byte>, int) override {}
  std::vector<Payload> all_gather(std::span<const std::byte> bytes) override {
    return {Payload(bytes.begin(), bytes.end())};
  }
  std::unique_ptr<Sum> start_sum(std::span<float>) override { return std::make_unique<NothingToAdd>(); }
  void send(int, Payload) override { fail(Code::internal, "a message, and nobody to send it to"); }
  Message receive() override { fail(Code::internal, "waiting for a message that nobody can send"); }
  std::optional<Message> poll() override { return std::nullopt; }
  void leave(int) override {}

 private:
  std::string host_ = own_host();
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(const Payload& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Communicator::~Communicator() = default;
Communicator::Sum::~Sum() = default;

void Communicator::watch(Lost) {}  // nobody to lose

std::unique_ptr<Communicator> single_process() { return std::make_unique<SingleProcess>(); }

std::string rank_text(const Communicator& world, int rank) {
  return fmt::format("rank {} of {} on {}", rank, world.size(), world.host(rank));
}

Payload broadcast_bytes(Communicator& world, Payload bytes, int root) {
  auto length = static_cast<std::uint64_t>(bytes.size());
  world.broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  bytes.resize(length);
  world.broadcast(bytes, root);
  return bytes;
}

void must_agree(Communicator& world, std::string_view what, std::string_view mine) {
  const std::vector<Payload> all = world.all_gather(bytes_of(mine));
  for (int rank = 1; rank < world.size(); ++rank)
    check(all[static_cast<std::size_t>(rank)] == all[0], Code::invalid_argument,
          Hint{"start the same command with the same files and the same version everywhere"},
          "{} differs between processes: {} has {}, {} has {}", what, rank_text(world, 0), text_of(all[0]),
          rank_text(world, rank), text_of(all[static_cast<std::size_t>(rank)]));
}

std::string scale_detail::cause_of(const Error& error) {
  std::string text = error.message();
  for (const std::string& line : error.context()) text += ", " + line;
  return text;
}

void scale_detail::report(Communicator& world, const std::string& failure) {
  const std::vector<Payload> all = world.all_gather(bytes_of(failure));
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::string cause = text_of(all[static_cast<std::size_t>(rank)]);
    check(cause.empty() || rank == world.rank(), Code::invalid_argument, "{} failed: {}", rank_text(world, rank),
          cause);
  }
}

}  // namespace tessera
