#pragma once

// Processes that do one piece of work together, numbered from 0. What they need of each other is here; MPI is behind it
// where the command was started by mpirun (scale/mpi), and nothing at all where it was not.

#include "tessera/core/error.h"
#include "tessera/core/export.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

using Payload = std::vector<std::byte>;

class TSR_API Communicator {
 public:
  virtual ~Communicator();

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& host(int rank) const = 0;  // by name; known to all

  // All ranks call these, with spans of the same length.
  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // Of each rank, in order, to every rank; lengths may differ.
  virtual std::vector<Payload> all_gather(std::span<const std::byte> bytes) = 0;

  // Adds up in place, over all ranks; the same bits on each, in an order of additions that is not ours. It goes on
  // while the caller does something else, and further whenever one of these calls is made. The span stays as it is
  // until wait() has returned. All ranks start sums of the same lengths in the same order.
  class TSR_API Sum {
   public:
    virtual ~Sum();
    virtual bool done() = 0;  // does not wait
    virtual void wait() = 0;
  };
  virtual std::unique_ptr<Sum> start_sum(std::span<float> values) = 0;

  // Messages from one rank to another; those between the same two arrive in the order in which they were sent. Sending
  // does not wait for the other side.
  struct Message {
    int from = 0;
    Payload bytes;
  };
  virtual void send(int to, Payload bytes) = 0;
  virtual Message receive() = 0;              // from anyone; waits
  virtual std::optional<Message> poll() = 0;  // from anyone; none if nothing is there yet

  // All ranks call it, once. From then on a rank that is gone (killed, its host vanished, the network down) is missed
  // within seconds, and every other one calls `lost`, on a thread of its own, with who it was and how; nothing can be
  // expected of the world after that, and `lost` had better end the process, but stay for `linger` if nobody does (see
  // watch.h). So does it when a signal asks for that.
  using Lost = std::function<void(const std::string& cause, std::chrono::milliseconds linger)>;
  virtual void watch(Lost lost);

  // This process is about to end because of an error. Returns if all others are as well; if they do not follow within
  // seconds, they are ended, and this process with them.
  virtual void leave(int exit_code) = 0;
};

// One process by itself.
TSR_API std::unique_ptr<Communicator> single_process();

// "rank 3 of 8 on node7"
TSR_API std::string rank_text(const Communicator& world, int rank);

// What `root` has, of a length that only it knows.
TSR_API Payload broadcast_bytes(Communicator& world, Payload bytes, int root);

// Runs `body` and tells the others how it went. If it failed anywhere, every rank throws: the one where it did its own
// Error, the others one that names that rank, its host and the cause. So nobody waits for a rank that has given up.
template <class Body>
void together(Communicator& world, Body&& body);

// Every rank must say the same; if not, every rank throws an Error that says who differs.
TSR_API void must_agree(Communicator& world, std::string_view what, std::string_view mine);

// Implementation only from here on.
namespace scale_detail {
// Message and context in one line, for others to read.
TSR_API std::string cause_of(const Error& error);
TSR_API void report(Communicator& world, const std::string& failure);  // empty: it went well
}  // namespace scale_detail
}  // namespace tessera

#include "tessera/scale/together_inl.h"
