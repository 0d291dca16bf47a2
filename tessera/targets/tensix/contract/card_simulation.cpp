#include "tessera/targets/tensix/contract/card_simulation.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/file_system.h"
#include "tessera/core/text.h"
#include "tessera/report/difference.h"
#include "tessera/report/table.h"
#include "tessera/report/table_rows.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/memory_report.h"
#include "tessera/targets/tensix/contract/network_time.h"
#include "tessera/targets/tensix/plan/run_plan.h"
#include "tessera/targets/tensix/time/card_work.h"
#include "tessera/targets/tensix/views/l1_timeline_picture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace tessera::tensix {
namespace {

struct SimulatedRow {
  SimulatedStep step;
  std::optional<double> pcc;
};

Cell step_bytes_cell(std::int64_t bytes) { return bytes == 0 ? Cell(bytes, "-") : Cell(bytes, format_count(bytes)); }
Cell pcc_cell(const std::optional<double>& pcc) { return pcc ? Cell(*pcc, fmt::format("{:.6f}", *pcc)) : Cell(); }

Table simulated_step_table(const std::vector<SimulatedRow>& rows, bool with_pcc) {
  const auto bytes = [](std::string name, std::string key) {
    return Column{std::move(name), std::move(key), "B", Align::right};
  };
  std::vector<Column> columns{{.name = "step", .align = Align::right},
                              {.name = "node"},
                              {.name = "op"},
                              {.name = "config"},
                              {.name = "cores", .align = Align::right},
                              bytes("CBs", "circular_buffer_bytes"),
                              bytes("halo", "halo_bytes"),
                              bytes("output", "output_bytes"),
                              bytes("L1 peak", "l1_peak_bytes"),
                              bytes("L1_SMALL", "l1_small_bytes"),
                              {.name = "time", .key = "kernel_ns", .align = Align::right},
                              {.name = "basis"},
                              {.name = "share", .align = Align::right},
                              {.name = "bound by", .key = "bound_by"},
                              {.name = "of roof", .key = "roof_fraction", .align = Align::right},
                              {.name = "result"}};
  if (with_pcc) columns.push_back({.name = "PCC", .key = "pcc", .align = Align::right});
  columns.push_back({.name = "note"});
  Table table(std::move(columns));
  double total_ns = 0;
  for (const SimulatedRow& row : rows) total_ns += row.step.time.ns;
  const auto percent = [](double share) { return Cell(share, fmt::format("{:.1f}%", 100 * share)); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SimulatedStep& s = rows[i].step;
    const bool timed = s.time.ns > 0;
    std::vector<Cell> cells{static_cast<std::int64_t>(i + 1),
                            s.node,
                            s.op,
                            s.config,
                            s.cores == 0 ? Cell() : Cell(s.cores),
                            step_bytes_cell(s.circular_buffer_bytes),
                            step_bytes_cell(s.halo_bytes),
                            step_bytes_cell(s.output_bytes),
                            step_bytes_cell(s.l1_peak_bytes),
                            step_bytes_cell(s.l1_small_bytes),
                            timed ? Cell(s.time.ns, format_time(s.time.ns) + (s.time.fitted() ? "" : " ~")) : Cell(),
                            timed ? Cell(name(s.time.basis)) : Cell(),
                            timed ? percent(s.time.ns / total_ns) : Cell(),
                            timed ? Cell(name(s.time.bound_by)) : Cell(),
                            timed ? percent(s.time.roof_fraction()) : Cell(),
                            s.result};
    if (with_pcc) cells.push_back(pcc_cell(rows[i].pcc));
    cells.emplace_back(s.note);
    table.add_row(std::move(cells));
  }
  return table;
}

struct ComparedOutput {
  std::string output;
  Difference difference;
};

Table compared_output_table(const std::vector<ComparedOutput>& outputs) {
  Table table({{.name = "output"},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "max relative error", .key = "max_relative_error", .align = Align::right}});
  for (const ComparedOutput& each : outputs)
    table.add_row({each.output, pcc_cell(each.difference.pcc),
                   Cell(each.difference.max_relative, fmt::format("{:.4g}", each.difference.max_relative))});
  return table;
}

// A config for a node that is not there is a mistake of spelling.
void check_names(const LayerConfigs& configs, const LoweredGraph& network) {
  for (const auto& [node, config] : configs) {
    const bool known = node == "*" || std::any_of(network.nodes.begin(), network.nodes.end(),
                                                  [&, &n = node](const LoweredNode& each) { return each.name == n; });
    check(known, Code::not_found, Hint{"the column `node` of the table has the names"},
          "the configs name a node '{}', which is not among those that run on the card", node);
  }
}

std::string file_prefix(std::size_t number, const SimulatedStep& step) {
  std::string text = fmt::format("{:03}_{}_{}_", number, step.op, step.node);
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '_';
  return text;
}

std::string simulation_summary(const Simulation& done, const Device& device, const std::vector<SimulatedRow>& rows,
                               double seconds) {
  const SimulatedRow* fullest = nullptr;
  std::size_t spilled = 0;
  for (const SimulatedRow& row : rows) {
    if (fullest == nullptr || row.step.l1_peak_bytes > fullest->step.l1_peak_bytes) fullest = &row;
    spilled += row.step.move == MoveKind::spill;
  }
  std::string text = fmt::format("\n{}: simulated, {} programs", device.machine().title, done.timeline.programs.size());
  if (fullest != nullptr)
    text += fmt::format(
        "; most L1 in '{}': {} of {} B on a core ({:.0f} %)", fullest->step.node,
        format_count(fullest->step.l1_peak_bytes), format_count(done.timeline.limit_bytes()),
        100.0 * static_cast<double>(fullest->step.l1_peak_bytes) / static_cast<double>(done.timeline.limit_bytes()));
  text += fmt::format("; {} of {} B of L1_SMALL", format_count(rows.empty() ? 0 : rows.back().step.l1_small_bytes),
                      format_count(device.options().l1_small_bytes));
  if (spilled > 0) text += fmt::format("; {} to DRAM", counted(spilled, "spill"));
  if (!device.options().values) text += "\nmemory only (--null): nothing was computed, so there are no outputs";
  double kernels = 0;
  std::int64_t programs = 0;
  for (const SimulatedRow& row : rows) kernels += row.step.time.ns, programs += row.step.programs;
  if (kernels > 0)
    text += fmt::format(
        "\n{} of kernels on the device in {} programs, predicted; ~ marks times with a part that was not "
        "measured on this generation of cards (docs/time.md)",
        format_time(kernels), programs);
  return text + fmt::format("\n{:.1f} s on this machine; CBs, halo, output and L1 are bytes of a core\n", seconds);
}

// What a plan has settled.
void check_not_planned(const SimulateRequest& request, const CardPlan& plan) {
  for (const auto& [option, given] :
       {std::pair("--dtype", request.dtype.has_value()),
        std::pair("--weights-dtype", request.weights_dtype.has_value()),
        std::pair("--fidelity", request.fidelity.has_value()), std::pair("--fp32-dest-acc", request.fp32_dest_acc),
        std::pair("--packer-l1-acc", request.packer_l1_acc),
        std::pair("--l1-small", request.l1_small_bytes.has_value()),
        std::pair("--layer-configs", !request.layer_configs.empty()), std::pair("--fallback", request.host_fallback)})
    check(!given, Code::invalid_argument, Hint{"tessera plan makes another plan"},
          "{} is what the plan for {} says already", option, plan.model);
}

SimulateOptions simulate_options(const SimulateRequest& request) {
  SimulateOptions options;
  options.dtype = request.dtype.value_or(options.dtype);
  options.weights_dtype = request.weights_dtype.value_or(options.weights_dtype);
  options.compute.fidelity = MathFidelity::hifi4;
  for (const MathFidelity f : {MathFidelity::lofi, MathFidelity::hifi2, MathFidelity::hifi3, MathFidelity::hifi4})
    if (request.fidelity && name(f) == *request.fidelity) options.compute.fidelity = f;
  options.compute.fp32_dest_acc_en = request.fp32_dest_acc;
  options.compute.packer_l1_acc = request.packer_l1_acc;
  if (!request.layer_configs.empty())
    options.layers = with_context(fmt::format("while reading {}", request.layer_configs.string()),
                                  [&] { return parse_layer_configs(read_text_file(request.layer_configs)); });
  return options;
}

QueueOptions queue_options(const SimulateRequest& request, const CardPlan* plan) {
  QueueOptions planned;
  if (plan != nullptr)
    planned = {.metal_trace = plan->metal_trace,
               .separate_transfers = plan->separate_transfers,
               .command_queues = plan->command_queues,
               .mesh = static_cast<int>(plan->request.mesh)};
  return {.metal_trace = request.metal_trace.value_or(planned.metal_trace),
          .separate_transfers = request.separate_transfers.value_or(planned.separate_transfers),
          .command_queues = request.command_queues.value_or(planned.command_queues),
          .mesh = request.mesh.value_or(planned.mesh),
          .batches = request.batches};
}

class CardSimulatedRun : public SimulatedRun {
 public:
  CardSimulatedRun(const LoadedNetwork& network, const CardNetworkPlan* plan, const Machine& machine,
                   const SimulateRequest& request, const SimulateHooks& hooks)
      : request_(request), planned_(plan != nullptr), name_(network.name) {
    const CardPlan* card_plan = planned_ ? &plan->card_plan() : nullptr;
    if (planned_) check_not_planned(request, *card_plan);
    queues_ = queue_options(request, card_plan);
    const SimulateOptions options = simulate_options(request);
    l1_small_bytes_ = planned_ ? card_plan->request.l1_small_bytes : request.l1_small_bytes.value_or(32768);
    device_ = Device::open(machine, {.l1_small_bytes = l1_small_bytes_, .values = request.values});
    title_ = fmt::format("{} on {}", name_, machine.title);
    const LoweredGraph lowered =
        planned_ ? plan->network() : lower(network.graph, {.host_fallback = request.host_fallback});
    check_names(options.layers, lowered);
    StepTimes times(*device_);
    simulate_steps(network, lowered, card_plan, options, hooks, times);
    write_reports();
    const std::int64_t io_bytes = options.dtype == DType::float32 ? 4 : 2;
    // A pass after the other goes through the queues.
    work_.graph = planned_ && card_plan->pass_images > 0 ? pass_network(lowered, *card_plan).graph : network.graph;
    work_.pipeline = card_pipeline_work(device_->card(), work_.graph, times.steps(), io_bytes);
    if (planned_) work_.pipeline.input_move_ns = 0;  // its own steps fetch what they read, as the planner counts it
    work_.weights_dtype = options.weights_dtype;
  }

  View shown() const override {
    const NetworkTime time = network_time();
    const Table steps = step_table(), outputs = compared_output_table(compared_);
    const auto choice = [&](const std::string& text) { return planned_ ? "as planned" : text; };
    const nlohmann::json out = {
        {"schema", 1},
        {"model", name_},
        {"device", device_->machine().name},
        {"dtype", choice(std::string(name(request_.dtype.value_or(SimulateOptions{}.dtype))))},
        {"weights_dtype", choice(std::string(name(request_.weights_dtype.value_or(SimulateOptions{}.weights_dtype))))},
        {"fidelity", choice(request_.fidelity.value_or("HiFi4"))},
        {"values", request_.values},
        {"l1_limit_bytes", done_.timeline.limit_bytes()},
        {"programs", done_.timeline.programs.size()},
        {"time", time.json()},
        {"steps", table_rows(steps)},
        {"outputs", table_rows(outputs)}};
    View view;
    view.parts.push_back({.table = steps});
    if (!compared_.empty()) view.parts.push_back({.table = outputs});
    view.parts.push_back({.table = time.table(),
                          .after = time.summary() +
                                   (compared_.empty() ? "" : "against the same network in float32 on this machine\n") +
                                   simulation_summary(done_, *device_, rows_, seconds_)});
    view.json = out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    return view;
  }

  const RunResult& result() const override { return result_; }
  std::string trace_events() const override { return network_time().trace_events(title_); }
  std::string memory_svg() const override { return l1_timeline_svg(done_.timeline, title_); }
  std::string memory_html() const override { return l1_timeline_html(done_.timeline, title_, step_table()); }
  const DeviceWork& work() const override { return work_; }

 private:
  NetworkTime network_time() const { return {queues_, device_->card(), work_.graph, work_.pipeline}; }
  Table step_table() const { return simulated_step_table(rows_, request_.pcc); }

  void simulate_steps(const LoadedNetwork& network, const LoweredGraph& lowered, const CardPlan* plan,
                      SimulateOptions options, const SimulateHooks& hooks, StepTimes& times) {
    ReferenceValues expected;
    if (request_.values)
      expected = request_.pcc ? hooks.reference(lowered.graph, network.inputs, ReferenceDepth::values)
                              : hooks.reference(network.graph, network.inputs, ReferenceDepth::outputs);
    std::size_t done_nodes = 0;
    options.on_step = [&](const SimulatedStep& step) {
      rows_.push_back({step, std::nullopt});
      times.add(step);
      if (!request_.memory_reports.empty())
        dump_device_memory_state(*device_, file_prefix(rows_.size(), step), request_.memory_reports);
      if (!step.move && hooks.on_progress) hooks.on_progress(++done_nodes, lowered.nodes.size(), step.node);
    };
    if (request_.pcc)
      options.on_result = [&](const LoweredNode& node, const Array& found) {
        const auto there = expected.values.find(lowered.graph.value(node.outputs[0]).name);
        if (there != expected.values.end()) rows_.back().pcc = difference(found, there->second).pcc;
      };
    const auto begin = std::chrono::steady_clock::now();
    try {
      done_ = plan != nullptr ? run_plan(device_, lowered, *plan, network.inputs,
                                         {.on_step = options.on_step, .on_result = options.on_result})
                              : tensix::simulate(device_, lowered, network.inputs, options);
    } catch (const Error&) {
      if (hooks.on_failed && !rows_.empty()) hooks.on_failed(step_table());
      throw;
    }
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (std::size_t i = 0; i < done_.outputs.size(); ++i)
      compared_.push_back(
          {network.graph.value(network.graph.outputs[i]).name, difference(done_.outputs[i], expected.outputs[i])});
    result_ = {.outputs = done_.outputs, .trace = run_trace_of(done_.steps)};
  }

  void write_reports() const {
    if (request_.memory_reports.empty()) return;
    make_folders(request_.memory_reports);
    write_file_atomically(request_.memory_reports / "l1_timeline.svg", memory_svg());
    write_file_atomically(request_.memory_reports / "steps.csv", render_csv(step_table()));
  }

  SimulateRequest request_;
  bool planned_ = false;
  std::string name_, title_;
  QueueOptions queues_;
  std::int64_t l1_small_bytes_ = 0;
  std::shared_ptr<Device> device_;
  std::vector<SimulatedRow> rows_;
  std::vector<ComparedOutput> compared_;
  Simulation done_;
  double seconds_ = 0;
  CardWork work_;
  RunResult result_;
};

}  // namespace

std::unique_ptr<SimulatedRun> simulate_on_card(const LoadedNetwork& network, const CardNetworkPlan* plan,
                                               const Machine& machine, const SimulateRequest& request,
                                               const SimulateHooks& hooks) {
  return std::make_unique<CardSimulatedRun>(network, plan, machine, request, hooks);
}

RunTrace run_trace_of(const std::vector<SimulatedStep>& steps) {
  RunTrace trace;
  for (const SimulatedStep& step : steps) {
    const double begin = trace.seconds;
    trace.seconds += step.time.ns * 1e-9;
    trace.steps.push_back(
        {.node = step.node, .op = step.op, .config = step.config, .begin_s = begin, .end_s = trace.seconds});
  }
  return trace;
}

}  // namespace tessera::tensix
