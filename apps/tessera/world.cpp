#include "world.h"

#include "diagnostics.h"

#include "tessera/core/error.h"

#ifdef TESSERA_MPI
#include "tessera/scale/mpi/mpi_communicator.h"
#endif

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace tessera::cli {
namespace {

std::unique_ptr<Communicator>& instance() {
  static std::unique_ptr<Communicator> world;
  return world;
}

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  int value = otherwise;
  const std::string_view view(text);
  std::from_chars(view.data(), view.data() + view.size(), value);
  return value;
}

#ifdef TESSERA_MPI
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
                            launched_rank(), number_in("OMPI_COMM_WORLD_SIZE", 1), kPatience.count()),
                {});
  }

  static constexpr std::chrono::seconds kPatience{60};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_ = false;
  std::thread thread_;
};
#endif

}  // namespace

bool first_to_speak() {
  static std::atomic_flag spoken;
  return !spoken.test_and_set();
}

bool in_a_world() { return number_in("OMPI_COMM_WORLD_SIZE", 1) > 1; }
int launched_rank() { return number_in("OMPI_COMM_WORLD_RANK", 0); }

Communicator& world() {
  std::unique_ptr<Communicator>& held = instance();
  if (held) return *held;
#ifdef TESSERA_MPI
  if (!under_mpi()) return *(held = single_process());
  const ToMeet until_it_is_watched;
  held = mpi_world();
  held->watch(end_without);
#else
  check(!in_a_world(), Code::unsupported,
        Hint{"install Open MPI's headers (Debian: libopenmpi-dev), configure and build again"},
        "mpirun has started {} processes, and this command was built without MPI",
        number_in("OMPI_COMM_WORLD_SIZE", 1));
  held = single_process();
#endif
  return *held;
}

bool world_began() { return instance() != nullptr; }

}  // namespace tessera::cli
