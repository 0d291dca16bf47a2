#include "plan_card.h"

#include "calibration.h"
#include "progress.h"

#include "tessera/backends/sim/tensix/lower.h"
#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/planner/plan_network.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <optional>

namespace tessera::cli {
namespace {

planner::PlanRequest request_of(const CardArguments& arguments) {
  planner::PlanRequest request = arguments.request;
  request.objective = arguments.objective == "end_to_end" ? planner::Objective::end_to_end : planner::Objective::device;
  request.metal_trace = !arguments.no_trace;
  for (const std::string& pin : arguments.pins) request.pins.push_back(parse_pin(pin));
  return request;
}

Table card_plan_table(const planner::CardPlan& plan) {
  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "op"},
               {.name = "config"},
               {.name = "dtype"},
               {.name = "fidelity"},
               {.name = "cores", .align = Align::right},
               {.name = "L1 peak", .key = "l1_peak_bytes", .unit = "B", .align = Align::right},
               {.name = "time", .key = "kernel_ns", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "before it", .key = "moves"},
               {.name = "why"}});
  std::int64_t number = 0;
  for (const planner::PlannedStep& step : plan.steps) {
    std::string moves;
    for (const planner::PlannedMove& move : step.moves)
      moves += fmt::format("{}{} {}", moves.empty() ? "" : ", ", name(move.kind), move.value);
    const tensix::SimulatedStep& p = step.predicted;
    table.add_row({++number, step.node, step.op, p.config, name(step.result.dtype),
                   step.config.fidelity ? Cell(name(*step.config.fidelity)) : Cell(), p.cores,
                   Cell(p.l1_peak_bytes, format_count(p.l1_peak_bytes)), Cell(p.time.ns, format_time(p.time.ns)),
                   p.time.bound_by, moves, step.why});
  }
  return table;
}

}  // namespace

void add_card_options(CLI::App& command, CardArguments& o) {
  command
      .add_option("--device", o.device, "A Wormhole or Blackhole machine that `tessera machines` lists: plan for it")
      ->type_name("NAME");
  command.add_option("--objective", o.objective, "What is to be short")
      ->check(CLI::IsMember({"device", "end_to_end"}))
      ->default_str("device");
  command.add_option("--min-pcc", o.request.min_pcc, "Of the outputs against float32, by the card's arithmetic")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--pin", o.pins, "A field of layers that stays as it is: layer3.*:shard=BLOCK")
      ->type_name("NODES:FIELD=VALUE");
  command.add_option("--l1-small", o.request.l1_small_bytes, "Bytes of each core's L1 that L1_SMALL gets")
      ->check(CLI::NonNegativeNumber)
      ->default_str("32768");
  command.add_option("--cq", o.request.command_queues, "Command queues")->check(CLI::Range(1, 2))->default_str("2");
  command.add_flag("--no-trace", o.no_trace, "Operators are called one by one, not replayed");
  command.add_option("--mesh", o.request.mesh, "Cards, each with a share of the batch")->check(CLI::Range(1, 1024));
  command.add_option("--budget", o.request.budget_s, "Seconds of searching, at most")->check(CLI::PositiveNumber);
  command.add_flag("--partial", o.request.partial, "What the card has no operator for runs on the host");
}

planner::Pin parse_pin(const std::string& text) {
  const std::size_t equals = text.rfind('='), colon = text.rfind(':', equals);
  check(equals != std::string::npos && colon != std::string::npos && colon > 0, Code::invalid_argument,
        Hint{"layer3.*:shard=BLOCK"}, "the pin '{}' is not NODES:FIELD=VALUE", text);
  return {text.substr(0, colon), text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)};
}

void plan_for_card(const ModelArgument& argument, const CardArguments& arguments, const Context& context) {
  const planner::PlanRequest request = request_of(arguments);
  const Machine machine = load_machine(arguments.device);
  const Model model = load_model(argument);
  const tensix::LoweredGraph network = tensix::lower(model.graph, {.host_fallback = true});
  planner::CardPlan plan;
  {
    Progress progress("planning " + model.name, network.nodes.size(), context.quiet);
    planner::PlanHooks hooks;
    hooks.on_progress = [&](std::size_t done, std::size_t, const std::string& what) { progress.at(done, what); };
    hooks.calibration = [&] { return calibration_of(argument); };
    plan = planner::plan_network(network, machine, request, hooks);
  }
  plan.model = model.name;
  if (arguments.emit.for_card()) emit_card_plan(arguments.emit, network, plan, context);
  context.print(card_plan_table(plan));
  if (context.quiet || context.format != Format::table) return;
  context.print(fmt::format(
      "\n{} on {}, batch {}: {} of kernels in {} programs, {} with the gaps between them, {} a batch end to end; "
      "most L1 {} of {} B on a core; predicted\n",
      model.name, machine.title, plan.batch, format_time(plan.kernels_ns), plan.programs, format_time(plan.device_ns),
      format_time(plan.end_to_end_ns), format_count(plan.l1_peak_bytes), format_count(plan.l1_limit_bytes)));
}

}  // namespace tessera::cli
