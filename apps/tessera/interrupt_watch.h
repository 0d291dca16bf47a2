#pragma once

#include <csignal>

namespace tessera::cli {

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
