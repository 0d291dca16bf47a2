#include "tessera/timeline/timeline.h"

#include "tessera/core/error.h"

#include <cmath>
#include <utility>

namespace tessera::sim {
namespace {

// About 100 days; sums of many tasks stay within 64 bits.
constexpr double kLongestNs = 9e15;

std::int64_t picoseconds(double ns, std::string_view what, std::string_view label) {
  check(ns >= 0 && ns <= kLongestNs, Code::invalid_argument, "timeline: {} of '{}' is {} ns; expected 0 to {:g}", what,
        label, ns, kLongestNs);
  return std::llround(ns * 1000);
}

}  // namespace

ResourceId Timeline::add_resource(std::string name, int servers, Order order) {
  check(servers >= 1 && servers <= 65535, Code::invalid_argument,
        "timeline: resource '{}' with {} servers; expected 1 to 65535", name, servers);
  resources_.push_back({std::move(name), servers, order});
  return static_cast<ResourceId>(resources_.size() - 1);
}

BufferId Timeline::add_buffer(std::string name, std::int64_t slots) {
  check(slots >= 1, Code::invalid_argument, "timeline: buffer '{}' with {} slots; it needs one or more", name, slots);
  buffers_.push_back({std::move(name), slots});
  return static_cast<BufferId>(buffers_.size() - 1);
}

TaskId Timeline::add_task(ResourceId resource, double duration_ns, std::string_view label) {
  check(resource == ResourceId::none || index(resource) < resources_.size(), Code::invalid_argument,
        "timeline: task '{}' on resource {} of {}", label, index(resource), resources_.size());
  const std::int64_t duration = picoseconds(duration_ns, "duration", label);
  // Labels repeat; the last one is looked at first.
  if (tasks_.empty() || labels_[tasks_.back().label] != label) {
    const auto [at, fresh] = label_ids_.try_emplace(std::string(label), static_cast<std::uint32_t>(labels_.size()));
    if (fresh) labels_.emplace_back(label);
    tasks_.push_back({duration, resource, at->second});
  } else {
    tasks_.push_back({duration, resource, tasks_.back().label});
  }
  return static_cast<TaskId>(tasks_.size() - 1);
}

void Timeline::check_task(TaskId id, std::string_view call) const {
  if (index(id) >= tasks_.size())
    fail(Code::invalid_argument, "timeline: {}() of task {}, but there are {}", call, index(id), tasks_.size());
}

void Timeline::after(TaskId task, TaskId earlier) {
  check_task(task, "after");
  check_task(earlier, "after");
  dependencies_.push_back({task, earlier});
}

void Timeline::not_before(TaskId task, double time_ns) {
  check_task(task, "not_before");
  arrivals_.push_back({task, picoseconds(time_ns, "arrival", label(task))});
}

void Timeline::acquire(TaskId task, BufferId buffer, std::int64_t slots) {
  check_task(task, "acquire");
  check(index(buffer) < buffers_.size(), Code::invalid_argument, "timeline: '{}' acquires from buffer {} of {}",
        label(task), index(buffer), buffers_.size());
  check(slots >= 1 && slots <= this->buffer(buffer).slots, Code::invalid_argument,
        "timeline: '{}' acquires {} slots of buffer '{}', which has {}", label(task), slots, this->buffer(buffer).name,
        this->buffer(buffer).slots);
  acquired_.push_back({task, buffer, slots});
}

void Timeline::release(TaskId task, BufferId buffer, std::int64_t slots) {
  check_task(task, "release");
  check(index(buffer) < buffers_.size(), Code::invalid_argument, "timeline: '{}' releases to buffer {} of {}",
        label(task), index(buffer), buffers_.size());
  check(slots >= 1, Code::invalid_argument, "timeline: '{}' releases {} slots of buffer '{}'", label(task), slots,
        this->buffer(buffer).name);
  released_.push_back({task, buffer, slots});
}

void Timeline::reserve(std::size_t tasks) {
  tasks_.reserve(tasks);
  dependencies_.reserve(tasks);
}

}  // namespace tessera::sim
