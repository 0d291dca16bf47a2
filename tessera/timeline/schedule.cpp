#include "tessera/timeline/schedule.h"

#include "tessera/timeline/timeline.h"

#include <algorithm>

namespace tessera::sim {

std::string_view name(Wait wait) {
  switch (wait) {
    case Wait::none: return "none";
    case Wait::dependency: return "dependency";
    case Wait::resource: return "resource";
    case Wait::buffer: return "buffer";
    case Wait::arrival: return "arrival";
  }
  return "?";
}

std::vector<TaskId> critical_path(const Schedule& schedule, TaskId last) {
  if (last == TaskId::none && !schedule.tasks.empty()) {
    const auto latest = std::max_element(schedule.tasks.begin(), schedule.tasks.end(),
                                         [](const Span& a, const Span& b) { return a.end_ps < b.end_ps; });
    last = static_cast<TaskId>(latest - schedule.tasks.begin());
  }
  std::vector<TaskId> path;
  for (TaskId at = last; at != TaskId::none; at = schedule.tasks[index(at)].because) path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::int64_t> critical_time_ps(const Timeline& timeline, const Schedule& schedule, TaskId last) {
  std::vector<std::int64_t> out(timeline.resources().size() + 1);
  std::int64_t at = 0;
  for (const TaskId id : critical_path(schedule, last)) {
    const Span& span = schedule.tasks[index(id)];
    out.back() += span.start_ps - at;
    const ResourceId resource = timeline.task(id).resource;
    (resource == ResourceId::none ? out.back() : out[index(resource)]) += span.end_ps - span.start_ps;
    at = span.end_ps;
  }
  return out;
}

}  // namespace tessera::sim
