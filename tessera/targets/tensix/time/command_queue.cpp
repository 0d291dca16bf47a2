#include "tessera/targets/tensix/time/command_queue.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <utility>

namespace tessera::tensix {

using sim::TaskId;

CommandQueues::CommandQueues(const HostModel& host, int queues, int chips) : model_(host), queues_(queues) {
  check(queues >= 1 && queues <= host.command_queues, Code::invalid_argument,
        "{} command queues were asked for, a card has 1 or {}", queues, host.command_queues);
  check(chips >= 1, Code::invalid_argument, "a mesh of {} chips", chips);
  host_ = add_resource("host", Resource::host, sim::Order::program);
  for (int c = 0; c < chips; ++c) {
    const std::string card = chips == 1 ? "" : fmt::format("card {} ", c);
    Chip chip;
    for (int q = 0; q < queues; ++q)
      chip.queues.push_back({add_resource(fmt::format("{}queue {}", card, q), Resource::queue, sim::Order::program)});
    chip.cores = add_resource(card + "cores", Resource::cores, sim::Order::ready);
    chip.to_card = add_resource(card + "PCIe to card", Resource::to_card, sim::Order::ready);
    chip.from_card = add_resource(card + "PCIe from card", Resource::from_card, sim::Order::ready);
    chip.link.fill(sim::ResourceId::none);
    chip.ethernet.fill(sim::ResourceId::none);
    chips_.push_back(std::move(chip));
  }
  share_links();
}

void CommandQueues::share_links() {
  if (model_.shared_copy_bytes_per_s > 0) memory_ = add_resource("host memory", Resource::memory, sim::Order::ready);
  const auto per_board = static_cast<std::size_t>(model_.chips_per_board);
  for (std::size_t c = 0; c < chips_.size(); ++c)
    for (const std::size_t from_card : {0, 1}) {
      const std::size_t first = c - c % per_board;  // the chip at the link
      const std::string_view way = from_card ? "from" : "to";
      if (model_.shared_link_bytes_per_s > 0)
        chips_[c].link[from_card] = c == first ? add_resource(fmt::format("link {} {} card", c / per_board, way),
                                                              Resource::link, sim::Order::ready)
                                               : chips_[first].link[from_card];
      if (model_.shared_ethernet_bytes_per_s > 0 && c != first)
        chips_[c].ethernet[from_card] =
            c == first + 1 ? add_resource(fmt::format("Ethernet of card {} {} chips", c / per_board, way),
                                          Resource::ethernet, sim::Order::ready)
                           : chips_[first + 1].ethernet[from_card];
    }
}

TaskId CommandQueues::shared_part(sim::ResourceId shared, double rate, std::int64_t bytes, double& ns,
                                  std::string_view label, TaskId after) {
  if (shared == sim::ResourceId::none) return after;
  const double part = static_cast<double>(bytes) / rate * 1e9;
  ns = std::max(0.0, ns - part);
  const TaskId task = timeline_.add_task(shared, part, label);
  timeline_.after(task, after);
  return task;
}

sim::ResourceId CommandQueues::add_resource(std::string name, Resource kind, sim::Order order) {
  kinds_.push_back(kind);
  return timeline_.add_resource(std::move(name), 1, order);
}

void CommandQueues::check_queue(int queue, std::string_view call) const {
  check(queue >= 0 && queue < queues_, Code::invalid_argument,
        Hint{"open the device with num_command_queues=2 for a second queue"},
        "{}: there is no command queue {}; the device was opened with {}", call, queue, queues_);
}

TaskId CommandQueues::call(double ns, std::string_view label) {
  last_call_ = timeline_.add_task(host_, ns > 0 ? ns + model_.more_chips_ns(chips()) : 0, label);
  return last_call_;
}

TaskId CommandQueues::command(Queue& queue, double ns, std::string_view label, TaskId after) {
  const TaskId task = timeline_.add_task(queue.commands, ns, label);
  if (after != TaskId::none) timeline_.after(task, after);
  if (queue.last != TaskId::none) timeline_.after(task, queue.last);
  return queue.last = task;
}

void CommandQueues::transfer(int queue, std::int64_t bytes, std::string_view label, Blocking blocking, bool to_card) {
  check_queue(queue, to_card ? "write" : "read");
  check(bytes >= 0, Code::invalid_argument, "a transfer of {} bytes", bytes);
  const TaskId from_host = call(model_.enqueue_ns, label);
  for (std::size_t c = 0; c < chips_.size(); ++c) {
    Queue& q = chips_[c].queues[static_cast<std::size_t>(queue)];
    const TaskId head = command(q, model_.command_ns, label, from_host);
    // A chip alone is as fast as ever: what it shares with others is a part of its time, not on top of it.
    double ns = to_card ? model_.write_ns(bytes, static_cast<int>(c)) : model_.read_ns(bytes, static_cast<int>(c));
    const std::size_t way = to_card ? 0 : 1;
    TaskId at = shared_part(memory_, model_.shared_copy_bytes_per_s, bytes, ns, label, head);
    at = shared_part(chips_[c].link[way], model_.shared_link_bytes_per_s, bytes, ns, label, at);
    at = shared_part(chips_[c].ethernet[way], model_.shared_ethernet_bytes_per_s, bytes, ns, label, at);
    const TaskId moved = timeline_.add_task(to_card ? chips_[c].to_card : chips_[c].from_card, ns, label);
    timeline_.after(moved, at);
    q.last = moved;
  }
  if (blocking == Blocking::yes) wait_for(last_of(queue), label);
}

void CommandQueues::write(int queue, std::int64_t bytes, std::string_view label, Blocking blocking) {
  transfer(queue, bytes, label, blocking, true);
}

void CommandQueues::read(int queue, std::int64_t bytes, std::string_view label, Blocking blocking) {
  transfer(queue, bytes, label, blocking, false);
}

void CommandQueues::program(Chip& chip, Queue& queue, const DeviceStep& step, bool traced, TaskId after) {
  for (int i = 0; i < step.programs; ++i) {
    const TaskId sent = command(queue, model_.program_ns(step.kernel_groups, traced), step.name, after);
    const TaskId launched = timeline_.add_task(sim::ResourceId::none, model_.launch_ns, "launch");
    timeline_.after(launched, sent);
    const auto which = static_cast<std::size_t>(i);
    const bool known = step.timed && step.timed->size() == static_cast<std::size_t>(step.programs);
    const double ns = known ? (*step.timed)[which].time.ns : step.kernel_ns / step.programs;
    const TaskId ran = timeline_.add_task(chip.cores, ns, step.name);
    if (known && &chip == chips_.data()) programs_run_.push_back({ran, step.timed, which});
    timeline_.after(ran, launched);
    queue.last = ran;
  }
}

void CommandQueues::run(int queue, const DeviceStep& step) {
  check_queue(queue, "run");
  check(step.programs >= 1 && step.kernel_groups >= 1, Code::invalid_argument,
        "'{}' has {} programs of {} kernel groups", step.name, step.programs, step.kernel_groups);
  const TaskId from_host = call(model_.call_ns * step.calls + model_.enqueue_ns * step.programs, step.name);
  for (Chip& chip : chips_) program(chip, chip.queues[static_cast<std::size_t>(queue)], step, false, from_host);
}

void CommandQueues::replay(int queue, std::span<const DeviceStep> steps, std::string_view label, Blocking blocking) {
  check_queue(queue, "execute_trace");
  const TaskId from_host = call(model_.replay_ns, label);
  for (Chip& chip : chips_) {
    Queue& q = chip.queues[static_cast<std::size_t>(queue)];
    command(q, model_.command_ns, label, from_host);
    for (const DeviceStep& step : steps) program(chip, q, step, true, TaskId::none);
  }
  if (blocking == Blocking::yes) wait_for(last_of(queue), label);
}

EventId CommandQueues::new_event() {
  Event event;
  event.waiting.resize(chips_.size());
  events_.push_back(std::move(event));
  return static_cast<EventId>(events_.size() - 1);
}

CommandQueues::Event& CommandQueues::event_of(EventId event, std::string_view call) {
  const auto i = static_cast<std::int32_t>(event);
  check(i >= 0 && static_cast<std::size_t>(i) < events_.size(), Code::invalid_argument,
        Hint{"pass what record_event() has returned"}, "{}: the event was never recorded", call);
  return events_[static_cast<std::size_t>(i)];
}

EventId CommandQueues::record_event(int queue) {
  check_queue(queue, "record_event");
  const EventId event = new_event();
  record_event(queue, event);
  return event;
}

void CommandQueues::record_event(int queue, EventId id) {
  check_queue(queue, "record_event");
  Event& event = event_of(id, "record_event");
  check(event.recorded.empty(), Code::invalid_argument, "record_event: event {} has been recorded already",
        static_cast<std::int32_t>(id));
  const TaskId from_host = call(model_.enqueue_ns, "record_event");
  for (std::size_t c = 0; c < chips_.size(); ++c) {
    Queue& q = chips_[c].queues[static_cast<std::size_t>(queue)];
    const std::string label = fmt::format("record event {} in queue {}", static_cast<std::int32_t>(id), queue);
    event.recorded.push_back(command(q, model_.command_ns, label, from_host));
    for (const TaskId waits : event.waiting[c]) timeline_.after(waits, event.recorded.back());
  }
}

void CommandQueues::wait_for_event(int queue, EventId id) {
  check_queue(queue, "wait_for_event");
  Event& event = event_of(id, "wait_for_event");
  const TaskId from_host = call(model_.enqueue_ns, "wait_for_event");
  const std::string label = fmt::format("queue {} waits for event {}", queue, static_cast<std::int32_t>(id));
  for (std::size_t c = 0; c < chips_.size(); ++c) {
    const TaskId task = command(chips_[c].queues[static_cast<std::size_t>(queue)], model_.command_ns, label, from_host);
    if (event.recorded.empty())
      event.waiting[c].push_back(task);
    else
      timeline_.after(task, event.recorded[c]);
  }
  if (event.recorded.empty() && event.first_wait.empty()) event.first_wait = label;
}

std::vector<TaskId> CommandQueues::last_of(int queue) const {
  std::vector<TaskId> out;
  for (const Chip& chip : chips_) out.push_back(chip.queues[static_cast<std::size_t>(queue)].last);
  return out;
}

void CommandQueues::wait_for(const std::vector<TaskId>& tasks, std::string_view label) {
  const TaskId back = call(0, label);
  for (const TaskId task : tasks)
    if (task != TaskId::none) timeline_.after(back, task);
}

void CommandQueues::synchronize_event(EventId id) {
  const Event& event = event_of(id, "event_synchronize");
  check(!event.recorded.empty(), Code::invalid_argument, "event_synchronize: event {} was never recorded",
        static_cast<std::int32_t>(id));
  wait_for(event.recorded, "event_synchronize");
}

void CommandQueues::synchronize(int queue) {
  check_queue(queue, "synchronize_device");
  wait_for(last_of(queue), "synchronize_device");
}

void CommandQueues::synchronize() {
  std::vector<TaskId> all;
  for (int q = 0; q < queues_; ++q)
    for (const TaskId task : last_of(q)) all.push_back(task);
  wait_for(all, "synchronize_device");
}

sim::Schedule CommandQueues::finish() const {
  for (std::size_t i = 0; i < events_.size(); ++i)
    check(!events_[i].recorded.empty() || events_[i].first_wait.empty(), Code::invalid_argument,
          Hint{"call record_event() on the queue that has to come first"}, "{}, which was never recorded",
          events_[i].first_wait);
  return with_context("while the queues of a card were simulated", [&] { return sim::simulate(timeline_); });
}

double CommandQueues::host_ns() const {
  if (last_call_ == TaskId::none) return 0;
  return finish().end_ns(last_call_);
}

}  // namespace tessera::tensix
