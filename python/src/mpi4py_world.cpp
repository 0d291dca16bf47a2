#include "mpi4py_world.h"

#include "tessera/core/error.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace nb = nanobind;

namespace tessera::python {
namespace {

constexpr int kTag = 1;
// A count is an int in MPI: what is longer goes in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 30;

// PyBUF_READ and PyBUF_WRITE, whose names the stable ABI has only from Python 3.11 on.
constexpr int kRead = 0x100, kWrite = 0x200;

nb::object memory(const std::byte* bytes, std::size_t length, int access) {
  static char nothing = 0;
  auto* const start = length == 0 ? &nothing : reinterpret_cast<char*>(const_cast<std::byte*>(bytes));
  return nb::steal(PyMemoryView_FromMemory(start, static_cast<Py_ssize_t>(length), access));
}

class Mpi4pySum final : public Communicator::Sum {
 public:
  explicit Mpi4pySum(nb::object request) : request_(std::move(request)) {}
  ~Mpi4pySum() override {
    const nb::gil_scoped_acquire lock;
    request_.reset();
  }
  Mpi4pySum(const Mpi4pySum&) = delete;
  Mpi4pySum& operator=(const Mpi4pySum&) = delete;

  bool done() override {
    const nb::gil_scoped_acquire lock;
    return nb::cast<bool>(request_.attr("Test")());
  }
  void wait() override {
    const nb::gil_scoped_acquire lock;
    request_.attr("Wait")();
  }

 private:
  nb::object request_;
};

class Mpi4pyWorld final : public Communicator {
 public:
  explicit Mpi4pyWorld(const nb::object& given) : mpi_(nb::module_::import_("mpi4py.MPI")) {
    if (!nb::isinstance(given, mpi_.attr("Intracomm"))) throw nb::type_error("comm is a communicator of mpi4py.MPI");
    comm_ = given.attr("Dup")();
    rank_ = nb::cast<int>(comm_.attr("Get_rank")());
    size_ = nb::cast<int>(comm_.attr("Get_size")());
    for (const nb::handle host : comm_.attr("allgather")(mpi_.attr("Get_processor_name")()))
      hosts_.push_back(nb::cast<std::string>(host));
  }
  ~Mpi4pyWorld() override {
    const nb::gil_scoped_acquire lock;
    try {
      for (const Underway& message : underway_) message.request.attr("Wait")();
      comm_.attr("Free")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the end of tessera's communicator");
    }
    underway_.clear();
    comm_.reset();
    mpi_.reset();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& host(int rank) const override { return hosts_.at(static_cast<std::size_t>(rank)); }

  void barrier() override {
    const nb::gil_scoped_acquire lock;
    comm_.attr("Barrier")();
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    const nb::gil_scoped_acquire lock;
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
      comm_.attr("Bcast")(memory(bytes.data() + at, std::min(kPiece, bytes.size() - at), kWrite), root);
  }
  std::vector<Payload> all_gather(std::span<const std::byte> bytes) override {
    const nb::gil_scoped_acquire lock;
    std::vector<Payload> out;
    for (const nb::handle one : comm_.attr("allgather")(nb::bytes(bytes.data(), bytes.size()))) {
      const auto found = nb::cast<nb::bytes>(one);
      const auto* const start = static_cast<const std::byte*>(found.data());
      out.emplace_back(start, start + found.size());
    }
    return out;
  }

  std::unique_ptr<Sum> start_sum(std::span<float> values) override {
    const nb::gil_scoped_acquire lock;
    const auto bytes = std::as_writable_bytes(values);
    const nb::object buffer = nb::make_tuple(memory(bytes.data(), bytes.size(), kWrite), mpi_.attr("FLOAT"));
    return std::make_unique<Mpi4pySum>(comm_.attr("Iallreduce")(mpi_.attr("IN_PLACE"), buffer));
  }

  void send(int to, Payload bytes) override {
    check(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::internal,
          "a message of {} B", bytes.size());
    const nb::gil_scoped_acquire lock;
    while (!underway_.empty() && nb::cast<bool>(underway_.front().request.attr("Test")())) underway_.pop_front();
    Underway& message = underway_.emplace_back();
    message.bytes = std::move(bytes);
    message.request = comm_.attr("Isend")(memory(message.bytes.data(), message.bytes.size(), kRead), to, kTag);
  }
  Message receive() override {
    const nb::gil_scoped_acquire lock;
    const nb::object status = mpi_.attr("Status")();
    comm_.attr("Probe")(mpi_.attr("ANY_SOURCE"), kTag, status);
    return take(status);
  }
  std::optional<Message> poll() override {
    const nb::gil_scoped_acquire lock;
    const nb::object status = mpi_.attr("Status")();
    if (!nb::cast<bool>(comm_.attr("Iprobe")(mpi_.attr("ANY_SOURCE"), kTag, status))) return std::nullopt;
    return take(status);
  }

  void leave(int) override {}  // what happens to the process is not ours to decide

 private:
  struct Underway {
    Payload bytes;
    nb::object request;
  };

  Message take(const nb::object& status) const {
    Message message{nb::cast<int>(status.attr("Get_source")()), {}};
    message.bytes.resize(nb::cast<std::size_t>(status.attr("Get_count")(mpi_.attr("BYTE"))));
    comm_.attr("Recv")(memory(message.bytes.data(), message.bytes.size(), kWrite), message.from, kTag);
    return message;
  }

  nb::object mpi_, comm_;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  std::deque<Underway> underway_;
};

}  // namespace

std::unique_ptr<Communicator> mpi4py_world(const nb::object& communicator) {
  return std::make_unique<Mpi4pyWorld>(communicator);
}

}  // namespace tessera::python
