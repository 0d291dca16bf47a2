// tessera simulate: a whole network on a simulated card, operator by operator.

#include "card_plan_argument.h"
#include "command.h"
#include "model_argument.h"
#include "number_argument.h"
#include "progress.h"
#include "simulate_fleet.h"
#include "simulate_time.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/difference.h"
#include "tessera/report/units.h"
#include "tessera/session/session.h"
#include "tessera/targets/tensix/card/memory_report.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/plan/run_plan.h"
#include "tessera/targets/tensix/views/l1_timeline_picture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

using tensix::SimulatedStep;

struct SimulateArguments {
  ModelArgument model;
  std::string device, dtype = "bfloat16", weights_dtype = "bfloat8_b", fidelity = "HiFi4", config, html, svg, reports,
                      fallback, network, fleet_device;
  std::int64_t l1_small_bytes = 32768;
  TimeArguments time;
  FleetArguments fleet;
  bool values = false, null = false, fp32_dest_acc = false, packer_l1_acc = false, pcc = false;
  std::vector<CLI::Option*> planned;  // what a plan says already

  // How a plan has it, where nothing else was said.
  void take(const tensix::CardPlan& plan, const CLI::App& command) {
    for (const CLI::Option* option : planned)
      check(option->count() == 0, Code::invalid_argument, Hint{"tessera plan makes another plan"},
            "{} is what {} says already", option->get_name(), model.model);
    l1_small_bytes = plan.request.l1_small_bytes;
    if (command.count("--metal-trace") == 0) time.metal_trace = plan.metal_trace;
    if (command.count("--cq") == 0) time.command_queues = plan.command_queues;
    if (command.count("--separate-transfers") == 0) time.separate_transfers = plan.separate_transfers;
    if (command.count("--mesh") == 0 && fleet.cards.empty()) time.mesh = static_cast<int>(plan.request.mesh);
  }
};

struct Row {
  SimulatedStep step;
  std::optional<double> pcc;
};

Cell bytes_cell(std::int64_t bytes) { return bytes == 0 ? Cell(bytes, "-") : Cell(bytes, format_count(bytes)); }
Cell pcc_cell(const std::optional<double>& pcc) { return pcc ? Cell(*pcc, fmt::format("{:.6f}", *pcc)) : Cell(); }

Table step_table(const std::vector<Row>& rows, bool with_pcc) {
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
  for (const Row& row : rows) total_ns += row.step.time.ns;
  const auto percent = [](double share) { return Cell(share, fmt::format("{:.1f}%", 100 * share)); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SimulatedStep& s = rows[i].step;
    const bool timed = s.time.ns > 0;
    std::vector<Cell> cells{static_cast<std::int64_t>(i + 1),
                            s.node,
                            s.op,
                            s.config,
                            s.cores == 0 ? Cell() : Cell(s.cores),
                            bytes_cell(s.circular_buffer_bytes),
                            bytes_cell(s.halo_bytes),
                            bytes_cell(s.output_bytes),
                            bytes_cell(s.l1_peak_bytes),
                            bytes_cell(s.l1_small_bytes),
                            timed ? Cell(s.time.ns, format_time(s.time.ns) + (s.time.fitted() ? "" : " ~")) : Cell(),
                            timed ? Cell(name(s.time.basis)) : Cell(),
                            timed ? percent(s.time.ns / total_ns) : Cell(),
                            timed ? Cell(s.time.bound_by) : Cell(),
                            timed ? percent(s.time.roof_fraction()) : Cell(),
                            s.result};
    if (with_pcc) cells.push_back(pcc_cell(rows[i].pcc));
    cells.emplace_back(s.note);
    table.add_row(std::move(cells));
  }
  return table;
}

struct Compared {
  std::string output;
  Difference difference;
};

Table output_table(const std::vector<Compared>& outputs) {
  Table table({{.name = "output"},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "max relative error", .key = "max_relative_error", .align = Align::right}});
  for (const Compared& each : outputs)
    table.add_row({each.output, pcc_cell(each.difference.pcc),
                   Cell(each.difference.max_relative, fmt::format("{:.4g}", each.difference.max_relative))});
  return table;
}

DType dtype_of(const std::string& text) {
  const std::optional<DType> dtype = parse_dtype(text);
  check(dtype.has_value(), Code::invalid_argument, "there is no dtype '{}'", text);
  return *dtype;
}

tensix::SimulateOptions options_of(const SimulateArguments& arguments) {
  tensix::SimulateOptions options;
  options.dtype = dtype_of(arguments.dtype);
  options.weights_dtype = dtype_of(arguments.weights_dtype);
  for (const tensix::MathFidelity f : {tensix::MathFidelity::lofi, tensix::MathFidelity::hifi2,
                                       tensix::MathFidelity::hifi3, tensix::MathFidelity::hifi4})
    if (name(f) == arguments.fidelity) options.compute.fidelity = f;
  options.compute.fp32_dest_acc_en = arguments.fp32_dest_acc;
  options.compute.packer_l1_acc = arguments.packer_l1_acc;
  if (!arguments.config.empty())
    options.layers = with_context(fmt::format("while reading {}", arguments.config),
                                  [&] { return tensix::parse_layer_configs(read_text_file(arguments.config)); });
  return options;
}

// A config for a node that is not there is a mistake of spelling.
void check_names(const tensix::LayerConfigs& configs, const tensix::LoweredGraph& network) {
  for (const auto& [node, config] : configs) {
    const bool known =
        node == "*" || std::any_of(network.nodes.begin(), network.nodes.end(),
                                   [&, &n = node](const tensix::LoweredNode& each) { return each.name == n; });
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

// By the same graph in float32, on this machine.
class Reference {
 public:
  Reference(const Model& model, const tensix::LoweredGraph& network, bool inside) {
    if (!inside) {
      outputs = Session(model.graph).run(model.inputs);
      return;
    }
    SessionOptions plain;
    for (const Pass& pass : all_passes())
      if (pass.name != "constant_folding") plain.passes_off.emplace_back(pass.name);
    plain.passes_off.emplace_back(kChainPass);
    const Session session(network.graph, plain);
    session.observe(model.inputs, [&](const std::string& value, const Array& x) { values.insert_or_assign(value, x); });
    outputs = session.run(model.inputs);
  }
  std::vector<Array> outputs;
  std::map<std::string, Array> values;
};

void write_files(const SimulateArguments& arguments, const tensix::L1Timeline& timeline, const std::string& title,
                 const Table& steps) {
  if (!arguments.svg.empty()) write_file_atomically(arguments.svg, tensix::l1_timeline_svg(timeline, title));
  if (!arguments.html.empty()) write_file_atomically(arguments.html, tensix::l1_timeline_html(timeline, title, steps));
  if (arguments.reports.empty()) return;
  const std::filesystem::path folder = arguments.reports;
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "l1_timeline.svg", tensix::l1_timeline_svg(timeline, title));
  write_file_atomically(folder / "steps.csv", render_csv(steps));
}

std::string summary(const tensix::Simulation& done, const tensix::Device& device, const std::vector<Row>& rows,
                    double seconds) {
  const Row* fullest = nullptr;
  std::size_t spilled = 0;
  for (const Row& row : rows) {
    if (fullest == nullptr || row.step.l1_peak_bytes > fullest->step.l1_peak_bytes) fullest = &row;
    spilled += row.step.move == tensix::MoveKind::spill;
  }
  std::string text = fmt::format("\n{}: simulated, {} programs", device.machine().title, done.timeline.programs.size());
  if (fullest != nullptr)
    text += fmt::format(
        "; most L1 in '{}': {} of {} B on a core ({:.0f} %)", fullest->step.node,
        format_count(fullest->step.l1_peak_bytes), format_count(done.timeline.limit_bytes()),
        100.0 * static_cast<double>(fullest->step.l1_peak_bytes) / static_cast<double>(done.timeline.limit_bytes()));
  text += fmt::format("; {} of {} B of L1_SMALL", format_count(rows.empty() ? 0 : rows.back().step.l1_small_bytes),
                      format_count(device.options().l1_small_bytes));
  if (spilled > 0) text += fmt::format("; {} spill{} to DRAM", spilled, spilled == 1 ? "" : "s");
  if (!device.options().values) text += "\nmemory only (--null): nothing was computed, so there are no outputs";
  double kernels = 0;
  std::int64_t programs = 0;
  for (const Row& row : rows) kernels += row.step.time.ns, programs += row.step.programs;
  if (kernels > 0)
    text += fmt::format(
        "\n{} of kernels on the device in {} programs, predicted; ~ marks times with a part that was not "
        "measured on this generation of cards (docs/time.md)",
        format_time(kernels), programs);
  return text + fmt::format("\n{:.1f} s on this machine; CBs, halo, output and L1 are bytes of a core\n", seconds);
}

PlannedModel load_lowered(const SimulateArguments& arguments, const CardPlanArgument* plan) {
  if (plan != nullptr) {
    ModelArgument given = arguments.model;
    given.model = arguments.network;
    return load_planned_model(*plan, given);
  }
  PlannedModel out{load_model(arguments.model), {}};
  out.network = tensix::lower(out.model.graph, {.host_fallback = arguments.fallback == "host"});
  return out;
}

// As a plan says, or as the operators themselves choose.
void simulate_model(SimulateArguments& arguments, const CardPlanArgument* plan, const Context& context) {
  check(!arguments.values || !arguments.null, Code::invalid_argument, "--values and --null exclude each other");
  check(!arguments.pcc || !arguments.null, Code::invalid_argument, "--pcc needs values, --null computes none");
  tensix::SimulateOptions options = options_of(arguments);
  const Machine machine = plan ? plan->machine : load_machine(arguments.device);
  // A plan is for a card, which a fleet may have many of.
  const Machine fleet_machine =
      plan && !arguments.fleet_device.empty() ? load_machine(arguments.fleet_device) : machine;
  const bool fleet = wants_fleet(arguments.fleet, arguments.time, fleet_machine);
  if (fleet && !arguments.values && !arguments.pcc) arguments.null = true;  // it is times that are asked for
  const std::shared_ptr<tensix::Device> device =
      tensix::Device::open(machine, {.l1_small_bytes = arguments.l1_small_bytes, .values = !arguments.null});
  const auto [model, network] = load_lowered(arguments, plan);
  check_names(options.layers, network);
  std::optional<Reference> reference;
  if (!arguments.null) reference.emplace(model, network, arguments.pcc);

  Progress progress("simulating " + model.name, network.nodes.size(), context.quiet);
  std::vector<Row> rows;
  std::size_t done_nodes = 0;
  StepTimes times(*device);
  options.on_step = [&](const SimulatedStep& step) {
    rows.push_back({step, std::nullopt});
    times.add(step);
    if (!arguments.reports.empty())
      tensix::dump_device_memory_state(*device, file_prefix(rows.size(), step), arguments.reports);
    if (!step.move) progress.at(++done_nodes, step.node);
  };
  if (arguments.pcc)
    options.on_result = [&, &lowered = network](const tensix::LoweredNode& node, const Array& found) {
      const auto there = reference->values.find(lowered.graph.value(node.outputs[0]).name);
      if (there != reference->values.end()) rows.back().pcc = difference(found, there->second).pcc;
    };
  const bool for_people = context.format == Format::table || context.format == Format::markdown;
  const auto begin = std::chrono::steady_clock::now();
  tensix::Simulation done;
  try {
    done = plan != nullptr ? tensix::run_plan(device, network, plan->plan, model.inputs,
                                              {.on_step = options.on_step, .on_result = options.on_result})
                           : tensix::simulate(device, network, model.inputs, options);
  } catch (const Error&) {
    if (for_people && !rows.empty()) {  // how far it came
      context.print(step_table(rows, arguments.pcc));
      context.print("\n");
    }
    throw;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  std::vector<Compared> compared;
  for (std::size_t i = 0; i < done.outputs.size(); ++i)
    compared.push_back(
        {model.graph.value(model.graph.outputs[i]).name, difference(done.outputs[i], reference->outputs[i])});
  const Table table = step_table(rows, arguments.pcc);
  const std::string title = fmt::format("{} on {}", model.name, device->machine().title);
  write_files(arguments, done.timeline, title, table);
  const std::int64_t io_bytes = options.dtype == DType::float32 ? 4 : 2;
  // A pass after the other goes through the queues.
  const bool in_passes = plan != nullptr && plan->plan.pass_images > 0;
  const Graph timed = in_passes ? tensix::pass_network(network, plan->plan).graph : model.graph;
  tensix::PipelineWork work = pipeline_work(device->card(), timed, times.steps(), io_bytes);
  if (plan != nullptr) work.input_move_ns = 0;  // its own steps fetch what they read, as the planner counts it
  if (fleet) {
    check_shards(arguments.fleet, arguments.time, fleet_machine, timed);
    return simulate_fleet(arguments.fleet, arguments.time, fleet_machine,
                          {.name = model.name,
                           .graph = timed,
                           .work = std::move(work),
                           .weights_dtype = options.weights_dtype,
                           .seed = arguments.model.seed},
                          context);
  }
  const NetworkTime time(arguments.time, device->card(), timed, work);
  time.write_trace(title);
  if (context.format == Format::json) {
    const auto parsed = [](const Table& t) { return nlohmann::json::parse(render_json(t))["rows"]; };
    const nlohmann::json out = {{"schema", 1},
                                {"model", model.name},
                                {"device", device->machine().name},
                                {"dtype", plan ? "as planned" : arguments.dtype},
                                {"weights_dtype", plan ? "as planned" : arguments.weights_dtype},
                                {"fidelity", plan ? "as planned" : arguments.fidelity},
                                {"values", !arguments.null},
                                {"l1_limit_bytes", done.timeline.limit_bytes()},
                                {"programs", done.timeline.programs.size()},
                                {"time", time.json()},
                                {"steps", parsed(table)},
                                {"outputs", parsed(output_table(compared))}};
    return context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  context.print(table);
  if (!for_people) return;
  if (!compared.empty()) {
    context.print("\n");
    context.print(output_table(compared));
  }
  context.print("\n");
  context.print(time.table());
  if (context.quiet) return;
  context.print(time.summary());
  if (!compared.empty()) context.print("against the same network in float32 on this machine\n");
  context.print(summary(done, *device, rows, seconds));
}

}  // namespace

void add_simulate(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Run a network on a simulated card: values by its arithmetic, L1 by its addresses, step by step");
  auto o = std::make_shared<SimulateArguments>();
  add_model_argument(*command, o->model);
  command
      ->add_option(
          "--device", o->device,
          "A Wormhole or Blackhole machine or fleet that `tessera machines` lists, or a machine file; a plan has its "
          "own, and takes a fleet")
      ->type_name("NAME");
  command->add_option("--network", o->network, "Of a plan for a card: where its network is, if not where it was")
      ->type_name("MODEL");
  command->add_flag("--values", o->values, "Compute values and compare them with float32 (the default)");
  command->add_flag("--null", o->null, "Memory only: no values, much faster");
  command->add_flag("--pcc", o->pcc, "Compare the result of every step with float32");
  const auto dtypes = CLI::IsMember({"float32", "bfloat16", "bfloat8_b", "bfloat4_b"});
  command->add_option("--dtype", o->dtype, "Of results")->check(dtypes)->default_str("bfloat16");
  command->add_option("--weights-dtype", o->weights_dtype, "Of weights and biases")
      ->check(dtypes)
      ->default_str("bfloat8_b");
  command->add_option("--fidelity", o->fidelity, "Phases of the multiplier")
      ->check(CLI::IsMember({"LoFi", "HiFi2", "HiFi3", "HiFi4"}))
      ->default_str("HiFi4");
  command->add_flag("--fp32-dest-acc", o->fp32_dest_acc, "Sums in float32 (fp32_dest_acc_en)");
  command->add_flag("--packer-l1-acc", o->packer_l1_acc, "Partial sums are added up in L1 (packer_l1_acc)");
  command->add_option("--l1-small", o->l1_small_bytes, "Bytes of each core's L1 that L1_SMALL gets")
      ->check(whole_number(0))
      ->default_str("32768")
      ->type_name("BYTES");
  command
      ->add_option("--config", o->config,
                   "JSON with an object for each node (\"*\": all): fields of Conv2dConfig, dtype, math_fidelity, "
                   "memory, slice")
      ->type_name("FILE");
  command->add_option("--fallback", o->fallback, "host: compute there what the card has no operator for")
      ->check(CLI::IsMember({"host"}));
  command
      ->add_option("--memory-reports", o->reports,
                   "Write the three report files that TTNN users know after each step, and L1 over time")
      ->type_name("DIR");
  add_time_options(*command, o->time);
  add_fleet_options(*command, o->fleet);
  command->add_option("--svg", o->svg, "Draw L1 over time")->type_name("FILE");
  command->add_option("--html", o->html, "Write the drawing as a page, with the table")->type_name("FILE");
  for (const char* name : {"--dtype", "--weights-dtype", "--fidelity", "--fp32-dest-acc", "--packer-l1-acc",
                           "--l1-small", "--config", "--fallback"})
    o->planned.push_back(command->get_option(name));
  command->callback([o, command, &context] {
    const bool planned = is_plan_file(o->model.model);
    if (!planned && o->device.empty()) throw CLI::RequiredError("--device");
    if (planned) {
      if (!o->device.empty() && is_fleet(load_machine(o->device))) std::swap(o->device, o->fleet_device);
      const CardPlanArgument plan = load_card_plan_argument(o->model.model, o->device);
      o->take(plan.plan, *command);
      if (!o->fleet_device.empty() && command->count("--mesh") == 0) o->time.mesh = 1;  // all of the fleet
      return simulate_model(*o, &plan, context);
    }
    const Machine machine = load_machine(o->device);
    if (o->fleet.global_batch > 0) {
      check(o->model.batch == 0, Code::invalid_argument,
            "--batch is that of a chip, --global-batch that of all: give one");
      o->model.batch = chip_batch(o->fleet, o->time, machine);
    }
    simulate_model(*o, nullptr, context);
  });
}

}  // namespace tessera::cli
