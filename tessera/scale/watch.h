#pragma once

// Processes that keep an eye on each other while they work. MPI tells nobody that a rank is gone: those who wait for it
// wait for ever if its host has vanished. So each rank has a connection of its own to rank 0, on which both sides say
// every second that they are there, from a thread of their own, whatever they compute meanwhile. A process that ends
// closes it, and is missed at once; a host or a network that is down is missed after `silence`. Rank 0 tells the
// others.

#include "tessera/core/export.h"
#include "tessera/scale/communicator.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct WatchOptions {
  std::chrono::milliseconds beat{1000};
  // Rank 0 misses whoever it has not heard of for so long; the others wait three times as long for it, since they alone
  // may be cut off, and their launcher is to notice that before they say anything over the connection that is down.
  std::chrono::milliseconds silence{4000};
  // How long a process that is told to end waits to hear why: less than launchers wait before they kill it.
  std::chrono::milliseconds last_words{700};
};
// The default, or as TESSERA_PEER_TIMEOUT says, in seconds.
TSR_API WatchOptions watch_options();

class TSR_API Watch {
 public:
  // Called once, on a thread of the watch, with who is gone and how. Where a host is silent the process should stay for
  // `linger` after it has said so, or until it is ended: a launcher with something to send to that host would wait for
  // it.
  using Lost = std::function<void(const std::string& cause, std::chrono::milliseconds linger)>;

  // Rank 0: opens the door that meeting_place() tells the way to. `names`: of all ranks, for messages.
  Watch(std::vector<std::string> names, const WatchOptions& options, Lost lost);
  Payload meeting_place() const;
  // The others. If rank 0 cannot be reached there within half a minute, watching is left to the launcher.
  Watch(int rank, const Payload& meeting_place, std::vector<std::string> names, const WatchOptions& options, Lost lost);
  // Says good-bye: what is closed after that is not missed.
  ~Watch();

  // This rank gives up: everybody else is lost with that cause.
  void tell(const std::string& cause);
  // Somebody wants this process to end; may be called in a signal handler. Lost with the cause if it comes to be known
  // within options.last_words, otherwise with `told to end`.
  void told_to_end() noexcept;
  // Somebody is missed, or this process was told to end: `lost` is about to be called. Whoever calls MPI now may be
  // ended by it before that.
  bool about_to_end() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
