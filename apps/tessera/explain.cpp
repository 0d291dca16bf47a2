// tessera explain: why a node runs as it does, and why not otherwise.

#include "command.h"
#include "model_argument.h"
#include "plan_argument.h"
#include "plan_options.h"

#include "tessera/core/error.h"
#include "tessera/session/reference.h"
#include "tessera/targets/registry.h"

#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct ExplainOptions {
  ModelArgument model;
  SessionArgument session;
  std::string node, device = "cpu";
};

std::unique_ptr<NetworkPlan> plan_to_explain(const ExplainOptions& options, const CLI::App& command) {
  PlanRequest request;
  set_kernel_fields(request, options.session, command);
  if (is_plan_file(options.model.model)) {
    check_fields(request, {}, "is what the plan says already");
    check(command.count("--device") == 0, Code::invalid_argument, "--device is what the plan says already");
    return read_plan(options.model.model).plan;
  }
  const Machine machine = find_machine(options.device);
  const Target& target = target_of(machine);
  target.check_request(machine, request);
  PlanHooks hooks;
  hooks.reference = session_reference();
  return target.plan(load_network(options.model), machine, request, hooks);
}

}  // namespace

void add_explain(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "explain", "Say why a node runs as it does, by its kernel or by a plan for a card, and why not otherwise");
  auto options = std::make_shared<ExplainOptions>();
  add_model_argument(*command, options->model);
  command->add_option("node", options->node, "Its name, or the name of what it makes")->required()->type_name("NODE");
  add_session_argument(*command, options->session);
  command->add_option("--device", options->device, "What to plan MODEL for: cpu, this machine, or a machine file")
      ->type_name("NAME")
      ->default_str("cpu");
  command->callback(
      [options, command, &context] { context.print(plan_to_explain(*options, *command)->explain(options->node)); });
}

}  // namespace tessera::cli
