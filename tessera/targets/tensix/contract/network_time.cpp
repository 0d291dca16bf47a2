#include "tessera/targets/tensix/contract/network_time.h"

#include "tessera/core/text.h"
#include "tessera/report/timeline_events.h"
#include "tessera/report/units.h"
#include "tessera/target/target.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::tensix {
namespace {

std::int64_t bytes_of(const Graph& graph, const std::vector<ValueId>& values, std::int64_t element_bytes) {
  std::int64_t elements = 0;
  for (const ValueId id : values) elements += graph.value(id).type.shape().volume();
  return elements * element_bytes;
}

// Rows of cores: one of each kind stands for all. They are the same in every batch, so that the first does.
std::vector<TraceEvent> core_events(const CommandQueues& queues, const sim::Schedule& schedule) {
  std::map<CoreTrack, std::vector<TraceEvent>> tracks;
  std::set<const TimedProgram*> drawn;
  for (const CommandQueues::ProgramRun& run : queues.programs_run()) {
    const TimedProgram& program = (*run.step)[run.program];
    if (!drawn.insert(&program).second) continue;
    const double begin_ns = sim::ns_of(schedule.tasks[sim::index(run.task)].start_ps);
    const std::string& node = queues.timeline().label(run.task);
    for (const CoreSpan& span : core_tracks(program)) {
      TraceEvent event{.name = fmt::format("{}: {}", program.op, span.what),
                       .category = "core",
                       .lane = std::string(name(span.track)),
                       .begin_us = (begin_ns + span.begin_ns) * 1e-3,
                       .duration_us = (span.end_ns - span.begin_ns) * 1e-3,
                       .details = {}};
      event.details["node"] = node;
      event.details["cores"] = fmt::format("{}", program.cores);
      event.details["bound by"] = name(program.time.bound_by);
      event.details["basis"] = name(program.time.basis);
      tracks[span.track].push_back(std::move(event));
    }
  }
  std::vector<TraceEvent> events;
  for (auto& [track, each] : tracks) std::ranges::move(each, std::back_inserter(events));
  return events;
}

}  // namespace

PipelineWork card_pipeline_work(const TensixSpec& card, const Graph& graph, std::vector<DeviceStep> steps,
                                std::int64_t element_bytes) {
  PipelineWork work{.steps = std::move(steps),
                    .input_bytes = bytes_of(graph, graph.inputs, element_bytes),
                    .output_bytes = bytes_of(graph, graph.outputs, element_bytes)};
  work.input_move_ns = dram_move_ns(card, work.input_bytes);
  work.output_move_ns = dram_move_ns(card, work.output_bytes);
  return work;
}

StepTimes::StepTimes(const Device& device)
    : device_(device), costs_(costs_of(device.machine())), seen_(device.trace().size()) {}

void StepTimes::add(const SimulatedStep& step) {
  DeviceStep out{.name = step.node, .op = step.op, .programs = 0};
  const Trace& trace = device_.trace();
  std::vector<TimedProgram> timed;
  for (; seen_ < trace.size(); ++seen_) {
    const TraceRecord& record = trace[seen_];
    if (!is_program(record)) continue;
    ++out.programs;
    const StepTime time = time_of(record, device_.card(), costs_);
    out.kernel_ns += time.ns;
    timed.push_back(
        timed_program(std::string(record.op()), work_of(record, device_.card()).value_or(ProgramWork{}), time));
  }
  out.timed = std::make_shared<const std::vector<TimedProgram>>(std::move(timed));
  if (out.programs > 0) steps_.push_back(std::move(out));
}

NetworkTime::NetworkTime(const QueueOptions& options, const TensixSpec& card, const Graph& graph,
                         const PipelineWork& work)
    : options_(options),
      frames_(batch_of(graph) * options.mesh),
      run_(run_pipeline(host_model(card), work,
                        executor_of({.use_trace = options.metal_trace,
                                     .num_command_queues = options.command_queues,
                                     .all_transfers_on_separate_command_queue = options.separate_transfers}),
                        options.batches, options.mesh)) {
  for (const DeviceStep& step : work.steps)
    if (step.timed)
      for (const TimedProgram& program : *step.timed) basis_ = std::max(basis_, program.time.basis);
}

Table NetworkTime::table() const {
  Table table({{.name = "time of a batch", .key = "part"},
               {.name = "time", .key = "time_ms", .unit = "ms", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "frames/s", .key = "frames_per_s", .align = Align::right},
               {.name = "what"}});
  const EndToEnd& t = run_.time;
  const std::string_view mark = basis_ == TimeBasis::fitted ? "" : " ~";
  const auto row = [&](std::string part, double ns, bool rate, std::string what) {
    const bool kernels = rate || part == "  kernels";
    table.add_row({std::move(part), Cell(ns * 1e-6, fmt::format("{:.3f}{}", ns * 1e-6, kernels ? mark : "")),
                   rate ? Cell() : Cell(ns / t.end_to_end_ns, fmt::format("{:.1f}%", 100 * ns / t.end_to_end_ns)),
                   rate ? Cell(frames_per_s(ns), fmt::format("{:.0f}", frames_per_s(ns))) : Cell(), std::move(what)});
  };
  row("device", t.device_ns, true, "kernels alone");
  row("end to end", t.end_to_end_ns, true, fmt::format("{}, {} batches", name(t.executor), t.batches));
  row("  kernels", t.kernels_ns, false, "cores at work, moves of inputs and outputs included");
  row("  dispatch", t.dispatch_ns, false, "programs and commands on their way to the cores");
  row("  gaps", t.launch_ns, false, "from one operator to the next");
  row("  transfers", t.transfers_ns, false, "inputs and outputs that nothing hides");
  row("  host", t.host_ns, false, "calls that everything waits for");
  return table;
}

std::string NetworkTime::summary() const {
  return fmt::format("simulated; {} at a time on {}; first result after {}; kernels as the table of steps has them\n",
                     counted(frames_, "frame"), counted(options_.mesh, "chip"), format_time(run_.time.latency_ns));
}

nlohmann::json NetworkTime::json() const {
  const EndToEnd& t = run_.time;
  return {{"kind", "simulated"},
          {"executor", name(t.executor)},
          {"batches", t.batches},
          {"chips", t.chips},
          {"frames", frames_},
          {"basis", name(basis_)},
          {"device_ms", t.device_ns * 1e-6},
          {"device_frames_per_s", frames_per_s(t.device_ns)},
          {"end_to_end_ms", t.end_to_end_ns * 1e-6},
          {"end_to_end_frames_per_s", frames_per_s(t.end_to_end_ns)},
          {"latency_ms", t.latency_ns * 1e-6},
          {"parts_ms",
           {{"kernels", t.kernels_ns * 1e-6},
            {"dispatch", t.dispatch_ns * 1e-6},
            {"gaps", t.launch_ns * 1e-6},
            {"transfers", t.transfers_ns * 1e-6},
            {"host", t.host_ns * 1e-6}}}};
}

std::string NetworkTime::trace_events(const std::string& title) const {
  std::vector<TraceEvent> events = timeline_events(run_.queues.timeline(), run_.schedule);
  std::ranges::move(core_events(run_.queues, run_.schedule), std::back_inserter(events));
  return trace_event_json(title, "simulated", events);
}

}  // namespace tessera::tensix
