#pragma once

// The way to run a whole network on a card, searched for.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/machine/machine.h"
#include "tessera/target/planning_stopped.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/accuracy.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::tensix {

using Interrupted = PlanningStopped;

struct CardPlanHooks {
  // `done` of `all`, and at what.
  std::function<void(std::size_t done, std::size_t all, const std::string& what)> on_progress = {};
  // What an accuracy budget is measured by: the network with so many images at least; none: the network itself, on
  // random inputs (calibration_of). Called once for a number of images, if there is a budget.
  std::function<Calibration(std::int64_t images)> calibration = {};
  // Shared by plans of one model that differ in their batch alone, so that they start from the same precisions.
  std::shared_ptr<KeptAccuracy> kept = {};
  // Asked now and then; true: the best plan so far, marked as such, or Interrupted if there is none.
  std::function<bool()> stop = {};
  // A quick plan is made first, so that there is one early on to stop with. The plan at the end is the same.
  bool quick_first = false;
  // Asked while everything is weighed; true: as with `stop`, but for the quick plan there is always
  // time, if there is to be one.
  std::function<bool()> out_of_time = {};
  // Several processes that plan the same together: each calls plan_network, and they share what takes time. `score`
  // computes pieces [0, count), each on one of them, and gives every one of them all results; `agree` gives all of them
  // the answer of the first; `stop` has to be the same for all.
  std::function<std::vector<std::vector<std::byte>>(std::size_t count,
                                                    FunctionRef<std::vector<std::byte>(std::size_t)> piece)>
      score = {};
  std::function<bool(bool)> agree = {};
};

// The plan has been followed on a card without values before it is handed out: its figures are those of that run.
// The same network, machine and request give the same plan.
//
// Lower the network with host_fallback: operators that the card does not have are an Error that lists them all, or run
// on the host if the request says `partial`. Errors also say which layer does not fit, which pin cannot be met, or how
// near an accuracy budget could be come. Without a budget everything is as fast as can be: block floats of eight bits
// and one phase. With one, the PCC is that of the plan's own calls (plan_accuracy.h).
TSR_API CardPlan plan_network(const tensix::LoweredGraph& network, const Machine& machine,
                              const CardPlanRequest& request, const CardPlanHooks& hooks = {});

}  // namespace tessera::tensix
