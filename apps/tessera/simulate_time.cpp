#include "simulate_time.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/report/timeline_events.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace tessera::cli {
namespace {

std::int64_t bytes_of(const Graph& graph, const std::vector<ValueId>& values, std::int64_t element_bytes) {
  std::int64_t elements = 0;
  for (const ValueId id : values) elements += graph.value(id).type.shape().volume();
  return elements * element_bytes;
}

// N, or ROWSxCOLUMNS.
void read_mesh(const std::string& text, TimeArguments& out) {
  const std::size_t by = text.find('x');
  const auto extent = [&](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > 1024)
      throw CLI::ValidationError("--mesh", fmt::format("'{}' is no number from 1 to 1024, nor two of them with an x "
                                                       "between: --mesh 8, --mesh 8x4",
                                                       text));
    return value;
  };
  const std::string_view whole = text;
  out.mesh_is_grid = by != std::string::npos;
  out.mesh = out.mesh_is_grid ? extent(whole.substr(0, by)) * extent(whole.substr(by + 1)) : extent(whole);
}

// Rows of cores: one of each kind stands for all. They are the same in every batch, so that the first does.
std::vector<TraceEvent> core_events(const tensix::CommandQueues& queues, const sim::Schedule& schedule) {
  std::map<tensix::CoreTrack, std::vector<TraceEvent>> tracks;
  std::set<const tensix::TimedProgram*> drawn;
  for (const tensix::CommandQueues::ProgramRun& run : queues.programs_run()) {
    const tensix::TimedProgram& program = (*run.step)[run.program];
    if (!drawn.insert(&program).second) continue;
    const double begin_ns = sim::ns_of(schedule.tasks[sim::index(run.task)].start_ps);
    const std::string& node = queues.timeline().label(run.task);
    for (const tensix::CoreSpan& span : tensix::core_tracks(program)) {
      TraceEvent event{.name = fmt::format("{}: {}", program.op, span.what),
                       .category = "core",
                       .lane = std::string(tensix::name(span.track)),
                       .begin_us = (begin_ns + span.begin_ns) * 1e-3,
                       .duration_us = (span.end_ns - span.begin_ns) * 1e-3,
                       .details = {}};
      event.details["node"] = node;
      event.details["cores"] = fmt::format("{}", program.cores);
      event.details["bound by"] = program.time.bound_by;
      event.details["basis"] = name(program.time.basis);
      tracks[span.track].push_back(std::move(event));
    }
  }
  std::vector<TraceEvent> events;
  for (auto& [track, each] : tracks) std::ranges::move(each, std::back_inserter(events));
  return events;
}

}  // namespace

std::int64_t batch_of(const Graph& graph) {
  if (graph.inputs.empty()) return 1;
  const Shape shape = graph.value(graph.inputs[0]).type.shape();
  return shape.rank() == 0 ? 1 : std::max<std::int64_t>(1, shape[0]);
}

tensix::PipelineWork pipeline_work(const TensixSpec& card, const Graph& graph, std::vector<tensix::DeviceStep> steps,
                                   std::int64_t element_bytes) {
  tensix::PipelineWork work{.steps = std::move(steps),
                            .input_bytes = bytes_of(graph, graph.inputs, element_bytes),
                            .output_bytes = bytes_of(graph, graph.outputs, element_bytes)};
  work.input_move_ns = tensix::dram_move_ns(card, work.input_bytes);
  work.output_move_ns = tensix::dram_move_ns(card, work.output_bytes);
  return work;
}

void add_time_options(CLI::App& command, TimeArguments& o) {
  command.add_flag("--metal-trace", o.metal_trace, "Replay a trace instead of calling operators one by one");
  command.add_option("--cq", o.command_queues, "Command queues; with 2 the next input is written meanwhile")
      ->check(CLI::Range(1, 2))
      ->default_str("1");
  command.add_flag("--separate-transfers", o.separate_transfers,
                   "Outputs are read through the second queue too (with --metal-trace --cq 2)");
  command
      .add_option_function<std::string>(
          "--mesh", [&o](const std::string& text) { read_mesh(text, o); },
          "Chips, each with weights and a batch of its own; ROWSxCOLUMNS simulates their hosts as well")
      ->default_str("1")
      ->type_name("N|RxC");
  command.add_option("--batches", o.batches, "Batches that end-to-end time is the average of")
      ->check(CLI::Range(1, 100000))
      ->default_str("32")
      ->type_name("N");
  command
      .add_option("--trace", o.trace, "Write host, queues and cores over time as trace events, which Perfetto opens")
      ->type_name("FILE");
}

StepTimes::StepTimes(const tensix::Device& device)
    : device_(device), costs_(tensix::costs_of(device.machine())), seen_(device.trace().size()) {}

void StepTimes::add(const tensix::SimulatedStep& step) {
  tensix::DeviceStep out{.name = step.node, .op = step.op, .programs = 0};
  const tensix::Trace& trace = device_.trace();
  std::vector<tensix::TimedProgram> timed;
  for (; seen_ < trace.size(); ++seen_) {
    const tensix::TraceRecord& record = trace[seen_];
    if (!tensix::is_program(record)) continue;
    ++out.programs;
    const tensix::StepTime time = tensix::time_of(record, device_.card(), costs_);
    out.kernel_ns += time.ns;
    timed.push_back(tensix::timed_program(
        std::string(record.op()), tensix::work_of(record, device_.card()).value_or(tensix::ProgramWork{}), time));
  }
  out.timed = std::make_shared<const std::vector<tensix::TimedProgram>>(std::move(timed));
  if (out.programs > 0) steps_.push_back(std::move(out));
}

NetworkTime::NetworkTime(const TimeArguments& arguments, const TensixSpec& card, const Graph& graph,
                         const tensix::PipelineWork& work)
    : arguments_(arguments),
      frames_(batch_of(graph) * arguments.mesh),
      run_(tensix::run_pipeline(
          tensix::host_model(card), work,
          tensix::executor_of({.use_trace = arguments.metal_trace,
                               .num_command_queues = arguments.command_queues,
                               .all_transfers_on_separate_command_queue = arguments.separate_transfers}),
          arguments.batches, arguments.mesh)) {
  for (const tensix::DeviceStep& step : work.steps)
    if (step.timed)
      for (const tensix::TimedProgram& program : *step.timed) basis_ = std::max(basis_, program.time.basis);
}

Table NetworkTime::table() const {
  Table table({{.name = "time of a batch", .key = "part"},
               {.name = "time", .key = "time_ms", .unit = "ms", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "frames/s", .key = "frames_per_s", .align = Align::right},
               {.name = "what"}});
  const tensix::EndToEnd& t = run_.time;
  const std::string_view mark = basis_ == tensix::TimeBasis::fitted ? "" : " ~";
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
  return fmt::format(
      "simulated; {} frames at a time on {} chip{}; first result after {}; kernels as the table of steps has them\n",
      frames_, arguments_.mesh, arguments_.mesh == 1 ? "" : "s", format_time(run_.time.latency_ns));
}

nlohmann::json NetworkTime::json() const {
  const tensix::EndToEnd& t = run_.time;
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

void NetworkTime::write_trace(const std::string& title) const {
  if (arguments_.trace.empty()) return;
  std::vector<TraceEvent> events = timeline_events(run_.queues.timeline(), run_.schedule);
  std::ranges::move(core_events(run_.queues, run_.schedule), std::back_inserter(events));
  write_file_atomically(arguments_.trace, trace_event_json(title, "simulated", events));
}

}  // namespace tessera::cli
