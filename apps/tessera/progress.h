#pragma once

// One line on the terminal that says how far long work has come. Nothing where standard error is no terminal.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::cli {

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

}  // namespace tessera::cli
