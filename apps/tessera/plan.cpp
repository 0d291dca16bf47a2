// tessera plan: what would run, and why.

#include "command.h"
#include "model_argument.h"
#include "plan_card.h"

#include "tessera/core/error.h"
#include "tessera/io/plan_file.h"
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
  CardArguments card;
  std::string file;
};

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
  CLI::App* command = app.add_subcommand("plan", "Show which kernel runs each node, and where each value lies");
  auto options = std::make_shared<PlanArguments>();
  add_model_argument(*command, options->model);
  add_session_argument(*command, options->session);
  add_card_options(*command, options->card);
  add_emit_option(*command, options->card.emit);
  command->add_option("-o,--output", options->file, "Write a plan file, for --plan of other commands")
      ->type_name("FILE");
  command->callback([options, &context] {
    const EmitArgument& emit = options->card.emit;
    check_emit(emit);
    if (emit.given() && !emit.for_card()) return emit_network(emit, options->model, options->card.device, context);
    check(!emit.for_card() || !options->card.device.empty(), Code::invalid_argument, Hint{"--device wormhole_n150"},
          "--emit ttnn writes a plan for a card: which one is not said");
    options->card.device.empty() ? show(*options, context) : plan_for_card(options->model, options->card, context);
  });
}

}  // namespace tessera::cli
