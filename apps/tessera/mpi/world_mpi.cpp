// The processes that mpirun has started, through Open MPI.

#include "apps/tessera/diagnostics.h"
#include "apps/tessera/world.h"

#include "tessera/core/error.h"
#include "tessera/scale/mpi/mpi_communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::cli {
namespace {

// The main thread may wait for ever for somebody who is gone: the process ends here.
[[noreturn]] void end_without(const std::string& cause, std::chrono::milliseconds linger) {
  using namespace std::chrono_literals;
  if (first_to_speak())
    report_error(
        Error(Code::io, cause, launched_rank() == 0 ? "finished results are kept; add --resume to continue" : ""));
  else
    std::this_thread::sleep_for(5s);  // the main thread is ending with a message of its own
  std::signal(SIGTERM, SIG_DFL);
  std::this_thread::sleep_for(linger);
  std::_Exit(kUserError);
}

// Nobody watches until the processes have found each other, and Open MPI would look for ever.
class ToMeet {
 public:
  ToMeet() : thread_([this] { wait(); }) {}
  ToMeet(const ToMeet&) = delete;
  ToMeet& operator=(const ToMeet&) = delete;
  ~ToMeet() {
    {
      const std::lock_guard lock(mutex_);
      met_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPatience, [this] { return met_; })) return;
    end_without(fmt::format("rank {} of {}: the processes did not connect within {} s; check the network and firewalls "
                            "between their hosts",
                            launched_rank(), launched_size(), kPatience.count()),
                {});
  }

  static constexpr std::chrono::seconds kPatience{60};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_ = false;
  std::thread thread_;
};

}  // namespace

bool built_with_mpi() { return true; }

std::unique_ptr<Communicator> launched_world() {
  if (!under_mpi()) return single_process();
  const ToMeet until_it_is_watched;
  std::unique_ptr<Communicator> world = mpi_world();
  world->watch(end_without);
  return world;
}

}  // namespace tessera::cli
