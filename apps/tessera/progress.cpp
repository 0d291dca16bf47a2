#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tessera::cli {
namespace {

constexpr std::chrono::milliseconds kBetween{100};
constexpr std::size_t kWidth = 78;

}  // namespace

Progress::Progress(std::string what, std::size_t total, bool quiet)
    : what_(std::move(what)), total_(total), shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r{:{}}\r", "", kWidth);
}

void Progress::at(std::size_t done, std::string_view item) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now < next_) return;
  next_ = now + kBetween;
  const std::string line = fmt::format("{} {}/{} {}", what_, done, total_, item);
  fmt::print(stderr, "\r{:{}}", line.substr(0, kWidth), kWidth);
  std::fflush(stderr);
}

void Progress::at(std::size_t done, std::size_t total, std::string_view item) {
  total_ = total;
  at(done, item);
}

volatile std::sig_atomic_t InterruptWatch::signal_ = 0;

InterruptWatch::InterruptWatch() {
  signal_ = 0;
  struct sigaction action{};
  action.sa_handler = [](int number) { signal_ = number; };
  action.sa_flags = SA_RESETHAND;  // the second one ends the process
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &before_int_);
  ::sigaction(SIGTERM, &action, &before_term_);
}

InterruptWatch::~InterruptWatch() {
  ::sigaction(SIGINT, &before_int_, nullptr);
  ::sigaction(SIGTERM, &before_term_, nullptr);
}

}  // namespace tessera::cli
