#pragma once

// A plan for a card as lines for people: one for each step and each move. What a line does not spell out (every field
// of the call, busy times, what else was weighed) is in the number at its end, so that no change goes unseen.

#include "tessera/targets/tensix/plan/card_plan.h"

#include <string>

namespace tessera::tensix {

std::string plan_text(const CardPlan& plan);

}  // namespace tessera::tensix
