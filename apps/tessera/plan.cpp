// tessera plan: how a network would run on a machine, and why.

#include "command.h"
#include "diagnostics.h"
#include "model_argument.h"
#include "plan_batches.h"
#include "plan_options.h"
#include "plan_search.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/io/plan_document.h"
#include "tessera/scale/shared_work.h"
#include "tessera/targets/registry.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct PlanCommand {
  ModelArgument model;
  SessionArgument session;
  std::string device = "cpu";
  PlanArgument plan;
  bool check = false;
};

void show_checked(const std::string& file, const Context& context) {
  const ReadPlan read = read_plan(file);
  const Target::Checked checked = read.target.check_plan(*read.plan, file);
  context.print(checked.view);
  check(checked.failed == 0, Code::invalid_argument, "{} of {} checks failed for {}", checked.failed, checked.all,
        file);
}

void show_plan(const NetworkPlan& plan, double seconds, const Context& context) {
  if (context.format == Format::json) return context.print(encode_plan_document(plan));
  context.print(plan.shown());
  if (context.for_people() && !context.quiet)
    context.print(fmt::format("planned in {:.1f} s on this machine\n", seconds));
}

// Searches, shows, and writes what was asked for. The first interrupt ends the search with the best plan so far, which
// is written before the process ends by the signal; the second ends it at once.
void plan_one(const PlanCommand& command, const Target& target, const Machine& machine, const PlanRequest& request,
              const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const PlanArgument& argument = command.plan;
  PlanSearch search{.target = target,
                    .machine = machine,
                    .request = request,
                    .title = "",
                    .quiet = context.quiet,
                    .quick_first = !argument.file.empty() || request.budget_s};
  if (request.budget_s) search.out_of_time = [&] { return seconds() > *request.budget_s; };
  const InterruptWatch watch;
  Communicator& all = planning_world();
  together(all, [&] {
    if (all.rank() == 0) check_outputs(argument, target);  // the others need not even have the folders
  });
  std::unique_ptr<NetworkPlan> plan;
  try {
    plan = plan_together(all, command.model, search);
  } catch (const PlanningStopped& stopped) {
    end_without_plan(all, stopped, argument);
  }
  std::optional<emit::Script> script;
  together(all, [&] {
    if (all.rank() == 0) script = write_plan(*plan, argument);
  });
  const std::optional<SearchStopped> stopped = plan->stopped();
  const bool interrupted = stopped && first_decides(all, InterruptWatch::came());  // not for want of time
  if (interrupted && all.rank() != 0) throw EndsWith{kInterrupted};
  if (interrupted) {
    fmt::print(stderr, "interrupted: {} of {} operators were fully searched; ", stopped->weighed, stopped->of);
    fmt::print(stderr, "{}\n",
               argument.file.empty()
                   ? "there was no plan to write"
                   : argument.file + " holds the best plan found so far and is marked as interrupted");
    throw EndsWith{kInterrupted};
  }
  if (all.rank() != 0) return;
  write_artifacts(*plan, script, argument, search, context);
  show_plan(*plan, seconds(), context);
  tell_files(argument, context);
  if (!InterruptWatch::came()) return;
  fmt::print(stderr, "interrupted after the plan was complete: nothing is missing\n");
  throw EndsWith{kInterrupted};
}

// In a language that follows no plan.
void emit_alone(const PlanCommand& command, const EmittedLanguage& written, const PlanRequest& request,
                bool device_given, const Context& context) {
  const std::string why = fmt::format("needs a plan, but --emit {} writes the network itself", written.language.name);
  check_fields(request, {}, why);
  check(command.plan.file.empty(), Code::invalid_argument, "--output {}", why);
  check_outputs(command.plan, written.target);
  std::optional<Machine> machine;
  if (device_given) machine = find_machine(command.device);
  emit_network(command.plan.emit, command.model, machine ? &*machine : nullptr, context);
}

void plan_network(const PlanCommand& command, const CLI::App& app, const Context& context) {
  if (command.check) {
    check(command.plan.file.empty(), Code::invalid_argument, "--output writes a plan, but --check only reads one");
    return show_checked(command.model.model, context);
  }
  std::optional<EmittedLanguage> written;
  if (command.plan.emit.given()) written.emplace(command.plan.emit.language());
  PlanRequest request = plan_request(command.plan);
  set_kernel_fields(request, command.session, app);
  if (written && !written->language.follows_plan)
    return emit_alone(command, *written, request, app.count("--device") > 0, context);
  const Machine machine = find_machine(command.device);
  const Target& target = target_of(machine);
  check(!written || &written->target == &target, Code::invalid_argument,
        Hint{fmt::format("--device {}", written ? written->language.device : "")}, "--emit {} {}",
        written ? written->language.name : "", written ? written->language.needs : "");
  target.check_request(machine, request);
  if (request.batches)
    plan_batches(command.model, command.plan, target, machine, request, context);
  else
    plan_one(command, target, machine, request, context);
}

}  // namespace

void add_plan(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand(
      "plan", "Choose kernels for this machine, or plan a whole network for a card, with the reasons");
  auto options = std::make_shared<PlanCommand>();
  add_model_argument(*command, options->model);
  add_session_argument(*command, options->session);
  command
      ->add_option("--device", options->device,
                   "cpu: this machine; cuda: its GPU; a card or GPU of `tessera machines`; or a machine file")
      ->type_name("NAME")
      ->default_str("cpu");
  add_plan_options(*command, options->plan);
  command->add_flag("--check", options->check,
                    "MODEL is a plan for a card: check it against the vendor's tuning guides, with evidence");
  command->callback([options, command, &context] { plan_network(*options, *command, context); });
}

}  // namespace tessera::cli
