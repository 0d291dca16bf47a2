#pragma once

// What planning one batch and planning several share: the search, by all processes of mpirun together, and what is
// written of a plan.

#include "command.h"
#include "model_argument.h"
#include "plan_card.h"

#include "tessera/machine/machine.h"
#include "tessera/scale/communicator.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/plan_network.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::cli {

// Those that plan with this process: what mpirun started, or it alone.
Communicator& planning_world();

tensix::PlanRequest plan_request(const CardRequestArgument& argument);

struct PlannedNetwork {
  std::string name;  // of the model, without folder and ending
  tensix::LoweredGraph network;
  tensix::CardPlan plan;
};

struct PlanSearch {
  const Machine& machine;
  tensix::PlanRequest request;
  std::string title;                // of the progress; the model's name is put before it
  bool quiet = false;               // no progress
  bool hurry = false;               // as PlanHooks has it
  std::function<bool()> over = {};  // the same
  bool batch_is_wanted = false;     // that of the model has to be the argument's
  std::shared_ptr<tensix::KeptAccuracy> kept = {};
};
// Each process of `all` calls it, under an InterruptWatch of its own. tensix::Interrupted: there is no plan.
PlannedNetwork plan_together(Communicator& all, const ModelArgument& argument, const PlanSearch& search);

// Says why there is none, and that `file` was not written if it has a name: an Error if time was too short.
[[noreturn]] void end_without_plan(Communicator& all, const tensix::Interrupted& interrupted,
                                   const CardRequestArgument& request, const std::string& file);

// The report files and the script that were asked for, and the word about the script.
void write_artifacts(const PlannedNetwork& planned, const CardRequestArgument& request, const Machine& machine,
                     const Context& context);
// "written to plan.json", "report in report.html", where people read the output.
void tell_files(const std::string& file, const CardRequestArgument& request, const Context& context);

}  // namespace tessera::cli
