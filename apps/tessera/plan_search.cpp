#include "plan_search.h"

#include "diagnostics.h"
#include "plan_argument.h"
#include "plan_emit.h"
#include "progress.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/io/plan_document.h"
#include "tessera/scale/shared_work.h"
#include "tessera/session/reference.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

namespace tessera::cli {
namespace {

// The network of the argument with so many images where its batch is open, else as it is.
LoadedNetwork small_network(const ModelArgument& argument, std::int64_t images) {
  if (argument.batch <= images || !argument.inputs.empty()) return load_network(argument);
  ModelArgument one = argument;
  one.batch = images;
  try {
    return load_network(one);
  } catch (const Error&) {
    return load_network(argument);  // its batch cannot be changed
  }
}

}  // namespace

Communicator& planning_world() {
  static const std::unique_ptr<Communicator> alone = single_process();
  if (!in_a_world()) return *alone;
  must_agree(world(), "the version", TESSERA_VERSION);
  return world();
}

std::unique_ptr<NetworkPlan> plan_together(Communicator& all, const ModelArgument& argument, const PlanSearch& search) {
  LoadedNetwork network;
  together(all, [&] {
    network = load_network(argument);
    if (!search.batch_is_wanted) return;
    const std::int64_t batch = batch_of(network.graph);
    check(batch == argument.batch, Code::invalid_argument,
          Hint{"export it with an open batch, or plan it as it is, without --batches"},
          "the batch of {} is {} and cannot be {}: its inputs fix it", argument.model, batch, argument.batch);
  });
  Progress progress("planning " + network.name + search.title, 0, search.quiet || all.rank() != 0);
  PlanHooks hooks;
  hooks.on_progress = [&](std::size_t done, std::size_t nodes, const std::string& what) {
    progress.at(done, nodes, what);
  };
  hooks.sample = [&](std::int64_t images) { return small_network(argument, images); };
  hooks.reference = session_reference();
  hooks.stop = [&] { return first_decides(all, InterruptWatch::came()); };
  if (search.out_of_time) hooks.out_of_time = [&] { return first_decides(all, search.out_of_time()); };
  if (all.size() > 1) {
    hooks.agree = [&](bool mine) { return first_decides(all, mine); };
    hooks.share = [&](std::size_t count, FunctionRef<Payload(std::size_t)> piece) {
      return share_work(all, count, piece);
    };
    hooks.same = [&](std::string_view what, const std::string& digest) { must_agree(all, std::string(what), digest); };
  }
  hooks.quick_first = search.quick_first;
  hooks.state = search.state;
  return search.target.plan(std::move(network), search.machine, search.request, hooks);
}

void end_without_plan(Communicator& all, const PlanningStopped& stopped, const PlanArgument& argument) {
  check(first_decides(all, InterruptWatch::came()), Code::unsupported, Hint{"a larger --budget"},
        "no plan was found within --budget ({} s): {}", argument.request.budget_s.value_or(0), stopped.message());
  if (all.rank() == 0) {
    fmt::print(stderr, "interrupted: {}\n", stopped.message());
    if (!argument.file.empty()) fmt::print(stderr, "{} was not written\n", argument.file);
  }
  throw EndsWith{kInterrupted};
}

std::optional<emit::Script> write_plan(const NetworkPlan& plan, const PlanArgument& argument) {
  std::optional<emit::Script> script;
  // Of an interrupted search the plan is all that is written.
  if (argument.emit.given() && !(plan.stopped() && InterruptWatch::came())) script = script_of(argument.emit, plan);
  if (!argument.file.empty()) save_plan_document(argument.file, plan);
  return script;
}

void write_artifacts(const NetworkPlan& plan, const std::optional<emit::Script>& script, const PlanArgument& argument,
                     const PlanSearch& search, const Context& context) {
  if (!argument.reports.empty()) search.target.write_reports(plan, search.machine, argument.reports);
  if (script) write_script(argument.emit, *script, context);
}

void tell_files(const PlanArgument& argument, const Context& context) {
  if (context.quiet || !context.for_people()) return;
  if (!argument.file.empty()) context.print(fmt::format("written to {}\n", argument.file));
  for (const std::filesystem::path& report : argument.reports)
    context.print(fmt::format("report in {}\n", report.string()));
}

}  // namespace tessera::cli
