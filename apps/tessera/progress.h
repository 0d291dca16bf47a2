#pragma once

// Long work: a line on the terminal that says how far it has come, and what Ctrl-C does meanwhile.

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::cli {

// Nothing where standard error is no terminal.
class Progress {
 public:
  // Shows nothing if quiet.
  Progress(std::string what, std::size_t total, bool quiet);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::size_t done, std::string_view item = {});
  // Where how much there is shows only on the way.
  void at(std::size_t done, std::size_t total, std::string_view item);

 private:
  std::string what_;
  std::size_t total_;
  bool shown_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

// While it lives, the first SIGINT or SIGTERM is only remembered; the second ends the process. One at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool came() { return signal_ != 0; }

 private:
  static volatile std::sig_atomic_t signal_;
  struct sigaction before_int_{}, before_term_{};
};

}  // namespace tessera::cli
