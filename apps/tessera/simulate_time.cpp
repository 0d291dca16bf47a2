#include "simulate_time.h"

#include "tessera/backends/sim/tensix/kernel_time.h"
#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/report/timeline_events.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::cli {
namespace {

std::int64_t bytes_of(const Graph& graph, const std::vector<ValueId>& values, std::int64_t element_bytes) {
  std::int64_t elements = 0;
  for (const ValueId id : values) elements += graph.value(id).type.shape().volume();
  return elements * element_bytes;
}

std::int64_t batch_of(const Graph& graph) {
  if (graph.inputs.empty()) return 1;
  const Shape shape = graph.value(graph.inputs[0]).type.shape();
  return shape.rank() == 0 ? 1 : std::max<std::int64_t>(1, shape[0]);
}

tensix::PipelineWork work_of(const TensixSpec& card, const Graph& graph, std::vector<tensix::DeviceStep> steps,
                             std::int64_t element_bytes) {
  tensix::PipelineWork work{.steps = std::move(steps),
                            .input_bytes = bytes_of(graph, graph.inputs, element_bytes),
                            .output_bytes = bytes_of(graph, graph.outputs, element_bytes)};
  work.input_move_ns = tensix::dram_move_ns(card, work.input_bytes);
  work.output_move_ns = tensix::dram_move_ns(card, work.output_bytes);
  return work;
}

}  // namespace

void add_time_options(CLI::App& command, TimeArguments& o) {
  command.add_flag("--metal-trace", o.metal_trace, "Replay a trace instead of calling operators one by one");
  command.add_option("--cq", o.command_queues, "Command queues; with 2 the next input is written meanwhile")
      ->check(CLI::Range(1, 2))
      ->default_str("1");
  command.add_flag("--separate-transfers", o.separate_transfers,
                   "Outputs are read through the second queue too (with --metal-trace --cq 2)");
  command.add_option("--mesh", o.mesh, "Chips, each with weights and a batch of its own")
      ->check(CLI::Range(1, 1024))
      ->default_str("1")
      ->type_name("N");
  command.add_option("--batches", o.batches, "Batches that end-to-end time is the average of")
      ->check(CLI::Range(1, 100000))
      ->default_str("32")
      ->type_name("N");
  command
      .add_option("--trace", o.trace, "Write host, queues and cores over time as trace events, which Perfetto opens")
      ->type_name("FILE");
}

StepTimes::StepTimes(const Device& device)
    : device_(device), costs_(tensix::costs_of(device.machine())), seen_(device.trace().size()) {}

void StepTimes::add(const tensix::SimulatedStep& step) {
  tensix::DeviceStep out{.name = step.node, .op = step.op, .programs = 0};
  const Trace& trace = device_.trace();
  for (; seen_ < trace.size(); ++seen_) {
    if (!tensix::is_program(trace[seen_])) continue;
    ++out.programs;
    out.kernel_ns += tensix::time_of(trace[seen_], device_.card(), costs_).ns;
  }
  if (out.programs > 0) steps_.push_back(std::move(out));
}

NetworkTime::NetworkTime(const TimeArguments& arguments, const TensixSpec& card, const Graph& graph,
                         const std::vector<tensix::DeviceStep>& steps, std::int64_t element_bytes)
    : arguments_(arguments),
      frames_(batch_of(graph) * arguments.mesh),
      run_(tensix::run_pipeline(
          tensix::host_model(card), work_of(card, graph, steps, element_bytes),
          tensix::executor_of({.use_trace = arguments.metal_trace,
                               .num_command_queues = arguments.command_queues,
                               .all_transfers_on_separate_command_queue = arguments.separate_transfers}),
          arguments.batches, arguments.mesh)) {}

Table NetworkTime::table() const {
  Table table({{.name = "time of a batch", .key = "part"},
               {.name = "time", .key = "time_ms", .unit = "ms", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "frames/s", .key = "frames_per_s", .align = Align::right},
               {.name = "what"}});
  const tensix::EndToEnd& t = run_.time;
  const auto row = [&](std::string part, double ns, bool rate, std::string what) {
    table.add_row({std::move(part), Cell(ns * 1e-6, fmt::format("{:.3f}", ns * 1e-6)),
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
  write_file_atomically(arguments_.trace,
                        trace_event_json(title, "simulated", timeline_events(run_.queues.timeline(), run_.schedule)));
}

}  // namespace tessera::cli
