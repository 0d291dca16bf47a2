#pragma once

#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <string>

namespace tessera::tensix {

// Three convolutions and an addition on a Wormhole: a skip connection that goes to DRAM and comes back, a reshard,
// names that try to be markup, alternatives with and without reasons, and a timeline with a hole in it.
struct SamplePlan {
  explicit SamplePlan(const std::string& name = "conv<1>");
  PlanReport report() const { return plan_report({plan, machine, nullptr, &timeline, nullptr}); }

  Machine machine;
  tensix::CardPlan plan;
  L1Timeline timeline;
};

}  // namespace tessera::tensix
