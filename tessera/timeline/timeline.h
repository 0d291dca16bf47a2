#pragma once

// The event engine of all simulated machines. Tasks take time on resources; they wait for other tasks, for a server of
// their resource and for slots of finite buffers. What a resource or a buffer stands for (an engine, a link, a queue, a
// circular buffer) is the caller's business.
//
//   Timeline t;
//   const auto reader = t.add_resource("reader"), math = t.add_resource("math");
//   const auto cb = t.add_buffer("cb_in0", 2);  // double buffering
//   for (int i = 0; i < blocks; ++i) {
//     const auto read = t.add_task(reader, 300, "read");
//     t.acquire(read, cb);                      // waits until a slot is free
//     const auto multiply = t.add_task(math, 500, "multiply");
//     t.after(multiply, read);
//     t.release(multiply, cb);                  // the slot is free again when it ends
//   }
//   const Schedule s = simulate(t);
//
// Times are kept in whole picoseconds, so equal inputs give equal results on every machine and ties are real ones.

#include "tessera/core/export.h"
#include "tessera/timeline/schedule.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::sim {

// In which order a resource serves its tasks.
enum class Order : std::uint8_t {
  ready,    // as they become ready (dependencies met, slots acquired); at the same moment, as they were added
  oldest,   // of those that are ready, the one that was added first: what a scheduler makes of a program
  program,  // as they were added: a task that waits for another or for a slot holds up those behind it
};

class TSR_API Timeline {
 public:
  // `servers` tasks run at a time.
  ResourceId add_resource(std::string name, int servers = 1, Order order = Order::ready);
  BufferId add_buffer(std::string name, std::int64_t slots);

  // With ResourceId::none it takes time but nobody's: a latency, or a milestone when the duration is 0.
  TaskId add_task(ResourceId resource, double duration_ns, std::string_view label);
  // `task` starts when `earlier` has ended. Either may have been added first.
  void after(TaskId task, TaskId earlier);
  void not_before(TaskId task, double time_ns);
  // Slots are taken one buffer after the other, in the order of these calls, by tasks in the order in which they come.
  // A buffer is full of free slots at the beginning.
  void acquire(TaskId task, BufferId buffer, std::int64_t slots = 1);
  void release(TaskId task, BufferId buffer, std::int64_t slots = 1);
  void reserve(std::size_t tasks);

  struct Task {
    std::int64_t duration_ps;
    ResourceId resource;
    std::uint32_t label;
  };
  struct Resource {
    std::string name;
    int servers;
    Order order;
  };
  struct Buffer {
    std::string name;
    std::int64_t slots;
  };
  struct Dependency {
    TaskId task, earlier;
  };
  struct Slots {
    TaskId task;
    BufferId buffer;
    std::int64_t count;
  };
  struct Arrival {
    TaskId task;
    std::int64_t time_ps;
  };
  std::span<const Task> tasks() const { return tasks_; }
  std::span<const Resource> resources() const { return resources_; }
  std::span<const Buffer> buffers() const { return buffers_; }
  std::span<const Dependency> dependencies() const { return dependencies_; }
  std::span<const Slots> acquired() const { return acquired_; }
  std::span<const Slots> released() const { return released_; }
  std::span<const Arrival> arrivals() const { return arrivals_; }
  const Task& task(TaskId id) const { return tasks_[index(id)]; }
  const Resource& resource(ResourceId id) const { return resources_[index(id)]; }
  const Buffer& buffer(BufferId id) const { return buffers_[index(id)]; }
  const std::string& label(TaskId id) const { return labels_[task(id).label]; }

 private:
  void check_task(TaskId id, std::string_view call) const;

  std::vector<Task> tasks_;
  std::vector<Resource> resources_;
  std::vector<Buffer> buffers_;
  std::vector<Dependency> dependencies_;
  std::vector<Slots> acquired_, released_;
  std::vector<Arrival> arrivals_;
  std::vector<std::string> labels_;
  std::unordered_map<std::string, std::uint32_t> label_ids_;
};

// Runs all tasks to their end. Tasks that wait for each other, for a slot that nobody gives back, or for more slots
// than there are: an Error that names them and what each waits for.
TSR_API Schedule simulate(const Timeline& timeline);

}  // namespace tessera::sim
