#include "tessera/core/error.h"
#include "tessera/timeline/internal/simulation.h"

#include <algorithm>

namespace tessera::sim {
namespace {

// Entries sorted by task, in the order given within one.
template <class T, class Item, class TaskOf, class EntryOf>
Rows<T> rows(std::size_t tasks, std::span<const Item> items, TaskOf task_of, EntryOf entry_of) {
  Rows<T> out;
  out.begin.assign(tasks + 1, 0);
  if (items.empty()) return out;
  for (const Item& item : items) ++out.begin[index(task_of(item)) + 1];
  for (std::size_t i = 0; i < tasks; ++i) out.begin[i + 1] += out.begin[i];
  std::vector<std::uint32_t> at(out.begin.begin(), out.begin.end() - 1);
  out.entries.resize(items.size());
  for (const Item& item : items) out.entries[at[index(task_of(item))]++] = entry_of(item);
  return out;
}

Rows<SlotCount> slot_rows(std::size_t tasks, std::span<const Timeline::Slots> slots) {
  return rows<SlotCount>(
      tasks, slots, [](const Timeline::Slots& s) { return s.task; },
      [](const Timeline::Slots& s) { return SlotCount{static_cast<std::uint32_t>(s.buffer), s.count}; });
}

}  // namespace

Simulation::Simulation(const Timeline& timeline) : timeline_(timeline) {
  const std::size_t tasks = timeline.tasks().size();
  left_ = static_cast<std::uint32_t>(tasks);
  out_.tasks.resize(tasks);
  out_.resources.resize(timeline.resources().size());
  followers_ = rows<std::uint32_t>(
      tasks, timeline.dependencies(), [](const Timeline::Dependency& d) { return d.earlier; },
      [](const Timeline::Dependency& d) { return static_cast<std::uint32_t>(d.task); });
  acquires_ = slot_rows(tasks, timeline.acquired());
  releases_ = slot_rows(tasks, timeline.released());
  missing_.assign(tasks, 0);
  for (const Timeline::Dependency& d : timeline.dependencies()) ++missing_[index(d.task)];
  next_.assign(tasks, kNone);
  acquired_.assign(tasks, 0);
  arrived_.assign(tasks, true);
  ended_.assign(tasks, false);
  resources_.resize(timeline.resources().size());
  for (std::size_t i = 0; i < resources_.size(); ++i)
    for (int s = timeline.resources()[i].servers - 1; s >= 0; --s) {
      resources_[i].free.push_back(static_cast<std::uint16_t>(s));
      std::push_heap(resources_[i].free.begin(), resources_[i].free.end(), std::greater<>());
    }
  for (std::size_t i = 0; i < tasks; ++i) {
    const ResourceId resource = timeline.tasks()[i].resource;
    if (resource != ResourceId::none && timeline.resource(resource).order == Order::program)
      resources_[index(resource)].tasks.push_back(static_cast<std::uint32_t>(i));
  }
  buffers_.resize(timeline.buffers().size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].free = timeline.buffers()[i].slots;
  std::vector<Event> arrivals;
  for (const Timeline::Arrival& a : timeline.arrivals())
    if (a.time_ps > 0) arrivals.emplace_back(a.time_ps, static_cast<std::uint32_t>(a.task));
  std::sort(arrivals.begin(), arrivals.end(), std::greater<>());
  for (const auto& [time, task] : arrivals)  // of several, the latest counts
    if (arrived_[task]) {
      arrived_[task] = false;
      events_.emplace(time, task);
    }
}

void Simulation::push(Line& line, std::uint32_t task) {
  next_[task] = kNone;
  (line.last == kNone ? line.first : next_[line.last]) = task;
  line.last = task;
}

std::uint32_t Simulation::pop(Line& line) {
  const std::uint32_t task = line.first;
  line.first = next_[task];
  if (line.first == kNone) line.last = kNone;
  return task;
}

void Simulation::mark_resource(std::uint32_t resource) {
  if (resources_[resource].dirty) return;
  resources_[resource].dirty = true;
  dirty_resources_.push_back(resource);
}

void Simulation::mark_buffer(std::uint32_t buffer) {
  if (buffers_[buffer].dirty) return;
  buffers_[buffer].dirty = true;
  dirty_buffers_.push_back(buffer);
}

// The moment counts as the task's start until something later holds it up.
void Simulation::set_cause(std::uint32_t task, Wait wait, std::uint32_t because) {
  Span& span = out_.tasks[task];
  span.wait = wait;
  span.because = static_cast<TaskId>(because);
  span.start_ps = now_;
}

void Simulation::met_dependencies(std::uint32_t task, Wait wait, std::uint32_t because) {
  set_cause(task, wait, because);
  met_.push_back(task);
}

// All that are still missing, or a place in the line of the first buffer that has too few.
bool Simulation::take_slots(std::uint32_t task) {
  const std::span<const SlotCount> wanted = acquires_.of(task);
  while (acquired_[task] < wanted.size()) {
    const SlotCount& each = wanted[acquired_[task]];
    BufferState& buffer = buffers_[each.buffer];
    if (buffer.line.first != kNone || buffer.free < each.count) {
      push(buffer.line, task);
      return false;
    }
    buffer.free -= each.count;
    ++acquired_[task];
  }
  return true;
}

void Simulation::queue_for_server(std::uint32_t task) {
  const ResourceId resource = timeline_.tasks()[task].resource;
  if (resource == ResourceId::none) return start(task);
  ResourceState& state = resources_[index(resource)];
  if (timeline_.resource(resource).order == Order::oldest) {
    state.ready.push_back(task);
    std::push_heap(state.ready.begin(), state.ready.end(), std::greater<>());
  } else {
    push(state.line, task);
  }
  mark_resource(static_cast<std::uint32_t>(resource));
}

std::uint16_t Simulation::take_server(ResourceState& resource) {
  std::pop_heap(resource.free.begin(), resource.free.end(), std::greater<>());
  const std::uint16_t server = resource.free.back();
  resource.free.pop_back();
  return server;
}

void Simulation::start(std::uint32_t task) {
  Span& span = out_.tasks[task];
  span.start_ps = now_;
  span.end_ps = now_ + timeline_.tasks()[task].duration_ps;
  events_.emplace(span.end_ps, task);
}

void Simulation::end(std::uint32_t task) {
  ended_[task] = true;
  --left_;
  const Span& span = out_.tasks[task];
  out_.end_ps = std::max(out_.end_ps, span.end_ps);
  for (const std::uint32_t follower : followers_.of(task))
    if (--missing_[follower] == 0 && arrived_[follower]) met_dependencies(follower, Wait::dependency, task);
  for (const SlotCount& each : releases_.of(task)) {
    BufferState& buffer = buffers_[each.buffer];
    buffer.free += each.count;
    buffer.freed_by = task;
    if (buffer.free > timeline_.buffers()[each.buffer].slots)
      fail(Code::invalid_argument, "timeline: '{}' releases {} slots of buffer '{}', which then has {} free of {}",
           timeline_.label(static_cast<TaskId>(task)), each.count, timeline_.buffers()[each.buffer].name, buffer.free,
           timeline_.buffers()[each.buffer].slots);
    mark_buffer(each.buffer);
  }
  const ResourceId id = timeline_.tasks()[task].resource;
  if (id == ResourceId::none) return;
  ResourceState& resource = resources_[index(id)];
  resource.free.push_back(span.server);
  std::push_heap(resource.free.begin(), resource.free.end(), std::greater<>());
  resource.freed_by = task;
  resource.freed_at = now_;
  Usage& usage = out_.resources[index(id)];
  usage.busy_ps += span.end_ps - span.start_ps;
  ++usage.tasks;
  mark_resource(static_cast<std::uint32_t>(id));
}

void Simulation::grant(std::uint32_t id) {
  BufferState& buffer = buffers_[id];
  while (buffer.line.first != kNone) {
    const std::uint32_t task = buffer.line.first;
    const std::int64_t count = acquires_.of(task)[acquired_[task]].count;
    if (buffer.free < count) return;
    pop(buffer.line);
    buffer.free -= count;
    ++acquired_[task];
    set_cause(task, Wait::buffer, buffer.freed_by);
    if (!take_slots(task)) continue;
    const ResourceId resource = timeline_.tasks()[task].resource;
    if (resource == ResourceId::none || timeline_.resource(resource).order != Order::program) {
      queue_for_server(task);
    } else {  // it holds its server already
      resources_[index(resource)].stalled = false;
      ++resources_[index(resource)].next;
      start(task);
      mark_resource(static_cast<std::uint32_t>(resource));
    }
  }
}

void Simulation::serve(ResourceState& resource) {
  while (!resource.free.empty()) {
    std::uint32_t task = kNone;
    if (!resource.ready.empty()) {
      std::pop_heap(resource.ready.begin(), resource.ready.end(), std::greater<>());
      task = resource.ready.back();
      resource.ready.pop_back();
    } else if (resource.line.first != kNone) {
      task = pop(resource.line);
    } else {
      return;
    }
    if (out_.tasks[task].start_ps < now_) set_cause(task, Wait::resource, resource.freed_by);
    out_.tasks[task].server = take_server(resource);
    start(task);
  }
}

void Simulation::serve_in_program_order(ResourceState& resource) {
  while (!resource.stalled && resource.next < resource.tasks.size() && !resource.free.empty()) {
    const std::uint32_t task = resource.tasks[resource.next];
    if (missing_[task] > 0 || !arrived_[task]) return;
    if (out_.tasks[task].start_ps < now_) {
      // Either a server became free now, or the task before it started for a reason of its own.
      if (resource.freed_at == now_)
        set_cause(task, Wait::resource, resource.freed_by);
      else if (resource.next > 0)
        set_cause(task, Wait::resource,
                  static_cast<std::uint32_t>(out_.tasks[resource.tasks[resource.next - 1]].because));
    }
    out_.tasks[task].server = take_server(resource);
    if (!take_slots(task)) {
      resource.stalled = true;
      return;
    }
    ++resource.next;
    start(task);
  }
}

// Everything that this moment's ends and arrivals make possible. Nothing here frees a server or a slot, so one pass is
// enough; tasks of no duration end in a batch of their own.
void Simulation::settle() {
  std::sort(met_.begin(), met_.end());
  for (const std::uint32_t task : met_) {
    const ResourceId resource = timeline_.tasks()[task].resource;
    if (resource != ResourceId::none && timeline_.resource(resource).order == Order::program)
      mark_resource(static_cast<std::uint32_t>(resource));
    else if (take_slots(task))
      queue_for_server(task);
  }
  met_.clear();
  std::sort(dirty_buffers_.begin(), dirty_buffers_.end());
  for (const std::uint32_t buffer : dirty_buffers_) {
    buffers_[buffer].dirty = false;
    grant(buffer);
  }
  dirty_buffers_.clear();
  std::sort(dirty_resources_.begin(), dirty_resources_.end());
  for (const std::uint32_t resource : dirty_resources_) {
    ResourceState& state = resources_[resource];
    state.dirty = false;
    if (state.tasks.empty())
      serve(state);
    else
      serve_in_program_order(state);
  }
  dirty_resources_.clear();
}

Schedule Simulation::run() {
  for (std::uint32_t task = 0; task < missing_.size(); ++task)
    if (missing_[task] == 0 && arrived_[task]) met_dependencies(task, Wait::none, kNone);
  settle();
  while (!events_.empty()) {
    now_ = events_.top().first;
    while (!events_.empty() && events_.top().first == now_) {
      const std::uint32_t task = events_.top().second;
      events_.pop();
      if (arrived_[task]) {
        end(task);
      } else {
        arrived_[task] = true;
        if (missing_[task] == 0) met_dependencies(task, Wait::arrival, kNone);
      }
    }
    settle();
  }
  if (left_ > 0) fail_with_deadlock(*this, left_);
  return std::move(out_);
}

std::uint32_t Simulation::head_of(std::uint32_t task) const {
  const ResourceId resource = timeline_.tasks()[task].resource;
  if (resource == ResourceId::none || resources_[index(resource)].tasks.empty()) return kNone;
  const ResourceState& state = resources_[index(resource)];
  return state.next < state.tasks.size() ? state.tasks[state.next] : kNone;
}

std::uint32_t Simulation::waits_for_buffer(std::uint32_t task) const {
  const std::span<const SlotCount> wanted = acquires_.of(task);
  return acquired_[task] < wanted.size() ? wanted[acquired_[task]].buffer : kNone;
}

Schedule simulate(const Timeline& timeline) { return Simulation(timeline).run(); }

}  // namespace tessera::sim
