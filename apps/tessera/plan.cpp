// tessera plan: what would run, and why.

#include "card_plan_commands.h"
#include "command.h"
#include "model_argument.h"
#include "plan_batches.h"
#include "plan_card.h"

#include "tessera/core/error.h"
#include "tessera/io/plan_file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/session/session.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct PlanArguments {
  ModelArgument model;
  SessionArgument session;
  std::string file, device = "cpu";
  CardRequestArgument card;
  std::vector<CLI::Option*> card_options, cpu_options;
  bool check = false;
};

void refuse(const std::vector<CLI::Option*>& options, std::string_view why) {
  for (const CLI::Option* option : options)
    check(option->count() == 0, Code::invalid_argument, "{} {}", option->get_name(), why);
}

void show(const PlanArguments& options, const Context& context) {
  const Model model = load_model(options.model);
  const Session session(model.graph, session_options(options.session));
  const auto plans = session.plans(model.inputs);
  if (!options.file.empty()) save_plan_file(options.file, model.name, plans);

  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "op"},
               {.name = "kernel"},
               {.name = "output"},
               {.name = "order"},
               {.name = "at", .key = "offset_bytes", .align = Align::right},
               {.name = "bytes", .align = Align::right},
               {.name = "estimate", .key = "estimate_us", .unit = "us", .align = Align::right},
               {.name = "bound"}});
  std::size_t number = 0;
  for (const auto& plan : plans)
    for (std::size_t s = 0; s < plan->steps.size(); ++s) {
      const Step& step = plan->steps[s];
      const bool conversion = step.node == Step::kConversion;
      const Node* node = conversion ? nullptr : &plan->graph.nodes[static_cast<std::size_t>(step.node)];
      const std::string op = conversion ? "order" : op_text(*node);
      const int b = step.outputs.empty() ? -1 : step.outputs[0];
      const PlanBuffer* buffer = b < 0 ? nullptr : &plan->buffers[static_cast<std::size_t>(b)];
      table.add_row({number++, conversion ? Cell(plan->step_name(s)) : Cell(node->name), op,
                     conversion ? "convert_order" : step.kernel->name,
                     buffer ? Cell(plan->graph.value(buffer->value).type.to_string()) : Cell(),
                     buffer ? Cell(name(buffer->order)) : Cell(), buffer ? Cell(buffer->offset) : Cell(),
                     buffer ? Cell(buffer->bytes, format_bytes(static_cast<double>(buffer->bytes))) : Cell(),
                     Cell(step.offer.estimate.seconds * 1e6, fmt::format("{:.1f}", step.offer.estimate.seconds * 1e6)),
                     step.offer.estimate.bound});
    }
  context.print(table);
  if (context.quiet || context.format != Format::table) return;
  const PlanSummary summary = session.prepare(model.inputs);
  context.print(fmt::format("\nvalues need {} at once (at least {}), packed weights {}; estimates only rank kernels\n",
                            format_bytes(static_cast<double>(summary.arena_bytes)),
                            format_bytes(static_cast<double>(summary.arena_lower_bound_bytes)),
                            format_bytes(static_cast<double>(summary.weight_bytes))));
  if (!options.file.empty()) context.print(fmt::format("written to {}\n", options.file));
}

}  // namespace

void add_plan(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "plan", "Choose kernels for this machine, or the whole configuration of a network for a card; say why");
  auto options = std::make_shared<PlanArguments>();
  add_model_argument(*command, options->model);
  const std::size_t shared = command->get_options().size();
  add_session_argument(*command, options->session);
  const std::vector<CLI::Option*> all = command->get_options();
  options->cpu_options.assign(all.begin() + static_cast<std::ptrdiff_t>(shared), all.end());
  command
      ->add_option(
          "--device", options->device,
          "cpu: this machine; or a Wormhole or Blackhole card that `tessera machines` lists, or a machine file")
      ->type_name("NAME")
      ->default_str("cpu");
  options->card_options = add_card_request(*command, options->card);
  for (CLI::Option* option : add_batches_request(*command, options->card.batches))
    options->card_options.push_back(option);
  add_emit_option(*command, options->card.emit);
  command
      ->add_option("-o,--output", options->file,
                   "Write a plan file: for --plan of other commands, or for MODEL of them")
      ->type_name("FILE");
  command->add_flag("--check", options->check,
                    "MODEL is a plan for a card: go through the checklists of the guides, with evidence");
  command->callback([options, command, &context] {
    const EmitArgument& emit = options->card.emit;
    check_emit(emit);
    if (options->check) {
      refuse({command->get_option("--output")}, "writes a plan, and --check only looks at one");
      check_planned(options->model.model, context);
    } else if (emit.given() && !emit.for_card()) {
      check_outputs(options->card, options->file);
      emit_network(emit, options->model, options->device == "cpu" ? "" : options->device, context);
    } else if (options->device == "cpu") {
      check(!emit.for_card(), Code::invalid_argument, Hint{"--device wormhole_n150"},
            "--emit ttnn writes a plan for a card: which one is not said");
      refuse(options->card_options, "is for cards: --device wormhole_n150");
      check_outputs(options->card, options->file);
      show(*options, context);
    } else {
      const Machine machine = load_machine(options->device);
      tensix_of(machine);  // an Error that says what it is instead
      refuse(options->cpu_options, "is for this machine's own processor; what a card does is set with --pin");
      const auto plan = options->card.batches.list.empty() ? plan_for_card : plan_batches;
      plan(options->model, options->card, machine, options->file, context);
    }
  });
}

}  // namespace tessera::cli
