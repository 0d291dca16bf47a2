#pragma once

// When every task of a timeline ran, and what it had waited for.

#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::sim {

enum class TaskId : std::uint32_t { none = 0xffffffff };
enum class ResourceId : std::uint32_t { none = 0xffffffff };
enum class BufferId : std::uint32_t { none = 0xffffffff };

template <class Id>
constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

constexpr double ns_of(std::int64_t ps) { return static_cast<double>(ps) / 1000; }

// Which of a task's conditions was met last.
enum class Wait : std::uint8_t { none, dependency, resource, buffer, arrival };
TSR_API std::string_view name(Wait wait);

struct Span {
  std::int64_t start_ps = 0;
  std::int64_t end_ps = 0;
  TaskId because = TaskId::none;  // the task whose end let this one start
  Wait wait = Wait::none;
  std::uint16_t server = 0;  // of its resource
};

struct Usage {
  std::int64_t busy_ps = 0;  // summed over servers
  std::int64_t tasks = 0;
};

class Timeline;

struct Schedule {
  std::vector<Span> tasks;       // by TaskId
  std::vector<Usage> resources;  // by ResourceId
  std::int64_t end_ps = 0;

  double start_ns(TaskId id) const { return ns_of(tasks[index(id)].start_ps); }
  double end_ns(TaskId id) const { return ns_of(tasks[index(id)].end_ps); }
  double end_ns() const { return ns_of(end_ps); }
};

// The chain of tasks that made `last` end when it did, first to last: each one started when the one before had ended
// (or, for an arrival, when it was allowed to). Without `last`, the task that ends last.
TSR_API std::vector<TaskId> critical_path(const Schedule& schedule, TaskId last = TaskId::none);

// What the critical path was spent on: time by resource, in the order of resources; tasks without a resource and time
// before arrivals come last, in one entry.
TSR_API std::vector<std::int64_t> critical_time_ps(const Timeline& timeline, const Schedule& schedule,
                                                   TaskId last = TaskId::none);

}  // namespace tessera::sim
