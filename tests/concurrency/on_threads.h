#pragma once

// The same work on several threads that begin together.

#include "tessera/core/error.h"

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace tessera::for_tests {

// Threads that run until join(); what each threw, or nothing.
class OnThreads {
 public:
  OnThreads(int count, std::function<void(int thread)> body)
      : thrown_(static_cast<std::size_t>(count)), body_(std::move(body)), ready_(count) {
    for (int t = 0; t < count; ++t) threads_.emplace_back([this, t] { run(t); });
  }
  OnThreads(const OnThreads&) = delete;
  OnThreads& operator=(const OnThreads&) = delete;
  ~OnThreads() { join(); }

  const std::vector<std::string>& join() {
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
    return thrown_;
  }
  // Only before join(): a thread that has ended can still be named.
  std::vector<std::thread>& threads() { return threads_; }

 private:
  void run(int t) {
    ready_.arrive_and_wait();
    try {
      body_(t);
    } catch (const std::exception& error) {
      thrown_[static_cast<std::size_t>(t)] = error.what();
    }
  }

  std::vector<std::string> thrown_;
  std::function<void(int)> body_;
  std::latch ready_;
  std::vector<std::thread> threads_;
};

inline std::vector<std::string> on_threads(int count, std::function<void(int thread)> body) {
  return OnThreads(count, std::move(body)).join();
}

}  // namespace tessera::for_tests
