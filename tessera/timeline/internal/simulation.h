#pragma once

// State of a running simulation, shared by the loop and by the search for who waits for whom.

#include "tessera/timeline/timeline.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace tessera::sim {

constexpr std::uint32_t kNone = 0xffffffff;

// For every task, a range of entries.
template <class T>
struct Rows {
  std::vector<std::uint32_t> begin;  // one more than there are tasks
  std::vector<T> entries;
  std::span<const T> of(std::uint32_t task) const {
    return {entries.data() + begin[task], entries.data() + begin[task + 1]};
  }
};

// Tasks in a line; each is in one line at most, so one array of links serves all.
struct Line {
  std::uint32_t first = kNone, last = kNone;
};

struct SlotCount {
  std::uint32_t buffer;
  std::int64_t count;
};

struct ResourceState {
  Line line;                         // Order::ready: tasks that only lack a server
  std::vector<std::uint32_t> ready;  // Order::oldest: the same, a heap with the oldest on top
  std::vector<std::uint32_t> tasks;  // Order::program: all of its tasks, and the next to start
  std::size_t next = 0;
  bool stalled = false;             // the next one holds a server and waits for slots
  std::vector<std::uint16_t> free;  // servers, a heap with the lowest number on top
  std::uint32_t freed_by = kNone;   // the last task that ended here,
  std::int64_t freed_at = -1;       // and when
  bool dirty = false;
};

struct BufferState {
  std::int64_t free = 0;
  Line line;
  std::uint32_t freed_by = kNone;
  bool dirty = false;
};

class Simulation {
 public:
  explicit Simulation(const Timeline& timeline);
  Schedule run();

  // For the search after a deadlock.
  const Timeline& timeline() const { return timeline_; }
  bool ended(std::uint32_t task) const { return ended_[task]; }
  // The task that its resource starts next, in program order; kNone where there is no such order.
  std::uint32_t head_of(std::uint32_t task) const;
  // The buffer that a task with no missing dependency waits for; kNone if it has its slots.
  std::uint32_t waits_for_buffer(std::uint32_t task) const;
  std::int64_t free_slots(std::uint32_t buffer) const { return buffers_[buffer].free; }

 private:
  using Event = std::pair<std::int64_t, std::uint32_t>;  // time, task: its end, or its arrival if that has not been

  void push(Line& line, std::uint32_t task);
  std::uint32_t pop(Line& line);
  void set_cause(std::uint32_t task, Wait wait, std::uint32_t because);
  void met_dependencies(std::uint32_t task, Wait wait, std::uint32_t because);
  bool take_slots(std::uint32_t task);
  void queue_for_server(std::uint32_t task);
  std::uint16_t take_server(ResourceState& resource);
  void start(std::uint32_t task);
  void end(std::uint32_t task);
  void grant(std::uint32_t buffer);
  void serve(ResourceState& resource);
  void serve_in_program_order(ResourceState& resource);
  void mark_resource(std::uint32_t resource);
  void mark_buffer(std::uint32_t buffer);
  void settle();

  const Timeline& timeline_;
  Schedule out_;
  std::int64_t now_ = 0;
  std::uint32_t left_ = 0;
  Rows<std::uint32_t> followers_;
  Rows<SlotCount> acquires_, releases_;
  std::vector<std::uint32_t> missing_;   // dependencies that have not ended
  std::vector<std::uint32_t> next_;      // links of lines
  std::vector<std::uint16_t> acquired_;  // of how many buffers a task has its slots
  std::vector<bool> arrived_, ended_;
  std::vector<ResourceState> resources_;
  std::vector<BufferState> buffers_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint32_t> met_, dirty_resources_, dirty_buffers_;  // what changed at this moment
};

// Fails with the tasks that wait for each other.
[[noreturn]] void fail_with_deadlock(const Simulation& simulation, std::uint32_t left);

}  // namespace tessera::sim
