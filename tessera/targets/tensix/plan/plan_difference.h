#pragma once

// Two plans beside each other, layer by layer.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tessera::tensix {

struct LayerDifference {
  std::string node;
  std::array<const PlannedStep*, 2> steps{};  // null: that plan has no such layer
  // What is not the same; of layers that both have.
  bool config = false, time = false, placement = false, moves = false, pcc = false;

  bool differs() const { return config || time || placement || moves || pcc || !steps[0] || !steps[1]; }
};

// Of one pass.
struct CardPlanTotals {
  double steps_ns = 0, moves_ns = 0;
  std::int64_t reshards = 0, spills = 0, restores = 0, slides = 0;
  std::int64_t inner_reshards = 0;  // that convolutions do themselves, within their time
};
TSR_API CardPlanTotals totals_of(const CardPlan& plan);

struct TSR_API PlanDifference {
  std::vector<LayerDifference> layers;  // in the order of the first, those of the second alone where they come
  std::array<CardPlanTotals, 2> totals{};
  std::vector<std::string> remarks;  // "planned for wormhole_n150 and blackhole_p150": not the layers' doing
  std::size_t different() const;
};

// Points into both.
TSR_API PlanDifference compare_plans(const CardPlan& first, const CardPlan& second);

}  // namespace tessera::tensix
