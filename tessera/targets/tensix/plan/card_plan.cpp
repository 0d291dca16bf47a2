#include "tessera/targets/tensix/plan/card_plan.h"

namespace tessera::tensix {

std::string_view name(Objective objective) { return objective == Objective::device ? "device" : "end_to_end"; }

}  // namespace tessera::tensix
