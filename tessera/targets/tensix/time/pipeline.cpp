#include "tessera/targets/tensix/time/pipeline.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <utility>

namespace tessera::tensix {
namespace {

class Driver {
 public:
  Driver(const HostModel& host, const PipelineWork& work, Executor executor, int batches, int chips)
      : work_(work), batches_(batches), queues_(host, two_queues(executor) ? 2 : 1, chips) {
    input_move_ = {.name = "input to L1", .op = "reshard", .kernel_ns = work.input_move_ns};
    output_move_ = {.name = "output to DRAM", .op = "reshard", .kernel_ns = work.output_move_ns};
  }

  CommandQueues run(Executor executor) && {
    switch (executor) {
      case Executor::model: model(); break;
      case Executor::traced: traced(); break;
      case Executor::overlapped_input: overlapped_input(false); break;
      case Executor::traced_overlapped_input: overlapped_input(true); break;
      case Executor::traced_pipelined_io: pipelined_io(); break;
    }
    queues_.synchronize();
    return std::move(queues_);
  }

  static bool two_queues(Executor executor) { return executor != Executor::model && executor != Executor::traced; }

 private:
  void model() {
    for (int i = 0; i < batches_; ++i) {
      queues_.write(0, work_.input_bytes, "write input");
      steps();
      queues_.read(0, work_.output_bytes, "read output");
    }
  }

  void traced() {
    for (int i = 0; i < batches_; ++i) {
      queues_.write(0, work_.input_bytes, "write input");
      queues_.run(0, input_move_);
      queues_.replay(0, work_.steps, "execute_trace");
      queues_.read(0, work_.output_bytes, "read output");
    }
  }

  // Operators and reads in queue 0, writes in queue 1. The input in DRAM may be overwritten as soon as it is in L1.
  void overlapped_input(bool with_trace) {
    EventId taken = queues_.record_event(0);
    for (int i = 0; i < batches_; ++i) {
      queues_.wait_for_event(1, taken);
      queues_.write(1, work_.input_bytes, "write input");
      const EventId written = queues_.record_event(1);
      queues_.wait_for_event(0, written);
      queues_.run(0, input_move_);
      taken = queues_.record_event(0);
      if (with_trace)
        queues_.replay(0, work_.steps, "execute_trace");
      else
        steps();
      queues_.read(0, work_.output_bytes, "read output");
    }
  }

  // Operators in queue 0, transfers in queue 1: input i + 1 is written before output i is read, and an output in DRAM
  // is overwritten only when it has been read.
  void pipelined_io() {
    check(batches_ >= 2, Code::invalid_argument, Hint{"enqueue more inputs, or use another executor"},
          "pipelined transfers need two inputs or more, not {}", batches_);
    EventId taken = queues_.record_event(0), read = queues_.record_event(1), written = EventId::none,
            finished = EventId::none;
    const auto write = [&] {
      queues_.wait_for_event(1, taken);
      queues_.write(1, work_.input_bytes, "write input");
      written = queues_.record_event(1);
    };
    const auto execute = [&] {
      queues_.wait_for_event(0, written);
      queues_.run(0, input_move_);
      taken = queues_.record_event(0);
      queues_.replay(0, work_.steps, "execute_trace");
      queues_.wait_for_event(0, read);
      queues_.run(0, output_move_);
      finished = queues_.record_event(0);
    };
    write();
    for (int i = 0; i < batches_; ++i) {
      execute();
      if (i + 1 < batches_) write();
      queues_.wait_for_event(1, finished);
      queues_.read(1, work_.output_bytes, "read output");
      read = queues_.record_event(1);
    }
  }

  void steps() {
    for (const DeviceStep& step : work_.steps) queues_.run(0, step);
  }

  const PipelineWork& work_;
  int batches_;
  CommandQueues queues_;
  DeviceStep input_move_, output_move_;
};

}  // namespace

std::string_view name(Executor executor) {
  switch (executor) {
    case Executor::model: return "Model";
    case Executor::traced: return "TracedModel";
    case Executor::overlapped_input: return "MultiCQModelOverlappedInput";
    case Executor::traced_overlapped_input: return "MultiCQTracedModelOverlappedInput";
    case Executor::traced_pipelined_io: return "MultiCQTracedModelPipelinedIO";
  }
  return "?";
}

Executor executor_of(const PipelineConfig& config) {
  check(config.num_command_queues == 1 || config.num_command_queues == 2, Code::invalid_argument,
        "num_command_queues is {}, a card has 1 or 2", config.num_command_queues);
  if (config.all_transfers_on_separate_command_queue) {
    check(config.use_trace && config.num_command_queues == 2, Code::unsupported,
          Hint{"set use_trace and num_command_queues=2"},
          "all_transfers_on_separate_command_queue needs a trace and two command queues");
    return Executor::traced_pipelined_io;
  }
  if (config.num_command_queues == 1) return config.use_trace ? Executor::traced : Executor::model;
  return config.use_trace ? Executor::traced_overlapped_input : Executor::overlapped_input;
}

PipelineRun run_pipeline(const HostModel& host, const PipelineWork& work, Executor executor, int batches, int chips) {
  check(batches >= 1, Code::invalid_argument, "a pipeline of {} inputs", batches);
  CommandQueues queues = Driver(host, work, executor, batches, chips).run(executor);
  sim::Schedule schedule = queues.finish();
  EndToEnd time{.executor = executor, .batches = batches, .chips = chips};
  for (const DeviceStep& step : work.steps) time.device_ns += step.kernel_ns;
  const double share = 1.0 / batches;
  time.end_to_end_ns = schedule.end_ns() * share;
  const sim::Timeline& timeline = queues.timeline();
  const std::vector<std::int64_t> critical = critical_time_ps(timeline, schedule);
  for (std::size_t i = 0; i + 1 < critical.size(); ++i) {
    const double ns = sim::ns_of(critical[i]) * share;
    switch (queues.kind(static_cast<sim::ResourceId>(i))) {
      case CommandQueues::Resource::host: time.host_ns += ns; break;
      case CommandQueues::Resource::queue: time.dispatch_ns += ns; break;
      case CommandQueues::Resource::cores: time.kernels_ns += ns; break;
      case CommandQueues::Resource::to_card:
      case CommandQueues::Resource::from_card: time.transfers_ns += ns; break;
      case CommandQueues::Resource::link: time.link_ns += ns; break;
      case CommandQueues::Resource::ethernet: time.ethernet_ns += ns; break;
      case CommandQueues::Resource::memory: time.memory_ns += ns; break;
    }
  }
  time.transfers_ns += time.link_ns + time.ethernet_ns + time.memory_ns;
  time.launch_ns = sim::ns_of(critical.back()) * share;
  for (std::size_t i = 0; i < schedule.tasks.size() && time.latency_ns == 0; ++i) {
    const sim::ResourceId resource = timeline.tasks()[i].resource;
    if (resource != sim::ResourceId::none && queues.kind(resource) == CommandQueues::Resource::from_card)
      time.latency_ns = sim::ns_of(schedule.tasks[i].end_ps);
  }
  return {time, std::move(queues), std::move(schedule)};
}

}  // namespace tessera::tensix
