// tessera explain: why this kernel and not another.

#include "card_plan_argument.h"
#include "card_plan_commands.h"
#include "command.h"
#include "model_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

struct ExplainOptions {
  ModelArgument model;
  SessionArgument session;
  std::string node;
};

// A step of a node, by its name or the name of what it makes.
struct Found {
  const Plan* plan = nullptr;
  const Step* step = nullptr;
};

Found find_step(const std::vector<std::shared_ptr<const Plan>>& plans, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& plan : plans)
    for (const Step& step : plan->steps) {
      if (step.node == Step::kConversion) continue;
      const Node& node = plan->graph.nodes[static_cast<std::size_t>(step.node)];
      names.push_back(node.name);
      const bool makes = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return id != kNoValue && plan->graph.value(id).name == name; });
      if (node.name == name || makes) return {plan.get(), &step};
    }
  constexpr std::size_t kShown = 20;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  fail(Code::not_found, Hint{"tessera plan MODEL lists them all; a fused node is part of the one before it"},
       "the plan has no node '{}'; it has {}{}", name, fmt::join(names, ", "),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

// ", channels 16 to 31 of cat"
std::string place_in_whole(const Plan& plan, const PlanBuffer& part) {
  if (part.part_of < 0) return "";
  return fmt::format(", channels {} to {} of {}", part.channel,
                     part.channel + plan.graph.value(part.value).type.shape()[1] - 1,
                     plan.graph.value(plan.buffers[static_cast<std::size_t>(part.part_of)].value).name);
}

void explain(const ExplainOptions& options, const Context& context) {
  const Model model = load_model(options.model);
  const Session session(model.graph, session_options(options.session));
  const auto plans = session.plans(model.inputs);
  const auto [plan, step] = find_step(plans, options.node);
  const Node& node = plan->graph.nodes[static_cast<std::size_t>(step->node)];

  Table table({{.name = "kernel"},
               {.name = "verdict"},
               {.name = "estimate", .key = "estimate_us", .unit = "us", .align = Align::right},
               {.name = "why", .key = "reason"}});
  const auto us = [](double s) { return Cell(s * 1e6, fmt::format("{:.2f}", s * 1e6)); };
  table.add_row({step->kernel->name, "chosen", us(step->offer.estimate.seconds),
                 step->in_place ? "what it would copy lies there already: nothing is run"
                                : fmt::format("least estimate; bound by {}", step->offer.estimate.bound)});
  for (const SlowerKernel& slower : step->slower)
    table.add_row(
        {slower.kernel, "slower", us(slower.estimate.seconds), fmt::format("bound by {}", slower.estimate.bound)});
  for (const RefusedKernel& refused : step->refused) table.add_row({refused.kernel, "refused", Cell(), refused.reason});

  if (context.format == Format::table && !context.quiet) {
    std::string text = fmt::format("{}: {}\n", node.name, op_text(node));
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue) {
        const Value& value = plan->graph.value(node.inputs[i]);
        text += fmt::format("  reads {} {} {}{}\n", value.name, value.type.to_string(), name(step->offer.inputs[i]),
                            value.constant ? ", constant" : "");
      }
    for (const int b : step->outputs)
      if (b >= 0) {
        const PlanBuffer& buffer = plan->buffers[static_cast<std::size_t>(b)];
        text += fmt::format("  makes {} {} {} at {} of the arena{}\n", plan->graph.value(buffer.value).name,
                            plan->graph.value(buffer.value).type.to_string(), name(buffer.order), buffer.offset,
                            place_in_whole(*plan, buffer));
      }
    context.print(text + "\n");
  }
  context.print(table);
}

}  // namespace

void add_explain(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "explain", "Say why a node runs as it does, by its kernel or by a plan for a card, and why not otherwise");
  auto options = std::make_shared<ExplainOptions>();
  add_model_argument(*command, options->model);
  command->add_option("node", options->node, "Its name, or the name of what it makes")->required()->type_name("NODE");
  add_session_argument(*command, options->session);
  command->callback([options, &context] {
    if (is_plan_file(options->model.model))
      explain_planned_step(options->model.model, options->node, context);
    else
      explain(*options, context);
  });
}

}  // namespace tessera::cli
