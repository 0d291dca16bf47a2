#include "tessera/targets/tensix/plan/card_plan.h"

namespace tessera::tensix {

std::string_view name(Objective objective) { return objective == Objective::device ? "device" : "end_to_end"; }

std::string_view name(PlannedMove::Kind kind) {
  switch (kind) {
    case PlannedMove::Kind::spill: return "spill";
    case PlannedMove::Kind::restore: return "restore";
    case PlannedMove::Kind::reshard: return "reshard";
    case PlannedMove::Kind::slide: return "slide";
  }
  return "";
}

}  // namespace tessera::tensix
