#pragma once

// Which line of a kernel each task of its timeline belongs to.

#include "tessera/timeline/schedule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::neuron {

class ScriptLines {
 public:
  // The tasks that have no line yet, up to `tasks` of them in all, belong to this one.
  void put(std::size_t tasks, const std::string& line);
  void put(std::size_t tasks, const char* file, std::uint32_t line);  // of C++

  // Empty for a task that no instruction made.
  const std::string& of(sim::TaskId task) const;

 private:
  std::uint32_t number_of(const std::string& line);

  std::vector<std::string> lines_{""};
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> by_task_;
  // Where the last ones came from: instructions of one line follow each other.
  const char* file_ = nullptr;
  std::uint32_t line_ = 0, number_ = 0;
};

}  // namespace tessera::neuron
