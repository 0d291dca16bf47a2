#include "tessera/targets/neuron/core/script_lines.h"

#include <fmt/format.h>

namespace tessera::neuron {

std::uint32_t ScriptLines::number_of(const std::string& line) {
  const auto [at, added] = numbers_.try_emplace(line, static_cast<std::uint32_t>(lines_.size()));
  if (added) lines_.push_back(line);
  return at->second;
}

void ScriptLines::put(std::size_t tasks, const std::string& line) {
  if (lines_[number_] != line) number_ = number_of(line);
  file_ = nullptr;
  by_task_.resize(tasks, number_);
}

void ScriptLines::put(std::size_t tasks, const char* file, std::uint32_t line) {
  if (file != file_ || line != line_) {
    number_ = number_of(fmt::format("{}:{}", file, line));
    file_ = file, line_ = line;
  }
  by_task_.resize(tasks, number_);
}

const std::string& ScriptLines::of(sim::TaskId task) const {
  return index(task) < by_task_.size() ? lines_[by_task_[index(task)]] : lines_[0];
}

}  // namespace tessera::neuron
