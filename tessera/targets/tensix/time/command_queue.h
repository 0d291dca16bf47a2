#pragma once

// What a host asks of cards through command queues, and when each thing happens. Calls are in the host's order; queues
// work on their own, each in its order; events make one wait for another. Every call goes to all chips of a mesh, which
// do the same to their own shards.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/time/host_model.h"
#include "tessera/timeline/timeline.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class EventId : std::int32_t { none = -1 };
enum class Blocking : bool { no, yes };

class TSR_API CommandQueues {
 public:
  // `queues` of each of `chips`.
  CommandQueues(const HostModel& host, int queues, int chips = 1);

  // Bytes of one chip. A queue's transfers wait for the programs before them.
  void write(int queue, std::int64_t bytes, std::string_view label, Blocking blocking = Blocking::no);
  void read(int queue, std::int64_t bytes, std::string_view label, Blocking blocking = Blocking::no);
  // An operator, called one by one.
  void run(int queue, const DeviceStep& step);
  // All of them, with one call.
  void replay(int queue, std::span<const DeviceStep> steps, std::string_view label, Blocking blocking = Blocking::no);

  // The event comes to pass when everything before it in its queue has ended.
  EventId record_event(int queue);
  // For a queue that waits before anybody has recorded: one of these, and record_event(queue, event) later.
  EventId new_event();
  void record_event(int queue, EventId event);
  void wait_for_event(int queue, EventId event);
  void synchronize_event(EventId event);  // the host waits
  void synchronize();
  void synchronize(int queue);

  int queues() const { return queues_; }
  int chips() const { return static_cast<int>(chips_.size()); }

  // Fails if a queue waits for an event that was never recorded, or queues wait for each other.
  sim::Schedule finish() const;
  const sim::Timeline& timeline() const { return timeline_; }
  // When the host's last call so far returns: all before it simulated.
  double host_ns() const;

  // Programs of the first chip that say what their cores do, in the order of calls.
  struct ProgramRun {
    sim::TaskId task;
    std::shared_ptr<const std::vector<TimedProgram>> step;
    std::size_t program = 0;  // of the step
  };
  std::span<const ProgramRun> programs_run() const { return programs_run_; }

  enum class Resource : std::uint8_t { host, queue, cores, to_card, from_card, link, ethernet, memory };
  Resource kind(sim::ResourceId id) const { return kinds_[sim::index(id)]; }

 private:
  struct Queue {
    sim::ResourceId commands;
    sim::TaskId last = sim::TaskId::none;  // everything up to here has ended when this one has
  };
  struct Chip {
    std::vector<Queue> queues;
    sim::ResourceId cores, to_card, from_card;
    // Shared with other chips, none where it has all of it: PCIe and Ethernet, to the card and from it.
    std::array<sim::ResourceId, 2> link, ethernet;
  };
  struct Event {
    std::vector<sim::TaskId> recorded;              // by chip; empty: not yet
    std::vector<std::vector<sim::TaskId>> waiting;  // by chip: tasks that came before it was recorded
    std::string first_wait;
  };

  void share_links();
  // The part of a transfer that others have to wait for, of the `ns` it takes in all.
  sim::TaskId shared_part(sim::ResourceId shared, double rate, std::int64_t bytes, double& ns, std::string_view label,
                          sim::TaskId after);
  sim::ResourceId add_resource(std::string name, Resource kind, sim::Order order);
  Queue& queue_of(Chip& chip, int queue, std::string_view call);
  void check_queue(int queue, std::string_view call) const;
  sim::TaskId call(double ns, std::string_view label);
  sim::TaskId command(Queue& queue, double ns, std::string_view label, sim::TaskId after);
  void program(Chip& chip, Queue& queue, const DeviceStep& step, bool traced, sim::TaskId after);
  void transfer(int queue, std::int64_t bytes, std::string_view label, Blocking blocking, bool to_card);
  void wait_for(const std::vector<sim::TaskId>& tasks, std::string_view label);
  std::vector<sim::TaskId> last_of(int queue) const;
  Event& event_of(EventId event, std::string_view call);

  HostModel model_;
  int queues_;
  sim::Timeline timeline_;
  std::vector<Resource> kinds_;
  sim::ResourceId host_;
  sim::ResourceId memory_ = sim::ResourceId::none;
  sim::TaskId last_call_ = sim::TaskId::none;
  std::vector<Chip> chips_;
  std::vector<Event> events_;
  std::vector<ProgramRun> programs_run_;
};

}  // namespace tessera::tensix
