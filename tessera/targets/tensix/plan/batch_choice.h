#pragma once

// What plans of several batches for a card are held against each other by.

#include "tessera/core/export.h"
#include "tessera/target/batch_choice.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <optional>
#include <string>

namespace tessera::tensix {

// On the device both times are that of kernels and gaps; end to end the host is in them.
TSR_API BatchTime batch_time(const CardPlan& plan, Objective objective);

// What bounds the steps that take most of the kernels' time together, and their share of it.
struct BoundShare {
  std::string by;
  double share = 0;
};
TSR_API std::optional<BoundShare> mostly_bound_by(const CardPlan& plan);

}  // namespace tessera::tensix
