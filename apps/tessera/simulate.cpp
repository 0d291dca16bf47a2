// tessera simulate: a whole network on a simulated machine, operator by operator.

#include "arguments.h"
#include "command.h"
#include "model_argument.h"
#include "plan_argument.h"
#include "progress.h"
#include "simulate_fleet.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/session/reference.h"
#include "tessera/targets/registry.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tessera::cli {
namespace {

struct SimulateArguments {
  ModelArgument model;
  SimulateRequest request;
  std::string device, network, html, svg, fleet_device;
  TimeArguments time;
  FleetArguments fleet;
  bool values = false, null = false;
};

// N, or ROWSxCOLUMNS.
void read_mesh(const std::string& text, TimeArguments& out) {
  const std::size_t by = text.find('x');
  const auto extent = [&](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > 1024)
      throw CLI::ValidationError(
          "--mesh",
          fmt::format("'{}' is neither a number from 1 to 1024 nor two of them joined by an x: --mesh 8, --mesh 8x4",
                      text));
    return value;
  };
  const std::string_view whole = text;
  out.mesh_is_grid = by != std::string::npos;
  out.mesh = out.mesh_is_grid ? extent(whole.substr(0, by)) * extent(whole.substr(by + 1)) : extent(whole);
}

void add_time_options(CLI::App& command, TimeArguments& o) {
  command.add_flag_callback(
      "--metal-trace", [&o] { o.metal_trace = true; }, "Replay a trace instead of calling operators one by one");
  command
      .add_option("--cq", o.command_queues,
                  "Number of command queues; with 2, the next input is written while the card computes")
      ->check(CLI::Range(1, 2))
      ->default_str("1");
  command.add_flag_callback(
      "--separate-transfers", [&o] { o.separate_transfers = true; },
      "Read outputs through the second queue too (with --metal-trace --cq 2)");
  command
      .add_option_function<std::string>(
          "--mesh", [&o](const std::string& text) { read_mesh(text, o); },
          "Number of chips, each with the weights and its own batch; ROWSxCOLUMNS simulates their hosts as well")
      ->default_str("1")
      ->type_name("N|RxC");
  command.add_option("--batches", o.batches, "Number of batches over which end-to-end time is averaged")
      ->check(CLI::Range(1, 100000))
      ->default_str("32")
      ->type_name("N");
  command.add_option("--trace", o.trace, "Write host, queues and cores as trace events, which Perfetto opens")
      ->type_name("FILE");
}

// A plan file, or a network for a machine.
struct Simulated {
  std::optional<PlanFileArgument> planned;
  const Target& target;
  Machine machine;
};

Simulated simulated_machine(SimulateArguments& o) {
  if (!is_plan_file(o.model.model)) {
    Machine machine = find_machine(o.device);
    const Target& target = target_of(machine);
    return {std::nullopt, target, std::move(machine)};
  }
  // A plan is for one device, which a fleet may have many of.
  if (!o.device.empty() && is_fleet(find_machine(o.device))) std::swap(o.device, o.fleet_device);
  PlanFileArgument planned = load_plan_file_argument(o.model.model, o.device);
  const Target& target = planned.target;
  Machine machine = planned.machine;
  return {std::move(planned), target, std::move(machine)};
}

LoadedNetwork load_simulated(const SimulateArguments& o, const Simulated& simulated) {
  ModelArgument given = o.model;
  if (!simulated.planned) return load_network(given);
  given.model = o.network;
  return load_planned_network(*simulated.planned, given);
}

void simulate_model(SimulateArguments& o, const Context& context) {
  check(!o.values || !o.null, Code::invalid_argument, "--values and --null exclude each other");
  check(!o.request.pcc || !o.null, Code::invalid_argument, "--pcc needs values, but --null computes none");
  const Simulated simulated = simulated_machine(o);
  const bool planned = simulated.planned.has_value();
  const Machine fleet_machine = o.fleet_device.empty() ? simulated.machine : find_machine(o.fleet_device);
  if (planned && !o.time.mesh && (!o.fleet_device.empty() || !o.fleet.cards.empty()))
    o.time.mesh = 1;  // all of the fleet, or its sizes
  if (planned && !o.time.mesh) o.time.mesh = static_cast<int>(simulated.planned->plan->request().mesh.value_or(1));
  if (!planned && o.fleet.global_batch > 0) {
    check(o.model.batch == 0, Code::invalid_argument,
          "--batch is per chip and --global-batch is for all chips: give one of them");
    o.model.batch = chip_batch(o.fleet, o.time, simulated.machine);
  }
  const bool fleet = wants_fleet(o.fleet, o.time, fleet_machine);
  if (fleet && !o.values && !o.request.pcc) o.null = true;  // it is times that are asked for
  o.request.values = !o.null;
  o.request.metal_trace = o.time.metal_trace;
  o.request.separate_transfers = o.time.separate_transfers;
  o.request.command_queues = o.time.command_queues;
  o.request.mesh = o.time.mesh;
  o.request.batches = o.time.batches;
  const LoadedNetwork network = load_simulated(o, simulated);

  SimulateHooks hooks;
  std::optional<Progress> progress;
  hooks.on_progress = [&](std::size_t done, std::size_t all, const std::string& what) {
    if (!progress) progress.emplace("simulating " + network.name, all, context.quiet);
    progress->at(done, what);
  };
  hooks.on_failed = [&](const Table& steps) {
    if (!context.for_people()) return;
    context.print(steps);
    context.print("\n");
  };
  hooks.reference = session_reference();
  const std::unique_ptr<SimulatedRun> run = simulated.target.simulate(
      network, planned ? simulated.planned->plan.get() : nullptr, simulated.machine, o.request, hooks);
  progress.reset();
  if (!o.svg.empty()) write_file_atomically(o.svg, run->memory_svg());
  if (!o.html.empty()) write_file_atomically(o.html, run->memory_html());
  if (fleet)
    return simulate_fleet(o.fleet, o.time, fleet_machine,
                          {.name = network.name, .work = run->work(), .seed = o.model.seed}, context);
  if (!o.time.trace.empty()) write_file_atomically(o.time.trace, run->trace_events());
  context.print(run->shown());
}

}  // namespace

void add_simulate(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Run a network on a simulated card: its arithmetic, its L1 addresses, its time, step by step");
  auto o = std::make_shared<SimulateArguments>();
  SimulateRequest& request = o->request;
  add_model_argument(*command, o->model);
  command
      ->add_option("--device", o->device,
                   "A Wormhole or Blackhole card or fleet of `tessera machines`, or a machine file; a plan names its "
                   "own card and takes a fleet only")
      ->type_name("NAME");
  command->add_option("--network", o->network, "For a plan of a card: the network, if its file has moved")
      ->type_name("MODEL");
  command->add_flag("--values", o->values, "Compute values and compare them with float32 (the default)");
  command->add_flag("--null", o->null, "Simulate memory and time only, no values; much faster");
  command->add_flag("--pcc", request.pcc, "Compare the result of every step with float32");
  const auto dtypes = CLI::IsMember({"float32", "bfloat16", "bfloat8_b", "bfloat4_b"});
  const auto add_dtype = [&](const char* name, std::optional<DType>& to, const char* what, const char* otherwise) {
    command->add_option_function<std::string>(
               name, [&to](const std::string& word) { to = parse_dtype(word); }, what)
        ->check(dtypes)
        ->default_str(otherwise);
  };
  add_dtype("--dtype", request.dtype, "Type of results", "bfloat16");
  add_dtype("--weights-dtype", request.weights_dtype, "Type of weights and biases", "bfloat8_b");
  command->add_option("--fidelity", request.fidelity, "Math fidelity: the number of phases of the multiplier")
      ->check(CLI::IsMember({"LoFi", "HiFi2", "HiFi3", "HiFi4"}))
      ->default_str("HiFi4");
  command->add_flag("--fp32-dest-acc", request.fp32_dest_acc, "Accumulate in float32 (fp32_dest_acc_en)");
  command->add_flag("--packer-l1-acc", request.packer_l1_acc, "Add partial sums in L1 (packer_l1_acc)");
  command->add_option("--l1-small", request.l1_small_bytes, "Size of L1_SMALL on each core, in bytes")
      ->check(whole_number(0))
      ->default_str("32768")
      ->type_name("BYTES");
  command
      ->add_option("--layer-configs", request.layer_configs,
                   "JSON file with one object per node (\"*\": all nodes): fields of Conv2dConfig, dtype, "
                   "math_fidelity, memory, slice")
      ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--fallback", [&request](const std::string&) { request.host_fallback = true; },
          "host: compute operators that the card lacks on the host")
      ->check(CLI::IsMember({"host"}));
  command
      ->add_option("--memory-reports", request.memory_reports,
                   "Write the three memory report files of TTNN after each step, and L1 over time")
      ->type_name("DIR");
  add_time_options(*command, o->time);
  add_fleet_options(*command, o->fleet);
  command->add_option("--svg", o->svg, "Draw L1 over time")->type_name("FILE");
  command->add_option("--html", o->html, "Write an HTML page with the drawing and the table")->type_name("FILE");
  command->callback([o, &context] {
    if (o->device.empty() && !is_plan_file(o->model.model)) throw CLI::RequiredError("--device");
    simulate_model(*o, context);
  });
}

}  // namespace tessera::cli
