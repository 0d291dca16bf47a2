// tessera explain: why a node runs as it does, and why not otherwise.

#include "command.h"
#include "model_argument.h"
#include "plan_argument.h"
#include "plan_options.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/session/reference.h"
#include "tessera/target/fused_nodes.h"
#include "tessera/targets/registry.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>

namespace tessera::cli {
namespace {

struct ExplainOptions {
  ModelArgument model;
  SessionArgument session;
  std::string node, device = "cpu";
};

// A node that has no step of its own becomes the one that it is part of, which is said.
void follow(const Graph& graph, const NetworkPlan& plan, std::string& node) {
  std::set<std::string> steps;
  for (const StepView& step : plan.steps()) steps.insert(step.node);
  const NodeFate fate = fate_of(graph, steps, node);
  switch (fate.kind) {
    case NodeFate::Kind::step:
    case NodeFate::Kind::unknown: return;  // whose name may still be one that the plan has given
    case NodeFate::Kind::ahead:
      fail(Code::not_found, "'{}' takes no time: it reads only constants and was computed during planning", node);
    case NodeFate::Kind::gone:
      fail(Code::not_found,
           "'{}' takes no time: the plan dropped it, because it changes nothing or nothing uses its result", node);
    case NodeFate::Kind::part:
      fmt::print(stderr, "'{}' is fused into '{}'\n", node, fate.step);
      node = fate.step;
      return;
  }
}

std::unique_ptr<NetworkPlan> plan_to_explain(ExplainOptions& options, const CLI::App& command) {
  PlanRequest request;
  set_kernel_fields(request, options.session, command);
  if (is_plan_file(options.model.model)) {
    check_fields(request, {}, "is what the plan says already");
    check(command.count("--device") == 0, Code::invalid_argument,
          "--device conflicts with the plan, which names its device");
    return read_plan(options.model.model).plan;
  }
  const Machine machine = find_machine(options.device);
  const Target& target = target_of(machine);
  target.check_request(machine, request);
  PlanHooks hooks;
  hooks.reference = session_reference();
  LoadedNetwork network = load_network(options.model);
  const Graph graph = network.graph;
  std::unique_ptr<NetworkPlan> plan = target.plan(std::move(network), machine, request, hooks);
  follow(graph, *plan, options.node);
  return plan;
}

}  // namespace

void add_explain(CLI::App& app, const Context& context) {
  CLI::App* command =
      app.add_subcommand("explain", "Explain why a node runs the way it does, and why alternatives were rejected");
  auto options = std::make_shared<ExplainOptions>();
  add_model_argument(*command, options->model);
  command->add_option("node", options->node, "Name of the node or of one of its outputs")
      ->required()
      ->type_name("NODE");
  add_session_argument(*command, options->session);
  command
      ->add_option("--device", options->device,
                   "The machine to plan MODEL for: cpu, a machine of `tessera machines`, or a machine file")
      ->type_name("NAME")
      ->default_str("cpu");
  command->callback([options, command, &context] {
    const std::unique_ptr<NetworkPlan> plan = plan_to_explain(*options, *command);
    context.print(plan->explain(options->node));
  });
}

}  // namespace tessera::cli
