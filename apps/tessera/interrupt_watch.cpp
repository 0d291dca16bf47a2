#include "interrupt_watch.h"

namespace tessera::cli {

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
