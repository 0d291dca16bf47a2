#pragma once

// What planning one batch and planning several share: the search, by all processes of mpirun together, and what is
// written of a plan.

#include "command.h"
#include "model_argument.h"
#include "plan_options.h"

#include "tessera/machine/machine.h"
#include "tessera/scale/communicator.h"
#include "tessera/target/target.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tessera::cli {

// Those that plan with this process: what mpirun started, or it alone.
Communicator& planning_world();

struct PlanSearch {
  const Target& target;
  const Machine& machine;
  const PlanRequest& request;
  std::string title = {};                  // of the progress; the model's name is put before it
  bool quiet = false;                      // no progress
  bool quick_first = false;                // as PlanHooks has it
  std::function<bool()> out_of_time = {};  // the same
  bool batch_is_wanted = false;            // that of the model has to be the argument's
  std::shared_ptr<PlanningState> state = {};
};
// Each process of `all` calls it, under an InterruptWatch of its own. PlanningStopped: there is no plan.
std::unique_ptr<NetworkPlan> plan_together(Communicator& all, const ModelArgument& argument, const PlanSearch& search);

// Says why there is none, and that the file was not written if it has a name: an Error if time was too short.
[[noreturn]] void end_without_plan(Communicator& all, const PlanningStopped& stopped, const PlanArgument& argument);

// The plan file that was asked for. The script is made before it is written, and returned: a plan that cannot be
// written in the language asked for leaves no file.
std::optional<emit::Script> write_plan(const NetworkPlan& plan, const PlanArgument& argument);
// The report files, the script, and the word about it.
void write_artifacts(const NetworkPlan& plan, const std::optional<emit::Script>& script, const PlanArgument& argument,
                     const PlanSearch& search, const Context& context);
// "written to plan.json", "report in report.html", where people read the output.
void tell_files(const PlanArgument& argument, const Context& context);

}  // namespace tessera::cli
